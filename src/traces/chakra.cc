#include "traces/chakra.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/int128.h"
#include "traces/protobuf.h"

namespace tulle::traces {

using base::Error;
using workload::Collective;

namespace {

// Field numbers of et_def.proto.
enum class NodeField : uint32_t {
    id = 1,
    name = 2,
    type = 3,
    control_needs = 4,
    data_needs = 5,
    duration_micros = 7,
    inputs = 8,
    attribute = 10,
};
enum class NodeType : uint8_t {
    invalid,
    metadata,
    memory_load,
    memory_store,
    compute,
    send,
    receive,
    collective,
};
constexpr uint64_t kNodeTypes = 8;
enum class CommType : uint8_t {
    all_reduce,
    reduce,
    all_gather,
    gather,
    scatter,
    broadcast,
    all_to_all,
    reduce_scatter,
    reduce_scatter_block,
    barrier,
};
// Size of a barrier: PyTorch's is an all-reduce of one element. Chosen: 8 bytes.
constexpr uint64_t kBarrierBytes = 8;
constexpr uint64_t kPicosecondsPerMicrosecond = 1'000'000;

// An attribute of a node. Integers of all types become one number.
struct Attribute {
    std::string_view name;
    bool has_number = false;
    bool is_negative = false;
    uint64_t number = 0;
    std::string_view text;
    std::vector<uint64_t> list;
};

uint64_t from_zigzag(uint64_t value) {
    return (value >> 1) ^ (~(value & 1) + 1);
}

bool parse_attribute(std::string_view bytes, Attribute& attribute) {
    constexpr uint32_t kName = 1, kSint32 = 15, kSint64 = 17, kText = 29, kBytes = 31;
    ProtoFields fields(bytes);
    ProtoField field;
    while (fields.next(field)) {
        if (field.number == kName) {
            if (!field.has_bytes) return false;
            attribute.name = field.bytes;
        } else if (field.number == kText || field.number == kBytes) {
            attribute.text = field.bytes;
        } else if (field.number % 2 == 1 && !field.has_bytes) {
            const bool zigzag = field.number == kSint32 || field.number == kSint64;
            attribute.number = zigzag ? from_zigzag(field.value) : field.value;
            attribute.is_negative = attribute.number >> 63 != 0;
            attribute.has_number = true;
        } else if (field.number >= 4 && field.has_bytes) {
            ProtoFields list(field.bytes);
            ProtoField value;
            while (list.next(value))
                if (value.number == 1) append_numbers(value, attribute.list);
        }
    }
    return !fields.is_damaged();
}

// The fields of a node, before it is interpreted.
struct RawNode {
    size_t position = 0;
    uint64_t id = 0;
    std::string_view name;
    uint64_t type = 0;
    std::vector<uint64_t> needs;
    uint64_t duration_micros = 0;
    std::string_view input_values;
    bool is_cpu_op = false;
    uint64_t operations = 0;
    uint64_t tensor_bytes = 0;
    std::optional<uint64_t> comm_type;
    uint64_t comm_bytes = 0;
    std::optional<uint64_t> source;
    std::optional<uint64_t> destination;
    uint64_t tag = 0;
    uint64_t root = 0;
    std::string group;
    std::vector<uint64_t> dimensions;
};

// The ranks of a process group, from a list as text: "[0, 1]".
std::vector<uint32_t> ranks_in(std::string_view text) {
    std::vector<uint32_t> ranks;
    const size_t end = std::min(text.find(']'), text.size());
    for (size_t i = std::min(text.find('['), end); i < end; ++i) {
        uint32_t rank = 0;
        const auto [stop, error] = std::from_chars(text.data() + i, text.data() + end, rank);
        if (error != std::errc()) continue;
        ranks.push_back(rank);
        i = static_cast<size_t>(stop - text.data());
    }
    return ranks;
}

}  // namespace

// The state while one file is read.
class ChakraFile {
public:
    ChakraFile(ChakraReader& reader, std::string_view bytes, const std::string& file)
        : reader_(reader),
          bytes_(bytes),
          file_(file),
          rank_(static_cast<uint32_t>(reader.trace_.ranks.size())),
          groups_(reader.options_.groups) {}

    std::optional<Error> read() {
        constexpr std::string_view kGzip = "\x1f\x8b";
        if (bytes_.starts_with(kGzip))
            return wrong(0, "the file is compressed; run gunzip on it first");
        if (bytes_.empty()) return wrong(0, "the file is empty; a trace begins with its metadata");
        std::string_view rest = bytes_;
        for (bool is_first = true; !rest.empty(); is_first = false) {
            const size_t position = bytes_.size() - rest.size();
            uint64_t size = 0;
            if (!take_varint(rest, size) || size > rest.size())
                return wrong(position,
                             "a message begins here that is longer than the file; is it an "
                             "execution trace, and all of it?");
            const std::string_view message = rest.substr(0, size);
            rest.remove_prefix(size);
            if (is_first && is_metadata(message)) continue;
            if (auto error = read_node(message, position)) return error;
        }
        return finish();
    }

private:
    Error wrong(size_t position, std::string_view sentence) const {
        return {fmt::format("{}: byte {}: {}", file_, position, sentence)};
    }
    Error wrong(const RawNode& node, std::string_view sentence) const {
        return wrong(node.position, fmt::format("node {}: {}", node.id, sentence));
    }

    // A version is a text, the number of a node an integer; this tells the two messages apart.
    static bool is_metadata(std::string_view message) {
        ProtoFields fields(message);
        ProtoField field;
        return !fields.next(field) || field.has_bytes;
    }

    std::optional<Error> read_node(std::string_view message, size_t position) {
        RawNode node;
        node.position = position;
        ProtoFields fields(message);
        ProtoField field;
        while (fields.next(field))
            if (!take(field, node)) return wrong(position, damaged());
        if (fields.is_damaged()) return wrong(position, damaged());
        if (node.type == 0 || node.type >= kNodeTypes)
            return wrong(node,
                         fmt::format("its type is {}; a node has one from 1 to 7", node.type));
        if (nodes_.size() >= kMostNodes)
            return wrong(node, fmt::format("a rank has {} nodes at most", kMostNodes));
        if (static_cast<NodeType>(node.type) == NodeType::metadata) read_groups(node);
        return add(node);
    }

    static std::string_view damaged() {
        return "these bytes are no node of an execution trace; write it with Chakra's "
               "et_def.proto";
    }

    static bool take(const ProtoField& field, RawNode& node) {
        switch (static_cast<NodeField>(field.number)) {
            case NodeField::id: node.id = field.value; return !field.has_bytes;
            case NodeField::name: node.name = field.bytes; return field.has_bytes;
            case NodeField::type: node.type = field.value; return !field.has_bytes;
            case NodeField::control_needs:
            case NodeField::data_needs: return append_numbers(field, node.needs);
            case NodeField::duration_micros:
                node.duration_micros = field.value;
                return !field.has_bytes;
            case NodeField::inputs: return take_inputs(field, node);
            case NodeField::attribute: return take_attribute(field, node);
        }
        return true;  // not needed
    }

    static bool take_inputs(const ProtoField& field, RawNode& node) {
        ProtoFields inputs(field.bytes);
        ProtoField part;
        while (inputs.next(part))
            if (part.number == 1) node.input_values = part.bytes;
        return field.has_bytes && !inputs.is_damaged();
    }

    static bool take_attribute(const ProtoField& field, RawNode& node) {
        Attribute attribute;
        if (!field.has_bytes || !parse_attribute(field.bytes, attribute)) return false;
        const std::string_view name = attribute.name;
        if (name == "pg_name") {
            node.group = attribute.has_number ? std::to_string(attribute.number)
                                              : std::string(attribute.text);
            return true;
        }
        if (name == "involved_dim") {
            node.dimensions = attribute.list;
            return true;
        }
        if (!attribute.has_number || attribute.is_negative) return true;
        if (name == "is_cpu_op") node.is_cpu_op = attribute.number != 0;
        if (name == "num_ops") node.operations = attribute.number;
        if (name == "tensor_size") node.tensor_bytes = attribute.number;
        if (name == "comm_type") node.comm_type = attribute.number;
        if (name == "comm_size") node.comm_bytes = attribute.number;
        if (name == "comm_src") node.source = attribute.number;
        if (name == "comm_dst") node.destination = attribute.number;
        if (name == "comm_tag") node.tag = attribute.number;
        if (name == "root" || name == "root_rank") node.root = attribute.number;
        return true;
    }

    // PyTorch's node of process groups: a list of {"pg_name": "1", "ranks": [0, 1]} as text, quoted
    // once or twice.
    void read_groups(const RawNode& node) {
        if (node.name.find("process_group:init") == std::string_view::npos) return;
        std::string text;
        for (const char c : node.input_values)
            if (c != '\\') text += c;
        constexpr std::string_view kName = "\"pg_name\"";
        for (size_t at = text.find(kName); at != std::string::npos;) {
            const size_t next = text.find(kName, at + 1);
            const std::string_view one = std::string_view(text).substr(at, next - at);
            at = next;
            const size_t begin = one.find('"', std::min(one.find(':'), one.size()));
            const size_t end = begin != one.npos ? one.find('"', begin + 1) : one.npos;
            const size_t ranks = one.find("\"ranks\"");
            if (end == one.npos || ranks == one.npos) continue;
            groups_.try_emplace(std::string(one.substr(begin + 1, end - begin - 1)),
                                ranks_in(one.substr(ranks)));
        }
    }

    std::optional<Error> add(const RawNode& raw) {
        Node node;
        node.id = raw.id;
        std::optional<Error> error;
        switch (is_call(raw) ? NodeType::compute : static_cast<NodeType>(raw.type)) {
            case NodeType::compute: error = read_compute(raw, node); break;
            case NodeType::send:
            case NodeType::receive: error = read_message(raw, node); break;
            case NodeType::collective: error = read_collective(raw, node); break;
            case NodeType::memory_load:
            case NodeType::memory_store: ++reader_.memory_nodes_; break;
            default: break;
        }
        if (error) return error;
        if (total_.ps > kLongest.ps)
            return wrong(raw,
                         "up to here the rank computes for more than a day; durations are "
                         "microseconds (duration_micros), not nanoseconds");
        nodes_.push_back(node);
        positions_.push_back(raw.position);
        needs_.insert(needs_.end(), raw.needs.begin(), raw.needs.end());
        first_need_.push_back(needs_.size());
        return std::nullopt;
    }

    // PyTorch's converter gives calls of the processor (c10d::allreduce_) the type of what they
    // start. They say nothing of it: the kernel of the GPU does.
    static bool is_call(const RawNode& raw) {
        switch (static_cast<NodeType>(raw.type)) {
            case NodeType::collective: return raw.is_cpu_op && !raw.comm_type;
            case NodeType::send: return raw.is_cpu_op && !raw.destination;
            case NodeType::receive: return raw.is_cpu_op && !raw.source;
            default: return false;
        }
    }

    std::optional<Error> read_compute(const RawNode& raw, Node& node) {
        node.kind = Node::Kind::compute;
        node.lane = raw.is_cpu_op ? 1 : 0;
        const Roofline& roofline = reader_.options_.roofline;
        base::uint128_t time = base::uint128_t{raw.duration_micros} * kPicosecondsPerMicrosecond;
        if (roofline.flops_per_second != 0 && !raw.is_cpu_op) {
            constexpr uint64_t kPicoseconds = 1'000'000'000'000;
            time = base::uint128_t{raw.operations} * kPicoseconds / roofline.flops_per_second;
            if (roofline.bytes_per_second != 0)
                time = std::max(time, base::uint128_t{raw.tensor_bytes} * kPicoseconds /
                                          roofline.bytes_per_second);
        }
        if (time > static_cast<uint64_t>(kLongest.ps))
            return wrong(raw, fmt::format("it computes for more than a day; its {} is wrong, or in "
                                          "another unit than {}",
                                          roofline.flops_per_second != 0 ? "num_ops or tensor_size"
                                                                         : "duration_micros",
                                          roofline.flops_per_second != 0 ? "operations and bytes"
                                                                         : "microseconds"));
        node.duration = {static_cast<int64_t>(static_cast<uint64_t>(time))};
        total_ += node.duration;
        if (node.duration.ps == 0 && raw.operations != 0) ++reader_.without_duration_;
        return std::nullopt;
    }

    std::optional<Error> read_message(const RawNode& raw, Node& node) {
        const bool sends = static_cast<NodeType>(raw.type) == NodeType::send;
        node.kind = sends ? Node::Kind::send : Node::Kind::receive;
        const std::optional<uint64_t>& own = sends ? raw.source : raw.destination;
        const std::optional<uint64_t>& peer = sends ? raw.destination : raw.source;
        const std::string_view key = sends ? "comm_dst" : "comm_src";
        if (!peer) return wrong(raw, fmt::format("its attribute {} is missing", key));
        if (own && *own != rank_)
            return wrong(raw, fmt::format("it is a message of rank {}, but this is the file of "
                                          "rank {}",
                                          *own, rank_));
        if (*peer >= reader_.options_.ranks)
            return wrong(raw, fmt::format("its {} is rank {}, but there are {} ranks", key, *peer,
                                          reader_.options_.ranks));
        node.peer = static_cast<uint32_t>(*peer);
        node.tag = static_cast<uint32_t>(raw.tag);
        return read_bytes(raw, 1, node);
    }

    std::optional<Error> read_bytes(const RawNode& raw, uint64_t times, Node& node) const {
        if (raw.comm_bytes > kMostBytes / times)
            return wrong(
                raw, fmt::format("its comm_size of {} bytes is more than 100TB", raw.comm_bytes));
        node.bytes = raw.comm_bytes * times;
        return std::nullopt;
    }

    std::optional<Error> read_collective(const RawNode& raw, Node& node) {
        node.kind = Node::Kind::collective;
        if (!raw.comm_type) return wrong(raw, "its attribute comm_type is missing");
        if (auto error = read_group(raw, node)) return error;
        uint64_t times = 1;
        switch (static_cast<CommType>(std::min<uint64_t>(*raw.comm_type, 255))) {
            case CommType::all_reduce: node.collective = Collective::all_reduce; break;
            case CommType::all_gather:
                node.collective = Collective::all_gather;
                times = reader_.trace_.groups[node.group].ranks.size();
                break;
            case CommType::reduce_scatter:
            case CommType::reduce_scatter_block:
                node.collective = Collective::reduce_scatter;
                break;
            case CommType::all_to_all: node.collective = Collective::all_to_all; break;
            case CommType::reduce: ++reader_.reduces_; [[fallthrough]];
            case CommType::broadcast:
                node.collective = Collective::broadcast;
                node.peer = static_cast<uint32_t>(std::min<uint64_t>(raw.root, UINT32_MAX));
                if (raw.root == 0) node.peer = reader_.trace_.groups[node.group].ranks.front();
                break;
            case CommType::barrier: node.bytes = kBarrierBytes; return std::nullopt;
            case CommType::gather:
            case CommType::scatter:
                return wrong(raw,
                             "it is a gather or scatter, which cannot be simulated; write it "
                             "as messages (COMM_SEND and COMM_RECV)");
            default:
                return wrong(raw, fmt::format("its comm_type is {}; there are 0 (ALL_REDUCE) to 9 "
                                              "(BARRIER)",
                                              *raw.comm_type));
        }
        return read_bytes(raw, times, node);
    }

    std::optional<Error> read_group(const RawNode& raw, Node& node) {
        const uint32_t count = reader_.options_.ranks;
        std::vector<uint32_t> ranks;
        const bool is_part = std::ranges::find(raw.dimensions, uint64_t{0}) != raw.dimensions.end();
        if (const auto named = groups_.find(raw.group); named != groups_.end())
            ranks = named->second;
        else if (!raw.group.empty() && raw.group != "0")
            return wrong(raw, fmt::format("nothing says who is in its process group '{0}'; write "
                                          "groups: FILE, with {{\"{0}\": [0, 1]}} in the file",
                                          raw.group));
        else if (is_part) {
            if (auto error = ranks_of_dimensions(raw, ranks)) return error;
        }
        if (ranks.empty())
            for (uint32_t i = 0; i < count; ++i) ranks.push_back(i);
        std::ranges::sort(ranks);
        if (std::ranges::adjacent_find(ranks) != ranks.end() || ranks.back() >= count)
            return wrong(raw, fmt::format("its process group '{}' names a rank twice, or one "
                                          "beyond the last, {}",
                                          raw.group, count - 1));
        node.group = reader_.trace_.group(raw.group, ranks);
        return std::nullopt;
    }

    // Ranks that differ from this one only in the participating dimensions.
    std::optional<Error> ranks_of_dimensions(const RawNode& raw, std::vector<uint32_t>& ranks) {
        const std::vector<uint32_t>& sizes = reader_.options_.dimensions;
        if (sizes.size() != raw.dimensions.size())
            return wrong(raw, fmt::format("its involved_dim has {} dimensions, and some take no "
                                          "part; say how large they are: dimensions: [8, 4]",
                                          raw.dimensions.size()));
        for (uint32_t other = 0; other < reader_.options_.ranks; ++other) {
            uint32_t a = rank_;
            uint32_t b = other;
            bool is_in = true;
            for (size_t i = 0; i < sizes.size(); ++i) {
                if (raw.dimensions[i] == 0) is_in &= a % sizes[i] == b % sizes[i];
                a /= sizes[i];
                b /= sizes[i];
            }
            if (is_in && a == b) ranks.push_back(other);
        }
        return std::nullopt;
    }

    // Sorts nodes by number, and turns numbers into indices.
    std::optional<Error> finish() {
        std::vector<uint32_t> order(nodes_.size());
        for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
        std::ranges::stable_sort(order, {}, [&](uint32_t i) { return nodes_[i].id; });
        RankGraph graph;
        std::vector<uint32_t> needs;
        const auto id = [&](uint32_t i) { return nodes_[i].id; };
        for (uint32_t place = 0; place < order.size(); ++place) {
            const uint32_t i = order[place];
            if (place > 0 && id(order[place - 1]) == id(i))
                return wrong(positions_[i], fmt::format("node {} is there twice", id(i)));
            needs.clear();
            for (size_t j = first_need_[i]; j < first_need_[i + 1]; ++j) {
                const auto need = std::ranges::lower_bound(order, needs_[j], {}, id);
                if (need == order.end() || id(*need) != needs_[j])
                    return wrong(positions_[i],
                                 fmt::format("node {} depends on node {}, which the file does not "
                                             "have",
                                             id(i), needs_[j]));
                needs.push_back(static_cast<uint32_t>(need - order.begin()));
            }
            std::ranges::sort(needs);
            needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
            graph.add(nodes_[i], needs);
        }
        reader_.trace_.ranks.push_back(std::move(graph));
        reader_.trace_.files.push_back(file_);
        return std::nullopt;
    }

    ChakraReader& reader_;
    std::string_view bytes_;
    const std::string& file_;
    const uint32_t rank_;
    std::map<std::string, std::vector<uint32_t>> groups_;
    base::Duration total_{};
    std::vector<Node> nodes_;        // in the order of the file
    std::vector<size_t> positions_;  // of each
    std::vector<size_t> first_need_{0};
    std::vector<uint64_t> needs_;  // numbers of nodes
};

ChakraReader::ChakraReader(ChakraOptions options) : options_(std::move(options)) {
    trace_.format = "Chakra execution trace";
    trace_.units = options_.roofline.flops_per_second != 0
                       ? "computing from num_ops and tensor_size; processors' in us "
                         "(duration_micros); sizes in bytes (comm_size)"
                       : "times in us (duration_micros), sizes in bytes (comm_size)";
}

std::optional<Error> ChakraReader::add_rank(std::string_view bytes, const std::string& file) {
    return ChakraFile(*this, bytes, file).read();
}

Trace ChakraReader::take() {
    const auto note = [&](uint64_t count, std::string_view sentence) {
        if (count != 0) trace_.notes.push_back(fmt::format("{} {}", count, sentence));
    };
    note(without_duration_,
         "compute nodes have operations but no duration, and take no time: name a system file with "
         "peak-perf");
    note(memory_nodes_, "memory nodes take no time: there is no remote memory");
    note(reduces_,
         "reduces are simulated as broadcasts from their root: the same bytes, the other "
         "way");
    return std::move(trace_);
}

}  // namespace tulle::traces
