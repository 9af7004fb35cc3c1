#include "traces/simai.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/int128.h"
#include "workload/lines.h"

namespace tulle::traces {
namespace {

using base::Error;
using workload::Collective;
using workload::Line;
using workload::located;
using workload::parse_number;
using workload::Purpose;

constexpr uint64_t kMostRows = 1'000'000;
constexpr uint64_t kMostNodesOfAll = 64'000'000;
constexpr uint64_t kLeastForwardBytes = 4096;  // SimAI and ASTRA-sim raise smaller ones to this

enum class Policy : uint8_t { data, model, hybrid, micro, inference };

constexpr std::pair<std::string_view, Policy> kPolicies[] = {
    {"DATA", Policy::data},
    {"MODEL", Policy::model},
    {"HYBRID_DATA_MODEL", Policy::hybrid},
    {"HYBRID_MODEL_DATA", Policy::hybrid},
    {"HYBRID_TRANSFORMER", Policy::hybrid},
    {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", Policy::hybrid},
    {"HYBRID_DLRM", Policy::micro},
    {"MICRO", Policy::micro},
    {"DISTRIBUTED_INFERENCE", Policy::inference},
};

constexpr std::pair<std::string_view, Collective> kCollectives[] = {
    {"ALLREDUCE", Collective::all_reduce},
    {"ALLGATHER", Collective::all_gather},
    {"REDUCESCATTER", Collective::reduce_scatter},
    {"ALLTOALL", Collective::all_to_all},
};

// The ranks that take part.
enum class Team : uint8_t { tensor, data, expert, expert_data, all };

// One of the three columns of times, collectives and bytes.
struct Part {
    base::Duration time{};
    std::optional<Collective> collective;
    Team team = Team::tensor;
    uint64_t bytes = 0;
};

struct Row {
    Part forward;
    Part input_gradients;
    Part weight_gradients;
    base::Duration update{};
};

// The fields of the first line.
struct Head {
    Policy policy = Policy::hybrid;
    uint32_t tensor = 0;  // 0: not given
    uint32_t expert = 1;
    uint32_t pipeline = 1;
    uint32_t gpus = 0;
    std::set<uint32_t> checkpoints;
    std::set<uint32_t> recomputing;  // layers whose gradients need the forward pass again
};

class WorkloadReader {
public:
    WorkloadReader(std::string_view text, std::string_view file, const WorkloadOptions& options)
        : lines_(text), file_(file), options_(options) {}

    base::Result<Trace> read() {
        if (auto error = read_head()) return *error;
        if (auto error = read_degrees()) return *error;
        if (auto error = read_rows()) return *error;
        return make_trace();
    }

private:
    Error wrong(std::string_view sentence) const { return located(file_, line_.number, sentence); }

    std::optional<Error> read_head() {
        if (!lines_.next(line_))
            return located(file_, 1,
                           "the file is empty; write a policy such as "
                           "HYBRID_TRANSFORMER in its first line");
        const std::string_view name = line_.words[0];
        const auto* known =
            std::ranges::find(kPolicies, name, [](const auto& p) { return p.first; });
        if (known == std::end(kPolicies))
            return wrong(
                fmt::format("'{}' is no policy that can be simulated; write one of DATA, "
                            "MODEL, HYBRID_TRANSFORMER, HYBRID_TRANSFORMER_FWD_IN_BCKWD, "
                            "HYBRID_DATA_MODEL, HYBRID_DLRM, MICRO",
                            name.substr(0, 40)));
        head_.policy = known->second;
        for (size_t i = 1; i < line_.words.size();)
            if (auto error = read_word(i)) return error;
        return std::nullopt;
    }

    // "name: value", or "checkpoints: 2 0 4". AICB writes "pp_comm 50331648" too, without a colon.
    std::optional<Error> read_word(size_t& i) {
        const std::string_view key = line_.words[i++];
        if (!key.ends_with(':') && key != "pp_comm")
            return wrong(fmt::format("'{}' is no 'name:' of the first line", key.substr(0, 40)));
        const auto first = number(i, key);
        if (!first) return first.error();
        const auto value = static_cast<uint32_t>(*first);
        if (key == "model_parallel_NPU_group:") head_.tensor = value;
        if (key == "ep:") head_.expert = value;
        if (key == "pp:") head_.pipeline = value;
        if (key == "all_gpus:") head_.gpus = value;
        const bool is_list = key == "checkpoints:" || key == "checkpoint_initiates:";
        for (uint32_t n = 0; is_list && n < value; ++n) {
            const auto layer = number(i, key);
            if (!layer) return layer.error();
            (key == "checkpoints:" ? head_.checkpoints : head_.recomputing)
                .insert(static_cast<uint32_t>(*layer));
        }
        return std::nullopt;
    }

    base::Result<uint64_t> number(size_t& i, std::string_view what) const {
        if (i >= line_.words.size()) return wrong(fmt::format("the value of {} is missing", what));
        auto value = parse_number(line_.words[i++], what, UINT32_MAX);
        if (!value) return wrong(value.error().message);
        return value;
    }

    std::optional<Error> read_degrees() {
        if (head_.gpus == 0) head_.gpus = options_.ranks;
        if (head_.gpus > options_.ranks || (options_.is_exact && head_.gpus != options_.ranks))
            return wrong(
                fmt::format("all_gpus is {}, but there are {} GPUs; take a topology with "
                            "as many, or write `ranks`",
                            head_.gpus, options_.ranks));
        switch (head_.policy) {
            case Policy::data: head_.tensor = 1; break;
            case Policy::model:
            case Policy::inference: head_.tensor = head_.gpus; break;
            case Policy::micro: head_.tensor = head_.gpus; break;
            case Policy::hybrid:
                if (head_.tensor == 0)
                    return wrong(
                        "the policy needs to know which ranks share a layer; write "
                        "model_parallel_NPU_group: 8, the number of neighbours that do");
        }
        const uint64_t together = uint64_t{head_.tensor} * head_.pipeline;
        if (together == 0 || head_.gpus % together != 0)
            return wrong(fmt::format("{} GPUs are no multiple of model_parallel_NPU_group x pp, {}",
                                     head_.gpus, together));
        const uint64_t replicas = head_.gpus / together;
        if (head_.expert == 0 || replicas % head_.expert != 0)
            return wrong(
                fmt::format("{} replicas are no multiple of ep, {}", replicas, head_.expert));
        return std::nullopt;
    }

    std::optional<Error> read_rows() {
        if (!lines_.next(line_)) return wrong("the number of layers is missing in the next line");
        const auto count = parse_number(line_.words[0], "the number of layers", kMostRows);
        if (!count) return wrong(count.error().message);
        if (*count * head_.gpus * 8 > kMostNodesOfAll)
            return wrong(
                fmt::format("{} layers on {} GPUs are too much; take fewer", *count, head_.gpus));
        for (uint64_t i = 0; i < *count; ++i) {
            if (!lines_.next(line_))
                return wrong(fmt::format("the file ends after {} of {} layers", i, *count));
            if (auto error = read_row()) return error;
        }
        if (lines_.next(line_))
            return wrong(
                fmt::format("there is a row more than the {} that the second line says", *count));
        return std::nullopt;
    }

    std::optional<Error> read_row() {
        constexpr size_t kColumns = 12;
        if (line_.words.size() < kColumns)
            return wrong(
                fmt::format("a layer has {} columns, and here are {}: name, -1, then "
                            "time, collective and bytes three times, and the update's "
                            "time",
                            kColumns, line_.words.size()));
        Row row;
        if (auto error = read_part(2, Team::tensor, row.forward)) return error;
        if (auto error = read_part(5, Team::tensor, row.input_gradients)) return error;
        if (auto error = read_part(8, Team::data, row.weight_gradients)) return error;
        if (row.forward.collective)
            row.forward.bytes = std::max(row.forward.bytes, kLeastForwardBytes);
        if (auto error = read_time(11, row.update)) return error;
        rows_.push_back(row);
        return std::nullopt;
    }

    std::optional<Error> read_time(size_t column, base::Duration& time) {
        const auto most = static_cast<uint64_t>(kLongest.ps / options_.unit_ps);
        const auto value = parse_number(line_.words[column], "the time", most);
        if (!value)
            return wrong(fmt::format("column {}: {}, a day", column + 1, value.error().message));
        time = {static_cast<int64_t>(*value) * options_.unit_ps};
        total_ += base::uint128_t{*value} * static_cast<uint64_t>(options_.unit_ps);
        if (total_ > static_cast<uint64_t>(kLongest.ps))
            return wrong(
                "up to here a rank computes for more than a day; times are nanoseconds, "
                "or what `unit` says");
        return std::nullopt;
    }

    std::optional<Error> read_part(size_t column, Team team, Part& part) {
        if (auto error = read_time(column, part.time)) return error;
        const auto bytes = parse_number(line_.words[column + 2], "the size", kMostBytes);
        if (!bytes) return wrong(fmt::format("column {}: {}", column + 3, bytes.error().message));
        part.bytes = *bytes;
        part.team = head_.policy == Policy::micro ? Team::all : team;
        std::string_view name = line_.words[column + 1];
        if (name == "NONE") return std::nullopt;
        for (const auto& [suffix, other] :
             {std::pair{std::string_view("_DP_EP"), Team::expert_data},
              {"_EP", Team::expert},
              {"_TP", Team::tensor},
              {"_DP", Team::data}})
            if (name.ends_with(suffix)) {
                name.remove_suffix(suffix.size());
                part.team = other;
                break;
            }
        for (const auto& [known, collective] : kCollectives)
            if (name == known) part.collective = collective;
        if (part.collective) return std::nullopt;
        return wrong(
            fmt::format("column {}: '{}' is no collective that can be simulated; write "
                        "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, with _EP "
                        "or _DP_EP where experts do it",
                        column + 2, line_.words[column + 1].substr(0, 40)));
    }

    // Ranks are numbered by tensor first, then replicas, then stages.
    std::vector<uint32_t> team_of(uint32_t rank, Team team) const {
        const uint32_t replicas = head_.gpus / head_.tensor / head_.pipeline;
        const uint32_t tensor = rank % head_.tensor;
        const uint32_t replica = rank / head_.tensor % replicas;
        const uint32_t stage = rank / head_.tensor / replicas;
        std::vector<uint32_t> ranks;
        const auto add = [&](uint32_t t, uint32_t r) {
            ranks.push_back((stage * replicas + r) * head_.tensor + t);
        };
        switch (team) {
            case Team::all:
                for (uint32_t i = 0; i < head_.gpus; ++i) ranks.push_back(i);
                break;
            case Team::tensor:
                for (uint32_t t = 0; t < head_.tensor; ++t) add(t, replica);
                break;
            case Team::data:
                for (uint32_t r = 0; r < replicas; ++r) add(tensor, r);
                break;
            case Team::expert:
                for (uint32_t e = 0; e < head_.expert; ++e)
                    add(tensor, replica / head_.expert * head_.expert + e);
                break;
            case Team::expert_data:
                for (uint32_t r = replica % head_.expert; r < replicas; r += head_.expert)
                    add(tensor, r);
        }
        return ranks;
    }

    Trace make_trace() {
        Trace trace;
        trace.format = "workload of SimAI or ASTRA-sim";
        trace.units =
            fmt::format("times in {}, sizes in bytes, of an all-gather {}", unit_name(),
                        options_.gathers_shards ? "what one rank brings" : "the whole result");
        if (head_.pipeline > 1)
            trace.notes.push_back(fmt::format(
                "the {} stages do their rows at the same time; what they say to each other "
                "(pp_comm) is left out, because the file does not say when",
                head_.pipeline));
        for (uint32_t rank = 0; rank < head_.gpus; ++rank) {
            graph_ = {};
            last_.clear();
            for (uint32_t i = 0; i < 5; ++i) groups_[i] = kUnknown;
            make_rank(trace, rank);
            trace.ranks.push_back(std::move(graph_));
            trace.files.emplace_back(file_);
        }
        return trace;
    }

    std::string_view unit_name() const {
        return options_.unit_ps == 1000 ? "ns" : options_.unit_ps == 1'000'000 ? "us" : "ms";
    }

    void make_rank(Trace& trace, uint32_t rank) {
        for (const Row& row : rows_) add_blocking(trace, rank, row.forward);
        if (head_.policy == Policy::inference) return;
        std::vector<std::pair<uint32_t, base::Duration>> updates;
        for (uint32_t i = static_cast<uint32_t>(rows_.size()); i-- > 0;) {
            if (head_.recomputing.contains(i)) recompute(trace, rank, i);
            const Row& row = rows_[i];
            add_blocking(trace, rank, row.input_gradients);
            add_compute(row.weight_gradients.time);
            const std::vector<uint32_t> computed = last_;
            const bool says = add_collective(trace, rank, row.weight_gradients);
            if (says) updates.emplace_back(last_.front(), row.update);
            if (!says && row.update.ps > 0) updates.emplace_back(kUnknown, row.update);
            last_ = computed;
        }
        const std::vector<uint32_t> end = last_;
        for (const auto& [gradients, update] : updates) {
            last_ = end;
            if (gradients != kUnknown) last_.push_back(gradients);
            add_compute(update);
        }
    }

    // The forward pass from the last checkpoint before the layer.
    void recompute(Trace& trace, uint32_t rank, uint32_t layer) {
        auto from = head_.checkpoints.upper_bound(layer);
        if (from == head_.checkpoints.begin()) return;
        for (uint32_t i = *--from; i < layer; ++i) add_blocking(trace, rank, rows_[i].forward);
    }

    void add_blocking(Trace& trace, uint32_t rank, const Part& part) {
        add_compute(part.time);
        add_collective(trace, rank, part);
    }

    void add_compute(base::Duration time) {
        if (time.ps == 0) return;
        Node node;
        node.kind = Node::Kind::compute;
        node.duration = time;
        add(node);
    }

    bool add_collective(Trace& trace, uint32_t rank, const Part& part) {
        if (!part.collective || part.bytes == 0) return false;
        uint32_t& group = groups_[static_cast<size_t>(part.team)];
        if (group == kUnknown) {
            const std::vector<uint32_t> ranks = team_of(rank, part.team);
            constexpr std::string_view kNames[] = {"tensor", "data", "expert", "expert data",
                                                   "all"};
            const std::string name(kNames[static_cast<size_t>(part.team)]);
            // The first rank of the group has created it.
            group = ranks.front() == rank ? trace.group(name, ranks)
                                          : groups_of_first_[{part.team, ranks.front()}];
            groups_of_first_[{part.team, ranks.front()}] = group;
        }
        Node node;
        node.kind = Node::Kind::collective;
        node.collective = *part.collective;
        node.group = group;
        node.bytes = part.bytes;
        if (node.collective == Collective::all_gather && options_.gathers_shards)
            node.bytes = std::min(kMostBytes, part.bytes * trace.groups[group].ranks.size());
        add(node);
        return true;
    }

    // Appends after the nodes that were added last.
    void add(Node node) {
        node.id = graph_.size() + 1;
        graph_.add(node, last_);
        last_ = {graph_.size() - 1};
    }

    static constexpr uint32_t kUnknown = UINT32_MAX;

    workload::Lines lines_;
    std::string_view file_;
    const WorkloadOptions& options_;
    Line line_;
    Head head_;
    std::vector<Row> rows_;
    base::uint128_t total_ = 0;
    RankGraph graph_;                 // of the current rank
    std::vector<uint32_t> last_;      // nodes that the next one waits for
    std::array<uint32_t, 5> groups_;  // of the current rank, by Team
    std::map<std::pair<Team, uint32_t>, uint32_t> groups_of_first_;
};

}  // namespace

base::Result<Trace> read_workload(std::string_view text, std::string_view file,
                                  const WorkloadOptions& options) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    return WorkloadReader(text, file, options).read();
}

}  // namespace tulle::traces
