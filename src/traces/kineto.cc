#include "traces/kineto.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include "traces/kineto_events.h"

namespace tulle::traces {

using base::Error;
using workload::Collective;

namespace {

// Bytes per element, by PyTorch's name of the type; 0 if unknown.
uint64_t bytes_of_type(std::string_view name) {
    constexpr std::pair<std::string_view, uint64_t> kTypes[] = {
        {"Float", 4}, {"BFloat16", 2}, {"Half", 2}, {"Double", 8}, {"Long", 8},
        {"Int", 4},   {"Short", 2},    {"Byte", 1}, {"Char", 1},   {"Bool", 1}};
    for (const auto& [known, bytes] : kTypes)
        if (name == known) return bytes;
    return name.starts_with("Float8") ? 1 : 0;
}

std::optional<Collective> collective_named(std::string_view name) {
    constexpr std::pair<std::string_view, Collective> kNames[] = {
        {"allreduce", Collective::all_reduce},
        {"all_reduce", Collective::all_reduce},
        {"barrier", Collective::all_reduce},
        {"_allgather_base", Collective::all_gather},
        {"allgather", Collective::all_gather},
        {"all_gather", Collective::all_gather},
        {"allgather_into_tensor", Collective::all_gather},
        {"_reduce_scatter_base", Collective::reduce_scatter},
        {"reduce_scatter", Collective::reduce_scatter},
        {"reduce_scatter_tensor", Collective::reduce_scatter},
        {"all_to_all", Collective::all_to_all},
        {"all_to_allv", Collective::all_to_all},
        {"alltoall", Collective::all_to_all},
        {"alltoall_base", Collective::all_to_all},
        {"broadcast", Collective::broadcast}};
    constexpr std::string_view kSuffix = "_coalesced";
    if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
    for (const auto& [known, collective] : kNames)
        if (name == known) return collective;
    return std::nullopt;
}

}  // namespace

// The state while the graph of one rank is built.
class KinetoGraph {
public:
    KinetoGraph(KinetoReader& reader, const std::string& file) : reader_(reader), file_(file) {}

    std::optional<Error> read(std::string_view text) {
        auto recording = read_recording(text, file_);
        if (!recording) return recording.error();
        const std::vector<Kernel>& kernels = recording->kernels;
        if (kernels.empty())
            return Error{
                fmt::format("{}: byte 0: no event is a kernel of a GPU; record with "
                            "ProfilerActivity.CUDA",
                            file_)};
        if (auto error = check_job(*recording)) return error;
        first_ = now_ = kernels.front().begin_ps;
        for (const Kernel& kernel : kernels)
            if (auto error = kernel.is_nccl ? add_collective(kernel) : add_computing(kernel))
                return error;
        flush();
        reader_.trace_.ranks.push_back(std::move(graph_));
        reader_.trace_.files.push_back(file_);
        return std::nullopt;
    }

private:
    // A collective that no computation has waited for yet.
    struct Pending {
        int64_t begin = 0;
        int64_t end = 0;
        uint32_t node = 0;
    };

    // Files sorted by name are not in the order of ranks: 10 comes before 2.
    std::optional<Error> check_job(const Recording& recording) const {
        const auto index = static_cast<int64_t>(reader_.trace_.ranks.size());
        if (index > 0 && recording.rank >= 0 && recording.rank != index)
            return Error{
                fmt::format("{}: byte 0: rank {} was recorded, but the file is in the place of "
                            "rank {}; name the files in the order of their ranks",
                            file_, recording.rank, index)};
        if (recording.job_ranks > 1 && std::ranges::none_of(recording.kernels, &Kernel::is_nccl))
            reader_.trace_.notes.push_back(
                fmt::format("{}: no kernel is one of NCCL, though the job had {} ranks; what other "
                            "libraries send (DeepEP, NVSHMEM) counts as computing",
                            file_, recording.job_ranks));
        return std::nullopt;
    }

    Error wrong(const Kernel& kernel, std::string_view sentence) const {
        return {fmt::format("{}: event {}: {}", file_, kernel.number, sentence)};
    }

    // Kernels without a gap between them are one node.
    void flush() {
        if (open_ <= 0) return;
        Node node;
        node.kind = Node::Kind::compute;
        node.id = graph_.size();
        node.duration = {open_};
        graph_.add(node, last_needs_);
        last_needs_ = {graph_.size() - 1};
        open_ = 0;
    }

    std::optional<Error> add_computing(const Kernel& kernel) {
        if (kernel.begin_ps > now_) pass_gap(kernel.begin_ps);
        open_ += std::max<int64_t>(0, kernel.end_ps - std::max(now_, kernel.begin_ps));
        now_ = std::max(now_, kernel.end_ps);
        if (now_ - first_ > kLongest.ps)
            return wrong(kernel, "the trace is longer than a day; times are microseconds");
        return std::nullopt;
    }

    // Nothing computes until then. Collectives that ended in between were waited for; the rest is
    // time of the processor.
    void pass_gap(int64_t until) {
        int64_t covered_to = now_;
        int64_t idle = 0;
        std::vector<uint32_t> waited;
        std::vector<Pending> left;
        for (const Pending& pending : pending_) {
            idle += std::max<int64_t>(0, std::min(pending.begin, until) - covered_to);
            covered_to = std::max(covered_to, std::min(pending.end, until));
            if (pending.end <= until && pending.end > now_)
                waited.push_back(pending.node);
            else if (pending.end > until)
                left.push_back(pending);
        }
        idle += std::max<int64_t>(0, until - covered_to);
        if (!waited.empty()) flush();
        last_needs_.insert(last_needs_.end(), waited.begin(), waited.end());
        pending_ = std::move(left);
        open_ += idle;
        now_ = until;
    }

    std::optional<Error> add_collective(const Kernel& kernel) {
        if (kernel.begin_ps > now_ && pending_.empty()) pass_gap(kernel.begin_ps);
        Node node;
        node.id = kernel.number;
        if (kernel.collective == "send" || kernel.collective == "recv") {
            if (auto error = read_peer(kernel, node)) return error;
        } else {
            const auto collective = collective_named(kernel.collective);
            if (kernel.collective.empty())
                return wrong(kernel,
                             "nothing says which collective it is, of whom and how much; record "
                             "with a newer PyTorch, which writes `Collective name`, `Group size` "
                             "and `In msg nelems`");
            if (!collective)
                return wrong(kernel,
                             fmt::format("its collective '{}' is not known; there are allreduce, "
                                         "_allgather_base, _reduce_scatter_base, all_to_all, "
                                         "broadcast, barrier, send and recv",
                                         kernel.collective.substr(0, 40)));
            node.kind = Node::Kind::collective;
            node.collective = *collective;
            if (auto error = read_group(kernel, node)) return error;
        }
        if (auto error = read_bytes(kernel, node)) return error;
        flush();
        graph_.add(node, last_needs_);
        pending_.push_back({kernel.begin_ps, kernel.end_ps, graph_.size() - 1});
        return std::nullopt;
    }

    std::optional<Error> read_peer(const Kernel& kernel, Node& node) const {
        const bool sends = kernel.collective == "send";
        const int64_t peer = sends ? kernel.destination : kernel.source;
        node.kind = sends ? Node::Kind::send : Node::Kind::receive;
        if (peer < 0 || peer >= reader_.ranks_)
            return wrong(kernel,
                         fmt::format("its {} {} is none of the {} ranks",
                                     sends ? "Dst Rank" : "Src Rank", peer, reader_.ranks_));
        node.peer = static_cast<uint32_t>(peer);
        return std::nullopt;
    }

    std::optional<Error> read_bytes(const Kernel& kernel, Node& node) const {
        if (kernel.collective == "barrier") {
            node.bytes = 8;  // chosen: PyTorch's barrier is an all-reduce of one element
            return std::nullopt;
        }
        const uint64_t size = bytes_of_type(kernel.type);
        if (size == 0)
            return wrong(kernel, fmt::format("its dtype '{}' is not known; there are Float, "
                                             "BFloat16, Half, Double, Long, Int, Byte",
                                             kernel.type.substr(0, 40)));
        const uint64_t elements = std::max(kernel.elements_in, kernel.elements_out);
        if (elements > kMostBytes / size) return wrong(kernel, "it moves more than 100TB");
        node.bytes = elements * size;
        return std::nullopt;
    }

    // The list of ranks if it is complete, else start and stride.
    std::optional<Error> read_group(const Kernel& kernel, Node& node) {
        std::vector<uint32_t> ranks;
        if (kernel.ranks.find("...") == std::string::npos) ranks = numbers_in(kernel.ranks);
        if (ranks.empty() && kernel.rank_start >= 0 && kernel.rank_stride >= 0)
            for (uint64_t i = 0; i < std::min<uint64_t>(kernel.group_size, reader_.ranks_); ++i)
                ranks.push_back(
                    static_cast<uint32_t>(static_cast<uint64_t>(kernel.rank_start) +
                                          i * static_cast<uint64_t>(kernel.rank_stride)));
        if (ranks.empty())
            for (uint32_t i = 0; i < reader_.ranks_; ++i) ranks.push_back(i);
        std::ranges::sort(ranks);
        ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
        if (ranks.back() >= reader_.ranks_)
            return wrong(kernel, fmt::format("rank {} is in its group, but there are {} ranks; "
                                             "take more GPUs",
                                             ranks.back(), reader_.ranks_));
        if (kernel.group_size != 0 && ranks.size() != kernel.group_size)
            return wrong(kernel, fmt::format("its group has {} ranks, but {} are named",
                                             kernel.group_size, ranks.size()));
        node.group = reader_.trace_.group(kernel.group, ranks);
        node.peer = ranks.front();
        return std::nullopt;
    }

    static std::vector<uint32_t> numbers_in(std::string_view text) {
        std::vector<uint32_t> found;
        for (size_t i = 0; i < text.size(); ++i) {
            uint32_t number = 0;
            const auto [stop, error] =
                std::from_chars(text.data() + i, text.data() + text.size(), number);
            if (error != std::errc()) continue;
            found.push_back(number);
            i = static_cast<size_t>(stop - text.data());
        }
        return found;
    }

    KinetoReader& reader_;
    const std::string& file_;
    RankGraph graph_;
    int64_t first_ = 0;
    int64_t now_ = 0;   // computation is recorded up to here
    int64_t open_ = 0;  // the part of it that is in no node yet
    std::vector<uint32_t> last_needs_;
    std::vector<Pending> pending_;
};

KinetoReader::KinetoReader(uint32_t ranks) : ranks_(ranks) {
    trace_.format = "Kineto trace of PyTorch";
    trace_.units = "times in us (ts, dur), sizes in elements of dtype";
}

std::optional<Error> KinetoReader::add_rank(std::string_view text, const std::string& file) {
    return KinetoGraph(*this, file).read(text);
}

std::optional<Error> KinetoReader::repeat_first() {
    const RankGraph first = trace_.ranks.front();
    const std::vector<Group> groups = trace_.groups;
    for (uint32_t rank = 1; rank < ranks_; ++rank) {
        RankGraph graph;
        for (uint32_t i = 0; i < first.size(); ++i) {
            Node node = first[i];
            if (node.kind == Node::Kind::send || node.kind == Node::Kind::receive)
                return at_node(trace_, 0, node,
                               "it is a message to one rank, so the others do something else; "
                               "name the files of all ranks");
            if (node.kind == Node::Kind::collective) {
                // A group of the same stride that contains this rank.
                const std::vector<uint32_t>& of_first = groups[node.group].ranks;
                const auto size = static_cast<uint32_t>(of_first.size());
                const uint32_t stride = size > 1 ? of_first[1] - of_first[0] : 1;
                const uint32_t base = rank / (stride * size) * stride * size + rank % stride;
                std::vector<uint32_t> ranks;
                for (uint32_t j = 0; j < size; ++j) ranks.push_back(base + j * stride);
                if (of_first.front() != 0 || of_first.back() != (size - 1) * stride ||
                    ranks.back() >= ranks_)
                    return at_node(trace_, 0, node,
                                   "its group cannot be repeated for all ranks; name the files "
                                   "of all ranks, or take a multiple of the group");
                node.group = trace_.group(groups[node.group].name, ranks);
                node.peer = ranks.front();
            }
            graph.add(node, first.needs(i));
        }
        trace_.ranks.push_back(std::move(graph));
        trace_.files.push_back(trace_.files.front());
    }
    trace_.notes.push_back(fmt::format("one rank was recorded; all {} do what it did", ranks_));
    return std::nullopt;
}

}  // namespace tulle::traces
