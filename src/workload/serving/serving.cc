#include "workload/serving/serving.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/units.h"
#include "workload/collectives/tuning.h"
#include "workload/experts.h"

namespace tulle::workload {
namespace {

using base::Duration;
using base::uint128_t;

constexpr uint64_t kControlBytes = 64;  // chosen: size of a control message
constexpr uint64_t kTokenIdBytes = 4;
// The usable share of a GPU's memory; the default of vLLM.
constexpr uint64_t kUsableMemoryPermille = 900;

ServingCosts costs_of(const ServingOptions& options, const ServingGroup& group) {
    return {options.model, options.engine, options.memory_permille, options.weight_bytes,
            group.tensor,  group.expert,   options.kv_memory_rate};
}

uint64_t usable_memory(const ServingOptions& options) {
    return options.engine.gpu.memory_bytes / 1000 * kUsableMemoryPermille;
}

uint64_t kv_bytes_of_rank(const ServingCosts& costs) {
    return kv_bytes_per_token(costs.model) / kv_shards(costs.model, costs.tensor);
}

class ServingBuilder {
public:
    ServingBuilder(Program& program, const Job& job, const ServingOptions& options,
                   std::vector<Request> requests, const ServingPlace& place,
                   const Rehearse& rehearse)
        : program_(program),
          place_(place),
          rehearse_(rehearse),
          job_number_(static_cast<uint32_t>(program.jobs.size())),
          job_(std::make_shared<ServingJob>()) {
        job_->options = options;
        job_->requests = std::move(requests);
        program.jobs.push_back(job);
        program.jobs.back().serving = job_;
    }

    void build(const std::vector<ServingGroup>& groups) {
        for (const ServingGroup& group : groups) add_instances(group, groups.size() > 1);
        const auto& instances = job_->instances;
        if (groups.size() > 1)
            job_->transfers =
                kv_transfers(job_->options.model, instances[job_->of_prompts[0]].costs.tensor,
                             instances[job_->of_answers[0]].costs.tensor);
        job_->pieces = instances[job_->of_prompts[0]].pieces;
        job_->first_task = program_.size();
        add_requests();
        const uint32_t steps = add_phase("steps");
        for (ServingInstance& instance : job_->instances) add_step(instance, steps);
    }

private:
    void add_instances(const ServingGroup& group, bool is_separate) {
        const uint32_t size = group.gpus_of_instance();
        ServingInstance instance;
        instance.costs = costs_of(job_->options, group);
        instance.computes_prompts = group.computes_prompts;
        instance.makes_answers = group.makes_answers;
        const bool sends_layers =
            is_separate && group.computes_prompts && job_->options.kv_by_layer;
        instance.pieces = sends_layers ? job_->options.model.layers : 1;
        const uint64_t elsewhere = job_->options.kv_memory_bytes;
        const uint64_t room = elsewhere != 0
                                  ? elsewhere
                                  : usable_memory(job_->options) - parameter_bytes(instance.costs);
        instance.kv_room = room / kv_bytes_of_rank(instance.costs);
        for (size_t first = 0; first + size <= group.members.size(); first += size) {
            const auto begin = group.members.begin() + static_cast<int64_t>(first);
            instance.members.assign(begin, begin + size);
            if (first == 0) rehearse_all(instance);
            const auto number = static_cast<uint32_t>(job_->instances.size());
            if (group.computes_prompts) job_->of_prompts.push_back(number);
            if (group.makes_answers) job_->of_answers.push_back(number);
            job_->instances.push_back(instance);
        }
    }

    // The most tokens of a step.
    uint64_t most_tokens(const ServingInstance& instance) const {
        if (!instance.computes_prompts) return job_->options.most_sequences;
        uint64_t most = job_->options.step_tokens;
        if (!instance.makes_answers)
            for (const Request& request : job_->requests)
                most = std::max<uint64_t>(most, request.prompt);
        return most;
    }

    template <class Time>
    TokenTimes times(const ServingInstance& instance, Time time) const {
        TokenTimes found;
        const uint64_t most = most_tokens(instance);
        for (uint64_t tokens = 1; tokens < most; tokens *= 8)
            found.points.push_back({tokens, time(tokens)});
        found.points.push_back({most, time(most)});
        return found;
    }

    void rehearse_all(ServingInstance& instance) {
        const ServingCosts& costs = instance.costs;
        if (costs.tensor > 1)
            instance.sum = times(instance, [&](uint64_t tokens) {
                CollectiveOptions options;
                options.collective = Collective::all_reduce;
                options.algorithm = Algorithm::automatic;
                options.protocol = Protocol::automatic;
                options.bytes = 2 * tokens * costs.model.hidden;
                const std::vector<Placement> groups = tensors_of(instance);
                return rehearse_(groups, tune(options, groups.front(), place_.machine)).time;
            });
        if (costs.expert < 2) return;
        const auto exchange = [&](uint64_t bytes) {
            CollectiveOptions options;
            options.collective = Collective::all_to_all;
            options.algorithm = Algorithm::direct;
            options.peers = 0;
            options.bytes = bytes;
            const std::vector<Placement> all{Placement(instance.members, place_.scale_up)};
            return rehearse_(all, options).time;
        };
        const uint64_t copies = costs.model.experts_of_token;
        instance.dispatch = times(instance, [&](uint64_t tokens) {
            return exchange(tokens * copies * low_latency_dispatch_bytes(costs.model.hidden));
        });
        instance.combine = times(instance, [&](uint64_t tokens) {
            return exchange(tokens * copies * combine_bytes(costs.model.hidden));
        });
    }

    // One tensor group if all are inside servers; otherwise all, because they share the network.
    std::vector<Placement> tensors_of(const ServingInstance& instance) const {
        std::vector<Placement> groups;
        bool leaves = false;
        for (uint32_t i = 0; i < instance.replicas(); ++i) {
            const auto begin = instance.members.begin() + int64_t{i} * instance.costs.tensor;
            groups.emplace_back(std::vector<Member>(begin, begin + instance.costs.tensor),
                                place_.scale_up);
            leaves |= !place_.scale_up || groups.back().server_count() > 1;
        }
        if (!leaves) groups.erase(groups.begin() + 1, groups.end());
        return groups;
    }

    uint32_t add_phase(const std::string& name) {
        Phase phase;
        phase.name = name;
        phase.collective = Collective::compute;
        phase.job = job_number_;
        phase.purpose = Purpose::serving;
        for (const ServingInstance& instance : job_->instances) phase.ranks += instance.size();
        program_.phases.push_back(std::move(phase));
        return static_cast<uint32_t>(program_.phases.size() - 1);
    }

    uint32_t add_compute(const Member& at, uint32_t phase, uint8_t mark, Duration duration,
                         std::span<const uint32_t> needs) {
        Task task;
        task.kind = Task::Kind::compute;
        task.rank = task.peer = at.rank;
        task.phase = phase;
        task.duration = duration;
        task.mark = mark;
        return program_.add(task, needs);
    }

    uint32_t add_send(const Member& from, const Member& to, uint32_t phase, uint8_t mark,
                      uint64_t bytes, std::span<const uint32_t> needs, uint16_t channel = 0) {
        Task task;
        task.rank = from.rank;
        task.peer = to.rank;
        task.tier = tier_between(from, to, place_.scale_up);
        task.channel = static_cast<uint16_t>(place_.first_channel + channel);
        task.phase = phase;
        task.bytes = bytes;
        task.mark = mark;
        return program_.add(task, needs);
    }

    void add_requests() {
        const auto count = static_cast<uint32_t>(job_->requests.size());
        const uint32_t phase = add_phase("requests");
        job_->first_arrival = program_.size();
        for (uint32_t i = 0; i < count; ++i)
            add_compute(answering(i).members[0], phase, Task::kReported, job_->requests[i].arrival,
                        {});
        if (job_->is_separate()) {
            job_->first_ask = program_.size();
            for (uint32_t i = 0; i < count; ++i)
                add_send(answering(i).members[0], prompting(i).members[0], phase,
                         Task::kGated | Task::kReported,
                         kControlBytes + kTokenIdBytes * job_->requests[i].prompt, {}, 1);
            add_caches(count);
        }
        job_->first_finished = program_.size();
        for (uint32_t i = 0; i < count; ++i)
            add_compute(answering(i).members[0], phase, Task::kGated, {}, {});
    }

    // Each receiver of a part of a cache tells the scheduler, which waits for all parts.
    void add_caches(uint32_t count) {
        const uint32_t phase = add_phase("KV cache");
        job_->first_kv = program_.size();
        for (uint32_t i = 0; i < count; ++i)
            for (uint32_t piece = 0; piece < job_->pieces; ++piece)
                for (size_t k = 0; k < job_->transfers.size(); ++k)
                    add_send(prompt_member(i, job_->transfers[k].from),
                             answer_member(i, job_->transfers[k].to), phase, Task::kGated,
                             job_->kv_bytes(i, k), {});
        std::vector<std::vector<uint32_t>> told(count);
        for (uint32_t i = 0; i < count; ++i) told[i] = add_receipts(i, phase);
        job_->first_ready = program_.size();
        for (uint32_t i = 0; i < count; ++i)
            add_compute(answering(i).members[0], phase, Task::kReported, {}, told[i]);
    }

    std::vector<uint32_t> add_receipts(uint32_t request, uint32_t phase) {
        const Member& scheduler = answering(request).members[0];
        std::vector<uint32_t> told;
        for (uint32_t to = 0; to < answering(request).costs.tensor; ++to) {
            std::vector<uint32_t> parts;
            for (uint32_t piece = 0; piece < job_->pieces; ++piece)
                for (size_t k = 0; k < job_->transfers.size(); ++k)
                    if (job_->transfers[k].to == to)
                        parts.push_back(job_->kv_task(request, piece, k));
            const Member& member = answer_member(request, to);
            if (member.rank == scheduler.rank)
                told.insert(told.end(), parts.begin(), parts.end());
            else
                told.push_back(add_send(member, scheduler, phase, 0, kControlBytes, parts, 1));
        }
        return told;
    }

    void add_step(ServingInstance& instance, uint32_t phase) {
        constexpr uint8_t kMark = Task::kGated | Task::kReported | Task::kRecycled;
        const Member& first = instance.members[0];
        instance.first_go = program_.size();
        for (uint32_t i = 1; i < instance.size(); ++i)
            add_send(first, instance.members[i], phase, kMark, kControlBytes, {}, 1);
        instance.first_computing = program_.size();
        for (const Member& member : instance.members)
            for (uint32_t piece = 0; piece < instance.pieces; ++piece)
                add_compute(member, phase, kMark, {}, {});
        instance.first_saying = program_.size();
        Task saying;
        saying.kind = Task::Kind::compute;
        saying.phase = phase;
        saying.mark = kMark;
        saying.is_launch = true;
        for (const Member& member : instance.members)
            for (uint32_t piece = 0; piece < instance.pieces; ++piece) {
                saying.rank = saying.peer = member.rank;
                program_.add(saying, {});
            }
        instance.first_done = program_.size();
        for (uint32_t i = 1; i < instance.size(); ++i)
            add_send(instance.members[i], first, phase, kMark, kControlBytes, {}, 1);
    }

    const ServingInstance& answering(uint32_t request) const {
        return job_->instances[job_->answer_instance(request)];
    }
    const ServingInstance& prompting(uint32_t request) const {
        return job_->instances[job_->prompt_instance(request)];
    }
    const Member& prompt_member(uint32_t request, uint32_t place) const {
        const ServingInstance& its = prompting(request);
        return its.members[job_->prompt_replica(request) * its.costs.tensor + place];
    }
    const Member& answer_member(uint32_t request, uint32_t place) const {
        const ServingInstance& its = answering(request);
        return its.members[job_->answer_replica(request) * its.costs.tensor + place];
    }

    Program& program_;
    const ServingPlace& place_;
    const Rehearse& rehearse_;
    uint32_t job_number_;
    std::shared_ptr<ServingJob> job_;
};

}  // namespace

Duration TokenTimes::at(uint64_t tokens) const {
    if (points.empty() || tokens == 0) return {};
    if (points.size() == 1) return points.front().time;
    size_t i = 1;
    while (i + 1 < points.size() && points[i].tokens < tokens) ++i;
    const Point& low = points[i - 1];
    const Point& high = points[i];
    const auto over = static_cast<int64_t>(tokens) - static_cast<int64_t>(low.tokens);
    const auto width = static_cast<int64_t>(high.tokens - low.tokens);
    return {low.time.ps + (high.time - low.time).ps * over / width};
}

std::vector<KvTransfer> kv_transfers(const Model& model, uint32_t from_tensor, uint32_t to_tensor) {
    const uint32_t from_shards = kv_shards(model, from_tensor);
    const uint32_t to_shards = kv_shards(model, to_tensor);
    const uint32_t heads = model.kv_rank != 0 ? 1 : model.kv_heads;
    const uint64_t bytes_of_head = kv_bytes_of_layer(model) / heads;
    const uint32_t copies = from_tensor / from_shards;
    std::vector<KvTransfer> found;
    for (uint32_t to = 0; to < to_tensor; ++to) {
        const uint32_t wanted = to / (to_tensor / to_shards);
        for (uint32_t shard = 0; shard < from_shards; ++shard) {
            const uint32_t begin =
                std::max(wanted * (heads / to_shards), shard * (heads / from_shards));
            const uint32_t end =
                std::min((wanted + 1) * (heads / to_shards), (shard + 1) * (heads / from_shards));
            if (begin >= end) continue;
            found.push_back({shard * copies + to % copies, to, bytes_of_head * (end - begin)});
        }
    }
    std::ranges::stable_sort(found, {}, &KvTransfer::from);
    return found;
}

uint32_t ServingJob::prompt_replica(uint32_t request) const {
    const auto turn = static_cast<uint32_t>(request / of_prompts.size());
    return turn % instances[prompt_instance(request)].replicas();
}

uint32_t ServingJob::answer_replica(uint32_t request) const {
    const auto turn = static_cast<uint32_t>(request / of_answers.size());
    return turn % instances[answer_instance(request)].replicas();
}

uint64_t ServingJob::kv_bytes(uint32_t request, size_t transfer) const {
    return requests[request].prompt * transfers[transfer].bytes * options.model.layers / pieces;
}

std::optional<base::Error> check(const ServingOptions& options, const ServingGroup& group,
                                 const std::vector<Request>& requests) {
    const Model& model = options.model;
    const auto fail = [](std::string sentence) { return base::Error{std::move(sentence)}; };
    if (model.heads % group.tensor != 0)
        return fail(fmt::format("tp: {} heads are not shared out evenly among {} ranks",
                                model.heads, group.tensor));
    if (group.expert > 1 && model.experts == 0)
        return fail(fmt::format("ep: {} has no experts; leave it out", model.name));
    if (group.expert > 1 && (group.expert % group.tensor != 0 || model.experts % group.expert != 0))
        return fail(
            fmt::format("ep: {} ranks are no multiple of tp, or do not share {} experts "
                        "evenly",
                        group.expert, model.experts));
    if (group.members.size() % group.gpus_of_instance() != 0 || group.members.empty())
        return fail(fmt::format("{} GPUs are no multiple of those of an instance, {}",
                                group.members.size(), group.gpus_of_instance()));
    const ServingCosts costs = costs_of(options, group);
    const uint64_t weights = parameter_bytes(costs);
    const uint64_t usable = usable_memory(options);
    if (weights >= usable)
        return fail(
            fmt::format("{} does not fit: {} of parameters on each GPU, of {} that may be "
                        "used (90 % of its memory); take more tp or ep",
                        model.name, base::bytes_to_string(weights), base::bytes_to_string(usable)));
    uint64_t longest = 0;
    for (const Request& one : requests)
        longest = std::max<uint64_t>(longest, uint64_t{one.prompt} + one.output);
    if (group.makes_answers && longest > (usable - weights) / kv_bytes_of_rank(costs))
        return fail(
            fmt::format("a request of {} tokens does not fit: there is room for the KV "
                        "cache of {} beside the parameters; take more tp",
                        longest, (usable - weights) / kv_bytes_of_rank(costs)));
    return std::nullopt;
}

uint64_t most_tasks(const ServingOptions& options, const std::vector<ServingGroup>& groups,
                    const std::vector<Request>& requests) {
    uint64_t of_request = 3;
    uint64_t of_steps = 0;
    const uint64_t pieces = groups.size() > 1 && options.kv_by_layer ? options.model.layers : 1;
    for (const ServingGroup& group : groups) of_steps += group.members.size() * (2 * pieces + 2);
    if (groups.size() > 1)
        of_request +=
            groups[1].tensor +
            pieces * kv_transfers(options.model, groups[0].tensor, groups[1].tensor).size();
    return requests.size() * of_request + of_steps;
}

void append_serving(Program& program, const Job& job, const ServingOptions& options,
                    const std::vector<ServingGroup>& groups, std::vector<Request> requests,
                    const ServingPlace& place, const Rehearse& rehearse) {
    TULLE_CHECK(groups.size() == 1 || groups.size() == 2);
    for (const ServingGroup& group : groups) TULLE_CHECK(!check(options, group, requests));
    ServingBuilder(program, job, options, std::move(requests), place, rehearse).build(groups);
}

}  // namespace tulle::workload
