#include "scenario/training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "scenario/memory.h"
#include "scenario/models.h"
#include "sim/cables.h"
#include "sim/course.h"
#include "workload/collectives/collective.h"
#include "workload/generated_job.h"

namespace tulle::scenario {
namespace {

using workload::Axis;
using workload::Layout;
using workload::PipelineSchedule;
using workload::Protocol;
using workload::Recompute;
using workload::StepOptions;

constexpr KnownKey kKeys[] = {
    {"model", "name or map", "such as llama3-70b (`tulle model` knows them), or its shape"},
    {"gpu", "one of a100, h100, h200, b200, gb200", "what computes; h100 by default"},
    {"gpus", "number", "number of GPUs that take part, the first ones; all by default"},
    {"ranks", "GPUs", "instead of `gpus`: which ones, such as [0-63]"},
    {"tp", "number", "number of ranks that share each layer; 1 by default, as all degrees"},
    {"pp", "number", "number of stages that share the layers"},
    {"cp", "number", "number of ranks that share each sequence"},
    {"ep", "number",
     "number of ranks that share the experts, among those of cp and dp; dp is the number of GPUs "
     "divided by tp, pp and cp"},
    {"virtual", "number", "number of chunks of layers in each stage, with schedule: interleaved"},
    {"schedule", "one of 1f1b, interleaved, zero_bubble, dualpipe",
     "schedule of the pipeline; 1f1b by default, interleaved with `virtual`"},
    {"zero", "number",
     "what replicas shard: 0 nothing, 1 the optimizer, 2 gradients too, 3 parameters too"},
    {"micro_batches", "number", "micro-batches of a replica in a step; 1 by default"},
    {"micro_batch", "number", "number of sequences in a micro-batch; 1 by default"},
    {"sequence", "number", "tokens of a sequence; by default as the model was trained"},
    {"sequence_parallel", "yes or no",
     "ranks of tp gather and scatter instead of an all-reduce; yes by default"},
    {"recompute", "one of none, selective, full",
     "what is recomputed in the backward pass; selective by default"},
    {"order", "list of tp, cp, pp, dp",
     "which degree varies fastest from rank to rank; [tp, cp, pp, dp] by default"},
    {"overlap", "list of gradients, parameters, tensor, experts",
     "which communication is hidden behind computing; [gradients, parameters] by default"},
    {"context", "one of ring, all_gather",
     "how keys and values are passed on; ring by default, during the attention of the layer"},
    {"layers", "one of once, each",
     "once: a collective of tp, cp or ep is simulated once, alone, and takes the same time "
     "whenever it occurs; each: it is simulated whenever it occurs. once by default"},
    {"replicas", "one of once, each",
     "the same for communication between replicas: with once, two sizes are simulated, and others "
     "are interpolated; each by default"},
    {"experts", "one of all_to_all, deepep",
     "how tokens reach experts: as in NCCL, or once to each server and forwarded there; all_to_all "
     "by default"},
    {"servers_of_token", "number",
     "with deepep: largest number of servers that a token goes to; 4 by default"},
    {"hot", "number",
     "with deepep: by what factor an eighth of the experts is likelier than the others; 1 by "
     "default"},
    {"bucket", "number",
     "smallest number of parameters that replicas exchange at once; as in Megatron-Core"},
    {"efficiency", "number from 0 to 1",
     "part of the GPU's peak rate that a layer reaches; by default as fitted to published steps"},
    {"communication_sms", "number",
     "number of the GPU's processors that do not compute; 0 by default"},
    {"protocol", "one of auto, simple, ll, ll128, none",
     "protocol of the library; auto by default"},
    {"checkpoint", "map", "the checkpoint at the end of the step: see below"},
    {"data", "map", "what each GPU reads for the next step meanwhile: see below"},
    {"failures", "map", "the cost of failures in a month: see below"},
    {"optimizer_memory", "map",
     "keeps the optimizer's states in memory that GPUs share (gpus: {memory: 2}): see below"},
};

constexpr KnownKey kStoreKeys[] = {
    {"bytes", "size",
     "in `data`: bytes for each GPU; in `checkpoint`: bytes for each parameter, 14 by default"},
    {"mode", "one of blocking, asynchronous",
     "in `checkpoint`: blocking: it is written while the GPUs wait; asynchronous: it is copied to "
     "the host, and written during the next step. blocking by default"},
    {"targets", "hosts", "as in `storage`"},
    {"block", "size", "size of one command; 1MiB by default"},
    {"depth", "number", "outstanding commands of a GPU; 32 by default"},
    {"drives", "map", "as in `storage`"},
};

// A published failure rate of servers, per day.
struct PublishedRate {
    std::string_view name;
    uint64_t per_million_node_days;
    std::string_view source;
};
constexpr PublishedRate kPublishedRates[] = {
    {"rsc-1", 6500, "RSC-1, arXiv 2410.21680"},
    {"rsc-2", 2340, "RSC-2, arXiv 2410.21680"},
    // 419 stops of 2,048 servers in 54 days.
    {"llama3", 3790, "Llama 3, arXiv 2407.21783"},
};

constexpr KnownKey kFailureKeys[] = {
    {"per_node_day", "rsc-1, rsc-2, llama3, or a number from 0 to 1",
     "failures of a server in a day: published figures (0.0065 and 0.00234 in arXiv 2410.21680, "
     "0.00379 in arXiv 2407.21783) or your own"},
    {"restart", "duration", "time from a failure to the next step; 600s by default, chosen"},
    {"interval", "duration", "time from one checkpoint to the next; 3600s by default"},
    {"save", "duration", "time that a checkpoint blocks the job, without `checkpoint`"},
    {"servers", "number", "number of servers that may fail; those of the job by default"},
};

class TrainingReader : private KeyReader {
public:
    TrainingReader(const Value& map, const Gpus& gpus, Notes& notes)
        : KeyReader(map, notes), gpus_(gpus) {}

    TrainingEntry read(std::vector<uint32_t> ranks) {
        StepOptions& options = entry_.options;
        options.model = read_model(*this);
        options.engine = read_engine(*this);
        read_degrees(ranks);
        read_words();
        read_order();
        read_overlap();
        read_experts();
        read_stores();
        read_failures();
        if (notes_.failed()) return entry_;
        if (auto wrong = workload::check(options)) return fail(wrong->message);
        if (const Value* memory = map_.find("optimizer_memory"))
            options.layout.optimizer_is_elsewhere =
                notes_.expect_map(*memory, "optimizer_memory", memory_state_keys());
        if (auto wrong = check_memory(options.model, options.layout, options.engine.gpu))
            return fail(wrong->message);
        entry_.place.scale_up = gpus_.scale_up;
        entry_.place.machine = gpus_.machine;
        check_experts();
        return entry_;
    }

private:
    TrainingEntry fail(const std::string& sentence) {
        notes_.fail(map_.line, sentence);
        return entry_;
    }

    void read_degrees(std::vector<uint32_t>& ranks) {
        Layout& layout = entry_.options.layout;
        number(map_, "tp", layout.tensor, 1);
        number(map_, "pp", layout.pipeline, 1);
        number(map_, "cp", layout.context, 1);
        number(map_, "ep", layout.expert, 1);
        number(map_, "virtual", layout.chunks, 1);
        number(map_, "zero", layout.zero, 0, 3);
        number(map_, "micro_batches", layout.micro_batches, 1);
        number(map_, "micro_batch", layout.micro_batch, 1);
        layout.sequence = entry_.options.model.sequence;
        number(map_, "sequence", layout.sequence, 1, 1 << 27);
        number(map_, "bucket", entry_.options.bucket_parameters, 1, uint64_t{1} << 40);
        yes(map_, "sequence_parallel", layout.is_sequence_parallel);
        if (notes_.failed()) return;
        uint64_t count = ranks.size();
        const Value* gpus = map_.find("gpus");
        if (gpus != nullptr && map_.find("ranks") != nullptr)
            return notes_.fail(gpus->line, "gpus has no effect beside ranks; remove one");
        number(map_, "gpus", count, 1);
        if (count > ranks.size())
            return notes_.fail(gpus->line,
                               fmt::format("gpus: there are {}, not {}; take a larger topology",
                                           ranks.size(), count));
        ranks.resize(count);
        const uint64_t together = uint64_t{layout.tensor} * layout.pipeline * layout.context;
        if (count % together != 0)
            return notes_.fail(
                gpus != nullptr ? gpus->line : map_.line,
                fmt::format("{} GPUs are no multiple of tp x pp x cp, {}", count, together));
        layout.data = static_cast<uint32_t>(count / together);
        for (const uint32_t rank : ranks) entry_.place.members.push_back(gpus_.members[rank]);
    }

    void read_words() {
        StepOptions& options = entry_.options;
        if (options.layout.chunks > 1) options.schedule = PipelineSchedule::interleaved;
        std::vector<std::pair<std::string_view, PipelineSchedule>> schedules;
        for (const PipelineSchedule one :
             {PipelineSchedule::one_forward_one_backward, PipelineSchedule::interleaved,
              PipelineSchedule::zero_bubble, PipelineSchedule::dual})
            schedules.emplace_back(workload::name_of(one), one);
        word("schedule", schedules, options.schedule);
        options.layout.is_dual = options.schedule == PipelineSchedule::dual;
        options.layout.recompute = Recompute::selective;
        word("recompute",
             {{"none", Recompute::none},
              {"selective", Recompute::selective},
              {"full", Recompute::full}},
             options.layout.recompute);
        word("context", {{"ring", true}, {"all_gather", false}}, options.context_is_ring);
        word("layers", {{"once", true}, {"each", false}}, options.repeats);
        word("replicas", {{"once", true}, {"each", false}}, options.repeats_replicas);
        word("protocol",
             {{"auto", Protocol::automatic},
              {"simple", Protocol::simple},
              {"ll", Protocol::ll},
              {"ll128", Protocol::ll128},
              {"none", Protocol::bare}},
             entry_.place.protocol);
    }

    // The items of a list of known words; a duplicate is an error.
    std::vector<std::string> words(std::string_view key, const Value& list,
                                   const std::vector<std::string_view>& known) {
        std::vector<std::string> found;
        if (!notes_.expect_list(list, key)) return found;
        for (const Value& item : list.items) {
            const bool is_known =
                item.is_text() && std::ranges::find(known, item.text) != known.end();
            if (!is_known)
                notes_.fail(item.line, fmt::format("{}: {}", key, *detail::none_of(item, known)));
            else if (std::ranges::find(found, item.text) != found.end())
                notes_.fail(item.line, fmt::format("{}: {} is there twice", key, item.text));
            found.push_back(item.text);
        }
        return found;
    }

    void read_experts() {
        StepOptions& options = entry_.options;
        word("experts", {{"all_to_all", false}, {"deepep", true}}, options.uses_deepep);
        number(map_, "servers_of_token", options.most_servers, 1);
        number(map_, "hot", options.hot_times, 1, 1000);
        for (const std::string_view key : {"servers_of_token", "hot"})
            if (const Value* value = map_.find(key); value != nullptr && !options.uses_deepep)
                notes_.fail(
                    value->line,
                    fmt::format("{} has no effect here; it goes with experts: deepep", key));
        if (!options.uses_deepep) return;
        const uint32_t line = map_.find("experts")->line;
        if (options.layout.expert < 2)
            notes_.fail(line, "experts: deepep needs experts on several GPUs; write ep: 8");
        else if (!options.repeats)
            notes_.fail(line, "experts: deepep goes with layers: once");
    }

    // Ranks that share the experts must be able to forward tokens.
    void check_experts() {
        const StepOptions& options = entry_.options;
        if (!options.uses_deepep) return;
        const workload::Grid grid(options.layout, options.order);
        for (const std::vector<uint32_t>& columns : grid.expert_groups()) {
            std::vector<workload::Member> members;
            for (const uint32_t column : columns)
                members.push_back(entry_.place.members[grid.rank(0, column)]);
            if (auto wrong =
                    workload::check(expert_options(options),
                                    workload::Placement(std::move(members), gpus_.scale_up)))
                return notes_.fail(map_.find("experts")->line,
                                   fmt::format("experts: {}", wrong->message));
        }
    }

    void read_order() {
        const Value* list = map_.find("order");
        if (list == nullptr) return;
        const std::vector<std::string> order = words("order", *list, {"tp", "cp", "pp", "dp"});
        if (notes_.failed()) return;
        if (order.size() != workload::kAxes)
            return notes_.fail(list->line, "order: name all four, such as [tp, cp, pp, dp]");
        for (size_t i = 0; i < order.size(); ++i)
            for (const Axis axis : workload::kUsualOrder)
                if (workload::name_of(axis) == order[i]) entry_.options.order[i] = axis;
    }

    void read_stores() {
        const Value* checkpoint = map_.find("checkpoint");
        if (checkpoint != nullptr && notes_.expect_map(*checkpoint, "checkpoint", kStoreKeys)) {
            KeyReader reader(*checkpoint, notes_);
            uint64_t bytes = 14;
            reader.size("bytes", bytes);
            if (bytes > 1000)
                notes_.fail(checkpoint->line,
                            "checkpoint: bytes are those of a parameter, 1000 at most");
            entry_.options.checkpoint.bytes_per_parameter = static_cast<uint32_t>(bytes);
            reader.word("mode", {{"blocking", true}, {"asynchronous", false}},
                        entry_.options.checkpoint.is_blocking);
        }
        const Value* data = map_.find("data");
        if (data == nullptr || !notes_.expect_map(*data, "data", kStoreKeys)) return;
        if (data->find("bytes") == nullptr)
            notes_.fail(data->line, "data: the size is missing; write bytes: 64MiB");
        if (const Value* mode = data->find("mode"))
            notes_.fail(mode->line, "mode has no effect here; it goes with checkpoint");
        KeyReader(*data, notes_).size("bytes", entry_.options.data_bytes);
    }

    void read_failures() {
        const Value* value = map_.find("failures");
        if (value == nullptr || !notes_.expect_map(*value, "failures", kFailureKeys)) return;
        workload::Failures& failures = entry_.options.failures;
        failures.restart = base::Duration{600'000'000'000'000};
        failures.interval = base::Duration{3'600'000'000'000'000};
        KeyReader reader(*value, notes_);
        read_rate(*value, failures);
        reader.time("restart", failures.restart);
        reader.time("interval", failures.interval);
        reader.time("save", failures.save);
        std::set<uint32_t> servers;
        for (const workload::Member& member : entry_.place.members) servers.insert(member.server);
        failures.servers = static_cast<uint32_t>(servers.size());
        reader.number(*value, "servers", failures.servers, 1);
        if (!notes_.failed()) check_failures(*value);
    }

    void read_rate(const Value& map, workload::Failures& failures) {
        const Value* rate = map.find("per_node_day");
        if (rate == nullptr) return;
        for (const PublishedRate& known : kPublishedRates) {
            if (!rate->is_text() || rate->text != known.name) continue;
            failures.per_million_node_days = known.per_million_node_days;
            failures.source = known.source;
            return;
        }
        KeyReader(map, notes_)
            .field(
                "per_node_day", [](At<uint64_t> at) { return part64(std::move(at), 1'000'000); },
                failures.per_million_node_days);
    }

    void check_failures(const Value& value) {
        const workload::Failures& failures = entry_.options.failures;
        const bool has_checkpoint = map_.find("checkpoint") != nullptr;
        const Value* save = value.find("save");
        if (failures.per_million_node_days == 0)
            notes_.fail(value.line,
                        "failures: how often is missing; write per_node_day: rsc-1, or 0.0065");
        else if (failures.interval.ps <= 0)
            notes_.fail(value.line, "failures: interval is longer than 0");
        else if (has_checkpoint && save != nullptr)
            notes_.fail(save->line, "save has no effect beside checkpoint; remove one");
        else if (!has_checkpoint && save == nullptr)
            notes_.fail(value.line,
                        "failures: what a checkpoint blocks is missing; write checkpoint: {}, or "
                        "save: 10s");
    }

    void read_overlap() {
        const Value* list = map_.find("overlap");
        if (list == nullptr) return;
        const auto found =
            words("overlap", *list, {"gradients", "parameters", "tensor", "experts"});
        const auto has = [&](std::string_view what) {
            return std::ranges::find(found, what) != found.end();
        };
        StepOptions& options = entry_.options;
        options.overlaps_gradients = has("gradients");
        options.overlaps_parameters = has("parameters");
        options.overlaps_tensor = has("tensor");
        options.overlaps_experts = has("experts");
        for (const auto& [name, is_asked] :
             {std::pair{"tensor", options.overlaps_tensor}, {"experts", options.overlaps_experts}})
            if (is_asked && !options.repeats)
                notes_.fail(list->line, fmt::format("overlap: {} goes with layers: once", name));
    }

    const Gpus& gpus_;
    TrainingEntry entry_;
};

workload::Rehearsed time_of(const sim::Setup& setup) {
    auto built = sim::Simulation::build(setup, 1);
    if (!built) return base::Duration{};
    sim::Simulation& simulation = **built;
    sim::Course course(setup, simulation);
    for (; !course.is_over(); course.choose()) {
        simulation.advance(0, course.window());
        simulation.exchange(0);
    }
    base::Duration most{};
    const sim::Result result = simulation.finish(course.end());
    for (const sim::PhaseResult& phase : result.phases)
        most = std::max(most, phase.end - phase.begin);
    return {most, result.skipping.doubt};
}

// The networks of a setup, without its work.
sim::Setup idle(const sim::Setup& setup) {
    sim::Setup alone;
    alone.graph = setup.graph;
    alone.fabric = setup.fabric;
    alone.host = setup.host;
    alone.host_overrides = setup.host_overrides;
    alone.qos = setup.qos;
    alone.switches = setup.switches;
    alone.cable_errors = setup.cable_errors;
    alone.marking_of_rate = setup.marking_of_rate;
    alone.ranks = setup.ranks;
    alone.stand_ins = setup.stand_ins;
    alone.scale_up = setup.scale_up;
    alone.seed = setup.seed;
    for (sim::RankPlace& rank : alone.ranks) rank.compute_permille = rank.reaction_permille = 1000;
    return alone;
}

// A separate job whose messages have the service level and traffic class of another job.
workload::Job rehearsal_of(const workload::Job& job) {
    workload::Job alone{"rehearsal"};
    alone.service_level = job.service_level;
    alone.traffic_class = job.traffic_class;
    return alone;
}

// With --skip, a collective of many bytes is generated, and its repetitions are skipped. Nullopt if
// it has no closed form or is small. The limit is chosen: 64 ranks of 64 MiB.
std::optional<workload::Rehearsed> time_skipped(const sim::Setup& setup, const workload::Job& job,
                                                const std::vector<workload::Placement>& groups,
                                                const workload::CollectiveOptions& options) {
    constexpr uint64_t kManyBytes = uint64_t{4} << 30;
    uint64_t ranks = 0;
    for (const workload::Placement& group : groups) ranks += group.size();
    if (!setup.skips || ranks * options.bytes < kManyBytes) return std::nullopt;
    sim::Setup alone = idle(setup);
    alone.skips = true;
    alone.program.jobs.push_back(rehearsal_of(job));
    for (const workload::Placement& group : groups) {
        const auto placement = std::make_shared<const workload::Placement>(group);
        const auto schedule = workload::Schedule::make(options, placement);
        if (schedule == nullptr) return std::nullopt;
        workload::GeneratedJob(alone.program, 0, placement).append("rehearsal", schedule);
    }
    return time_of(alone);
}

// Hops and delays of the shortest ways between hosts, computed once for each switch that has hosts.
class Ways {
public:
    explicit Ways(const sim::Setup& setup) : setup_(setup), ports_(setup.graph) {
        const std::vector<uint32_t> nodes = setup.graph.endpoints();
        for (const sim::RankPlace& rank : setup.ranks) host_.push_back(nodes[rank.endpoint]);
    }

    uint64_t between(uint32_t from, uint32_t to) {
        const topology::Ports::Link& out = ports_.at({host_[from], 0});
        const topology::Ports::Link& in = ports_.at({host_[to], 0});
        const uint64_t ends = length_of(out) + length_of(in);
        if (setup_.graph.nodes[out.peer.node].is_host()) return ends;
        std::vector<uint64_t>& lengths = from_switch_[out.peer.node];
        if (lengths.empty()) lengths = lengths_from(out.peer.node);
        return ends + lengths[in.peer.node];
    }

private:
    static constexpr uint64_t kHop = uint64_t{1} << 48;

    uint64_t length_of(const topology::Ports::Link& link) const {
        return kHop + static_cast<uint64_t>(sim::cable_delay(setup_, link.cable).ps);
    }

    // Ways between switches, found level by level. Of several ways with equal hops, the one with
    // the least delay counts.
    std::vector<uint64_t> lengths_from(uint32_t first) const {
        constexpr uint64_t kFar = UINT64_MAX / 2;
        std::vector<uint64_t> lengths(setup_.graph.nodes.size(), kFar);
        lengths[first] = 0;
        std::vector<uint32_t> level{first};
        while (!level.empty()) {
            std::vector<uint32_t> next;
            for (const uint32_t node : level)
                for (const topology::Ports::Link& link : ports_.of(node)) {
                    const uint32_t peer = link.peer.node;
                    if (!link.is_cabled() || setup_.graph.nodes[peer].is_host()) continue;
                    if (lengths[peer] == kFar) next.push_back(peer);
                    if (lengths[peer] / kHop > lengths[node] / kHop)
                        lengths[peer] = std::min(lengths[peer], lengths[node] + length_of(link));
                }
            level = std::move(next);
        }
        return lengths;
    }

    const sim::Setup& setup_;
    const topology::Ports ports_;
    std::vector<uint32_t> host_;  // by rank
    std::map<uint32_t, std::vector<uint64_t>> from_switch_;
};

// The time of these groups on the networks of a setup that is otherwise idle.
template <class Append>
workload::Rehearsed time_of_groups(const sim::Setup& setup, const workload::Job& job,
                                   const std::vector<workload::Placement>& groups, Append append) {
    sim::Setup alone = idle(setup);
    for (const workload::Placement& group : groups) {
        workload::JobBuilder builder(alone.program, rehearsal_of(job), group);
        append(builder);
    }
    return time_of(alone);
}

}  // namespace

std::span<const KnownKey> training_keys() {
    return kKeys;
}

std::span<const KnownKey> training_store_keys() {
    return kStoreKeys;
}

std::span<const KnownKey> failure_keys() {
    return kFailureKeys;
}

TrainingEntry read_training(const Value& map, const Gpus& gpus, std::vector<uint32_t> ranks,
                            Notes& notes) {
    return TrainingReader(map, gpus, notes).read(std::move(ranks));
}

workload::Rehearse rehearsal(const sim::Setup& setup, const workload::Job& job) {
    return [&setup, job](const std::vector<workload::Placement>& groups,
                         const workload::CollectiveOptions& options) -> workload::Rehearsed {
        if (const auto time = time_skipped(setup, job, groups, options)) return *time;
        return time_of_groups(setup, job, groups, [&](workload::JobBuilder& builder) {
            workload::append(builder, "rehearsal", options);
        });
    };
}

std::function<uint64_t(uint32_t, uint32_t)> ways_between_ranks(const sim::Setup& setup) {
    const auto is_slow = [](const sim::RankPlace& rank) {
        return rank.compute_permille != 1000 || rank.reaction_permille != 1000;
    };
    if (std::ranges::any_of(setup.ranks, is_slow) || !setup.faults.empty() || !setup.qos.empty() ||
        !setup.host_overrides.empty() || !setup.switches.empty() || !setup.cable_errors.empty() ||
        setup.fabric.route.kind == fabric::RouteKind::spanning_tree)
        return nullptr;
    const auto ways = std::make_shared<Ways>(setup);
    return [ways](uint32_t from, uint32_t to) { return ways->between(from, to); };
}

base::Duration time_alone(const sim::Setup& setup, workload::Program program) {
    sim::Setup alone = idle(setup);
    alone.program = std::move(program);
    return time_of(alone).time;
}

workload::RehearseExperts rehearsal_of_experts(const sim::Setup& setup, const workload::Job& job) {
    return [&setup, job](const std::vector<workload::Placement>& groups,
                         const workload::ExpertOptions& options, bool comes_back) {
        return time_of_groups(setup, job, groups,
                              [&](workload::JobBuilder& builder) {
                                  const workload::ExpertRoutes routes(options, builder.placement());
                                  const auto append = comes_back ? workload::append_combine
                                                                 : workload::append_dispatch;
                                  append(builder, "rehearsal", options, routes);
                                  builder.end();
                              })
            .time;
    };
}

}  // namespace tulle::scenario
