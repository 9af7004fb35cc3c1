#include "sim/ranks.h"

#include <algorithm>

#include "workload/serving/run.h"

namespace tulle::sim {

using workload::Task;
using workload::Tier;

namespace {

constexpr uint32_t kNone = topology::kNone;

// A job that decides while it runs chooses its order itself.
bool is_in_order_of_sums(const Task& task) {
    return task.is_part_of_sum() && task.mark == 0;
}

bool is_meeting_point(const Task& task) {
    return task.kind == Task::Kind::compute && task.duration.ps == 0 && !task.is_gated();
}

// When the next link begins that is no meeting point. Generated programs have none; so they are
// watched as stored ones are.
Instant next_begin(const workload::Program& program, const std::vector<ChainLink>& chain,
                   size_t place) {
    for (const ChainLink& link : std::span(chain).subspan(place + 1)) {
        const bool is_stored = link.is_task && link.id < workload::Program::kFirstGenerated;
        if (!is_stored || !is_meeting_point(program[static_cast<uint32_t>(link.id)]))
            return link.begin;
    }
    return Instant::never();
}

}  // namespace

Ranks::Ranks(const Setup& setup)
    : stored(connect_stored(setup)),
      ground_(setup),
      setup_(setup),
      program_(setup.program),
      waiting_(program_.size()),
      last_need_(program_.size(), kNone),
      at_(program_.size()),
      task_count_(program_.task_count()),
      streams_(ground_) {
    for (uint32_t job = 0; job < program_.jobs.size(); ++job) {
        if (!program_.jobs[job].serving) continue;
        deciding_.resize(program_.jobs.size());
        amounts_.resize(program_.size());
        deciding_[job] = std::make_unique<workload::ServingRun>(program_, job);
    }
    const auto& tasks = program_.tasks();
    if (std::ranges::any_of(tasks, &Task::is_part_of_sum)) completed_by_.resize(program_.size());
    find_dependants();
    find_ranks();
    devices_.resize(stored.devices);
    for (size_t tier = 0; tier < kTiers; ++tier)
        turns_[tier].resize(stored.connections[tier].size());
    order_sums();
}

Ranks::~Ranks() = default;

void Ranks::find_dependants() {
    first_dependant_.assign(program_.size() + 1, 0);
    for (uint32_t task = 0; task < program_.size(); ++task)
        for (const uint32_t need : program_.needs(task)) ++first_dependant_[need + 1];
    for (uint32_t task = 0; task < program_.size(); ++task)
        first_dependant_[task + 1] += first_dependant_[task];
    dependants_.resize(program_.need_count());
    std::vector<uint32_t> next(first_dependant_.begin(), first_dependant_.end() - 1);
    for (uint32_t task = 0; task < program_.size(); ++task) {
        waiting_[task] = static_cast<uint32_t>(program_.needs(task).size());
        at_[task] = program_.jobs[program_.phases[program_[task].phase].job].start;
        for (const uint32_t need : program_.needs(task)) dependants_[next[need]++] = task;
    }
}

void Ranks::find_ranks() {
    for (uint32_t rank = 0; rank < setup_.ranks.size(); ++rank) {
        const uint32_t port = setup_.ranks[rank].scale_up;
        if (port == kNone) continue;
        if (port >= rank_inside_.size()) rank_inside_.resize(port + 1, kNone);
        rank_inside_[port] = rank;
    }
}

void Ranks::order_sums() {
    for (uint32_t i = 0; i < program_.size(); ++i) {
        if (!is_in_order_of_sums(program_[i])) continue;
        const size_t tier = index_of(program_[i].tier);
        sums_[tier].resize(stored.connections[tier].size());
        sums_[tier][stored.of_task[i]].add(i);
    }
}

void Ranks::begin(std::array<Network*, kTiers> networks, const std::vector<ChainLink>& chain) {
    ground_.networks = networks;
    watch(chain);
    ground_.parts.resize(networks[0]->partitions());
    for (RankPart& part : ground_.parts) {
        part.phases.resize(program_.phases.size());
        for (PhaseResult& phase : part.phases) phase.begin = Instant::never();
        part.done.resize(program_.phases.size());
    }
    for (uint32_t task = 0; task < program_.size(); ++task) {
        if (!program_.needs(task).empty() || program_[task].is_gated()) continue;
        start(ground_.parts[ground_.part_of(program_[task].rank)], task, at_[task]);
    }
    streams_.begin(chain);
}

void Ranks::advance(size_t partition, Instant until) {
    RankPart& part = ground_.parts[partition];
    part.until = until;
    streams_.clear_announcements(partition);
    take_sightings(partition);
    while (!part.later.empty() && part.later.front().at < until) {
        const RankEvent event = part.pop();
        event.is_generated() ? streams_.see(partition, event) : see(part, event);
    }
}

void Ranks::take_sightings(size_t partition) {
    RankPart& part = ground_.parts[partition];
    for (size_t tier = 0; tier < kTiers; ++tier) {
        if (ground_.networks[tier] == nullptr) continue;
        std::vector<cluster::Sighting>& seen =
            ground_.networks[tier]->partition(partition).ends.tasks;
        for (const cluster::Sighting& sighting : seen) take_sighting(partition, tier, sighting);
        seen.clear();
    }
    // Copies are made in the order of arrival, whichever network and host was examined first.
    std::ranges::sort(part.events,
                      [](const RankEvent& a, const RankEvent& b) { return is_later(b, a); });
    for (RankEvent& event : part.events) {
        uint64_t bytes = 0;
        if (is_copied(partition, event, bytes))
            event.at = ground_.copy(part, ground_.copies[event.rank].in_free, event.at, bytes);
        part.push(event);
    }
    part.events.clear();
}

// Whether an arrived message is copied from the host into its GPU, and how many bytes.
bool Ranks::is_copied(size_t partition, const RankEvent& event, uint64_t& bytes) const {
    if (!event.has_arrived || !setup_.host.staging.is_on) return false;
    Tier tier = Tier::scale_out;
    if (event.is_generated()) {
        const Flight& flight = streams_.flight_of(partition, event);
        std::tie(tier, bytes) = std::tie(flight.tier, flight.bytes);
    } else {
        const Task& task = program_[event.stored()];
        tier = task.tier;
        bytes = bytes_of(event.stored());
    }
    return tier == Tier::scale_out;
}

void Ranks::take_sighting(size_t partition, size_t tier, const cluster::Sighting& sighting) {
    if ((sighting.task & kGeneratedBit) != 0) return streams_.take(partition, sighting);
    RankPart& part = ground_.parts[partition];
    if (sighting.status != transport::Status::success) {
        const Task& task = program_[sighting.task];
        if (!sighting.has_arrived)
            part.failed.push_back({sighting.task, task.rank, task.peer, task.phase});
        return;
    }
    // The contribution that completed a sum stands for it on the wire.
    const Task& seen = program_[sighting.task];
    const bool is_sum = sighting.has_arrived && seen.is_part_of_sum();
    part.events.push_back({sighting.at, is_sum ? seen.reduction : sighting.task,
                           rank_seeing(tier, sighting), sighting.task, sighting.has_arrived});
}

// The rank that sees an event. Ranks may share an adapter; there the message names its rank. Inside
// servers a message may be for many ranks, each with its own port.
uint32_t Ranks::rank_seeing(size_t tier, const cluster::Sighting& sighting) const {
    if (tier == index_of(Tier::scale_up)) return rank_inside_[sighting.endpoint];
    const Task& task = program_[sighting.task];
    if (sighting.has_arrived && task.kind == Task::Kind::sum_for_all) {
        const uint32_t group = stored.connections[tier][stored.of_task[sighting.task]].group;
        return stored.rank_in_group.at({group, sighting.endpoint});
    }
    return sighting.has_arrived ? task.peer : task.rank;
}

void Ranks::see(RankPart& part, const RankEvent& event) {
    const uint32_t number = event.stored();
    const Task& task = program_[number];
    if (event.has_arrived) {
        const Duration latency = event.at - at_[number];
        part.latency[index_of(task.tier)].record(static_cast<uint64_t>(latency.ps));
    }
    note_end(part, event);
    if (!event.has_arrived && comes_back(number)) return;
    for (uint32_t i = first_dependant_[number]; i < first_dependant_[number + 1]; ++i) {
        const uint32_t next = dependants_[i];
        if (program_[next].rank != event.rank) continue;
        if (event.at >= at_[next]) {
            at_[next] = event.at;
            last_need_[next] = number;
            if (!completed_by_.empty()) completed_by_[next] = event.flight;
        }
        if (--waiting_[next] == 0) start(part, next, at_[next]);
    }
    if (task.is_reported()) decide(part, event);
}

// Tells the job of a task what its rank has seen, and begins the tasks that the job names.
void Ranks::decide(RankPart& part, const RankEvent& event) {
    if (!is_end(event)) return;
    const uint32_t job = program_.phases[program_[event.stored()].phase].job;
    part.releases.clear();
    deciding_[job]->see(event.stored(), event.at, part.releases);
    for (const auto& [task, amount] : part.releases) {
        TULLE_CHECK(program_[task].rank == event.rank && program_[task].is_gated());
        amounts_[task] = amount;
        at_[task] = event.at;
        start(part, task, event.at);
    }
}

// Whether the sender also receives the message. It is seen once, when it has arrived.
bool Ranks::comes_back(uint32_t number) const {
    const Task& task = program_[number];
    const bool is_own_sum =
        task.kind == Task::Kind::contribute && task.reduction == number && task.rank == task.peer;
    return is_own_sum || task.kind == Task::Kind::multicast || task.kind == Task::Kind::sum_for_all;
}

// A message has ended once it has arrived, even if its sender does not know yet. At a computing
// switch many tasks make one arrival, or one task makes many.
bool Ranks::is_end(const RankEvent& event) const {
    const Task& task = program_[event.stored()];
    switch (task.kind) {
        case Task::Kind::read:
        case Task::Kind::compute: return true;
        case Task::Kind::send: return event.has_arrived;
        case Task::Kind::contribute: return event.has_arrived == (task.reduction == event.task);
        case Task::Kind::multicast: return event.has_arrived && event.rank == task.rank;
        case Task::Kind::sum_for_all:
            return task.reduction == event.task ? event.has_arrived && event.rank == task.rank
                                                : !event.has_arrived;
    }
    return false;
}

void Ranks::note_end(RankPart& part, const RankEvent& event) {
    const bool is_end_of_task = is_end(event);
    const Task& task = program_[event.stored()];
    if (is_end_of_task && !task.is_recycled()) part.count_end(task.phase);
    if (!is_end_of_task && !event.has_arrived) return;
    if (is_meeting_point(task)) return;
    part.note_end(task.phase, event);
}

void Ranks::start(RankPart& part, uint32_t number, Instant at) {
    const Task& task = program_[number];
    if (const auto found = ready_.find(number); found != ready_.end()) found->second = at;
    part.begin_phase(task.phase, at);
    if (is_in_order_of_sums(task))
        return sums_[index_of(task.tier)][stored.of_task[number]].ready(
            number, [&](uint32_t next) { post(part, next, at); });
    if (task.kind != Task::Kind::compute) return post(part, number, at);
    Instant end = at + computing_of(number);
    if (task.is_in_turn) {
        Instant& free = devices_[stored.of_task[number]];
        if (const auto found = queued_.find(number); found != queued_.end() && free > at)
            found->second = free - at;
        free = end = std::max(at, free) + computing_of(number);
    }
    part.push({end, number, task.rank, 0, false});
}

Duration Ranks::computing_of(uint32_t number) const {
    const Task& task = program_[number];
    const Duration duration =
        task.is_gated() ? Duration{static_cast<int64_t>(amounts_[number])} : task.duration;
    const RankPlace& place = setup_.ranks[task.rank];
    const uint32_t permille = task.is_launch ? place.reaction_permille : place.compute_permille;
    return duration * permille / 1000;
}

// The time of software from the end of a message's wait to its doorbell.
Duration Ranks::software_of(const Task& task) const {
    const Duration usual = task.duration.ps > 0 ? task.duration : ground_.host(task.tier).reaction;
    return usual * setup_.ranks[task.rank].reaction_permille / 1000;
}

void Ranks::post(RankPart& part, uint32_t number, Instant at) {
    const Task& task = program_[number];
    const HostSettings& host = ground_.host(task.tier);
    const bool is_read = task.kind == Task::Kind::read;
    if (task.tier == Tier::scale_out && host.staging.is_on && !is_read)
        at = ground_.copy(part, ground_.copies[task.rank].out_free, at, bytes_of(number));
    Instant& turn = turns_[index_of(task.tier)][stored.of_task[number]];
    if (task.is_in_turn) at = std::max(at, turn);
    at += software_of(task);
    turn = at;
    at_[number] = at;
    ++part.phases[task.phase].messages;
    const Connection& connection = stored.connections[index_of(task.tier)][stored.of_task[number]];
    ground_.networks[index_of(task.tier)]->post(
        connection.source,
        {.at = at,
         .id = number,
         .qpn = connection.qpn,
         .work = is_read ? transport::Work::read : transport::Work::write_with_immediate,
         .is_task = true,
         .bytes = bytes_of(number),
         .lkey = connection.lkey,
         .rkey = connection.rkey});
}

Instant Ranks::next_at() const {
    Instant first = Instant::never();
    for (const RankPart& part : ground_.parts)
        if (!part.later.empty()) first = std::min(first, part.later.front().at);
    return first;
}

bool Ranks::is_done() const {
    return tasks_done() >= task_count_;
}

uint64_t Ranks::tasks_done() const {
    uint64_t done = 0;
    for (const RankPart& part : ground_.parts) done += part.all_done;
    return done;
}

void Ranks::finish(Result& result, Result* scale_up) const {
    std::vector<uint64_t> tasks(program_.phases.size());
    for (const Task& task : program_.tasks()) tasks[task.phase] += task.is_recycled() ? 0 : 1;
    for (const workload::GeneratedPhase& phase : program_.generated)
        tasks[phase.phase] += phase.tasks;
    result.phases.resize(program_.phases.size());
    for (size_t i = 0; i < result.phases.size(); ++i) {
        PhaseResult& phase = result.phases[i];
        phase.begin = Instant::never();
        uint64_t done = 0;
        for (const RankPart& part : ground_.parts) {
            phase.begin = std::min(phase.begin, part.phases[i].begin);
            phase.end = std::max(phase.end, part.phases[i].end);
            phase.messages += part.phases[i].messages;
            done += part.done[i];
        }
        phase.finished = done == tasks[i];
        if (phase.finished)
            phase.end = std::max(phase.end, phase.begin);  // a phase of meeting points only
        result.time = std::max(result.time, phase.end);
    }
    const auto is_followed = [](const workload::Job& job) {
        return job.training != nullptr || job.trace != nullptr;
    };
    if (std::ranges::any_of(program_.jobs, is_followed))
        for (uint32_t task = 0; task < program_.size(); ++task)
            result.tasks.push_back({at_[task], last_need_[task]});
    result.skipping = streams_.skipping();
    result.skipping.doubt +=
        (result.time - Instant{}) / 1'000 * setup_.stand_ins.doubt_per_million / 1'000;
    for (const auto& run : deciding_)
        if (run) result.serving.push_back(run->outcome());
    for (const RankPart& part : ground_.parts) {
        result.message_latency.merge(part.latency[index_of(Tier::scale_out)]);
        if (scale_up != nullptr)
            scale_up->message_latency.merge(part.latency[index_of(Tier::scale_up)]);
        result.cpu += part.cpu;
    }
}

size_t Ranks::part_of_last() const {
    size_t partition = 0;
    for (size_t p = 1; p < ground_.parts.size(); ++p)  // ties: same for any number of partitions
        if (is_later(ground_.parts[p].last, ground_.parts[partition].last)) partition = p;
    return partition;
}

// Tasks that begin many times remember only the last time, so they make no chain.
std::vector<ChainLink> Ranks::chain() const {
    if (!deciding_.empty()) return {};
    const size_t partition = part_of_last();
    const RankEvent& last = ground_.parts[partition].last;
    if (last.at.ps == 0) return {};
    return last.is_generated() ? streams_.chain(partition, last.has_arrived) : chain_to(last);
}

std::vector<ChainLink> Ranks::chain_to(const RankEvent& last) const {
    std::vector<ChainLink> links;
    uint32_t task = last.stored();
    uint32_t completed_by = last.flight;  // if it is a sum
    bool arrives = last.has_arrived;
    for (;;) {
        if (arrives && program_[task].is_part_of_sum()) task = completed_by;
        links.push_back({task, true, arrives, at_[task]});
        const uint32_t need = last_need_[task];
        if (need == kNone) break;
        const bool is_own = program_[need].rank == program_[task].rank;
        arrives = program_[need].kind != Task::Kind::compute &&
                  program_[need].kind != Task::Kind::read && (!is_own || comes_back(need));
        if (!completed_by_.empty()) completed_by = completed_by_[task];
        task = need;
    }
    std::ranges::reverse(links);
    return links;
}

void Ranks::watch(const std::vector<ChainLink>& chain) {
    for (size_t i = 0; i < chain.size(); ++i) {
        const ChainLink& link = chain[i];
        if (!link.is_task || link.id >= workload::Program::kFirstGenerated) continue;
        ready_.try_emplace(link.id);
        const auto number = static_cast<uint32_t>(link.id);
        const Task& task = program_[number];
        if (task.kind == Task::Kind::compute) {
            if (task.is_in_turn) queued_.try_emplace(link.id);
            continue;
        }
        watch_message(number);
        const uint32_t its = stored.of_task[number];
        const size_t tier = index_of(task.tier);
        const Connection& connection = stored.connections[tier][its];
        ground_.networks[tier]->watch(connection.source, connection.qpn,
                                      {link.begin, next_begin(program_, chain, i)});
    }
}

ChainTask Ranks::task_of(const ChainLink& link) const {
    if (link.id >= workload::Program::kFirstGenerated) return streams_.task_of(link);
    const Task& its = program_[static_cast<uint32_t>(link.id)];
    ChainTask task;
    task.rank = its.rank;
    task.ready = ready_.at(link.id);
    task.computes = its.kind == Task::Kind::compute;
    task.is_launch = its.is_launch;
    if (task.computes) task.computing = computing_of(static_cast<uint32_t>(link.id));
    if (const auto queued = queued_.find(link.id); queued != queued_.end())
        task.computing += queued->second;
    task.tier = its.tier;
    task.id = static_cast<uint32_t>(link.id);
    return task;
}

// Any member may be the one that sees a sum or a copy of a switch.
void Ranks::watch_message(uint32_t number) {
    const Task& task = program_[number];
    const Connection& connection = stored.connections[index_of(task.tier)][stored.of_task[number]];
    Network& network = *ground_.networks[index_of(task.tier)];
    network.want(connection.source, number, true);
    if (connection.group == kNone) return network.want(connection.destination, number, true);
    for (const uint32_t member : stored.groups[index_of(task.tier)][connection.group].members)
        network.want(member, number, true);
}

std::string Ranks::why_unfinished() const {
    const RankFailure* first = nullptr;
    uint64_t count = 0;
    for (const RankPart& part : ground_.parts)
        for (const RankFailure& failure : part.failed) {
            if (first == nullptr || failure.task < first->task) first = &failure;
            ++count;
        }
    if (count == 0) return "";
    return std::to_string(count) + " messages failed, one of them from rank " +
           std::to_string(first->rank) + " to rank " + std::to_string(first->peer) + " in " +
           program_.phases[first->phase].name;
}

}  // namespace tulle::sim
