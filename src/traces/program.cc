#include "traces/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <queue>
#include <tuple>

#include "base/check.h"
#include "traces/matching.h"
#include "workload/collectives/tuning.h"
#include "workload/trace_job.h"

namespace tulle::traces {
namespace {

using base::Duration;
using base::Error;
using workload::kNoTask;
using workload::Task;
using workload::Tier;

// As many as a training step gives to one kind of group (workload/training/teams.cc).
constexpr uint32_t kChannelsOfGroups = 300;
constexpr uint32_t kMostChannels = 0xffff;
constexpr uint32_t kLanes = 2;
// The latest start time when nodes are ordered.
constexpr int64_t kFar = INT64_MAX / 2;

// A node or a meeting that is ready to begin.
struct Ready {
    int64_t at = 0;  // time on an infinitely fast network
    bool is_meeting = false;
    uint32_t rank = 0;
    uint32_t node = 0;  // or meeting

    auto key() const { return std::tuple(at, is_meeting, rank, node); }
    bool operator>(const Ready& other) const { return key() > other.key(); }
};

// The state of a rank's nodes while tasks are made.
struct RankState {
    std::vector<uint32_t> waits;  // number of things a node still waits for
    Followers followers;
    std::vector<uint32_t> task;  // ends when the node is done; kNoTask: nothing to wait for
    std::vector<int64_t> end;    // on an infinitely fast network; -1: not yet
    std::array<uint32_t, kLanes> last_task{kNoTask, kNoTask};
    std::array<int64_t, kLanes> last_end{};
};

struct Communicator {
    workload::JobBuilder builder;
    std::vector<uint32_t> member_of;  // by index in Group::ranks: index in the builder's placement
    std::vector<uint32_t> last_task;  // by index in Group::ranks
    std::map<std::pair<workload::Collective, uint64_t>, workload::CollectiveOptions> tuned;
};

class TraceBuilder {
public:
    TraceBuilder(workload::Program& program, const workload::Job& job, const Trace& trace,
                 const TracePlace& place)
        : program_(program),
          trace_(trace),
          place_(place),
          job_(static_cast<uint32_t>(program.jobs.size())),
          remembered_(std::make_shared<workload::TraceJob>()) {
        program.jobs.push_back(job);
        program.jobs.back().trace = remembered_;
        remembered_->format = trace.format;
        remembered_->units = trace.units;
        remembered_->notes = trace.notes;
        for (const workload::Member& member : place.members)
            remembered_->ranks.push_back(member.rank);
        remembered_->streams.resize(trace.ranks.size());
    }

    base::Result<uint16_t> run() {
        auto matching = match(trace_);
        if (!matching) return matching.error();
        matching_ = std::move(*matching);
        if (auto error = make_teams()) return *error;
        prepare();
        while (!ready_.empty()) {
            const Ready next = ready_.top();
            ready_.pop();
            if (auto error = next.is_meeting ? meet(next) : emit(next)) return *error;
        }
        if (auto error = find_circle()) return *error;
        return static_cast<uint16_t>(next_channel_);
    }

private:
    // Groups that share a rank use different channels, because their collectives may overlap.
    std::optional<Error> make_teams() {
        std::vector<std::vector<bool>> taken;  // by set of channels and rank
        for (const Group& group : trace_.groups) {
            size_t set = 0;
            const auto is_free = [&](const std::vector<bool>& ranks) {
                return std::ranges::none_of(group.ranks, [&](uint32_t i) { return ranks[i]; });
            };
            while (set < taken.size() && !is_free(taken[set])) ++set;
            if (set == taken.size()) taken.emplace_back(trace_.ranks.size());
            for (const uint32_t rank : group.ranks) taken[set][rank] = true;
            const size_t channel = place_.first_channel + 1 + set * kChannelsOfGroups;
            next_channel_ = std::max(next_channel_, channel + kChannelsOfGroups);
            if (next_channel_ > kMostChannels)
                return Error{
                    fmt::format("{}: too many groups share a rank: {} sets of channels "
                                "at most; take fewer ranks",
                                trace_.files.front(), kMostChannels / kChannelsOfGroups)};
            make_team(group, static_cast<uint16_t>(channel));
        }
        next_channel_ = std::max<size_t>(next_channel_, place_.first_channel + 1u);
        return std::nullopt;
    }

    void make_team(const Group& group, uint16_t channel) {
        std::vector<workload::Member> members;
        for (const uint32_t rank : group.ranks) members.push_back(place_.members[rank]);
        workload::Placement placement(std::move(members), place_.scale_up);
        std::map<uint32_t, uint32_t> by_rank;
        for (uint32_t i = 0; i < placement.size(); ++i) by_rank[placement[i].rank] = i;
        Communicator team{
            workload::JobBuilder(program_, std::move(placement), job_, channel), {}, {}, {}};
        for (const uint32_t rank : group.ranks)
            team.member_of.push_back(by_rank[place_.members[rank].rank]);
        team.last_task.assign(group.ranks.size(), kNoTask);
        teams_.push_back(std::move(team));
    }

    void prepare() {
        std::vector<bool> is_begun(trace_.groups.size());
        for (const Meeting& meeting : matching_.meetings) {
            const auto members = static_cast<uint32_t>(trace_.groups[meeting.group].ranks.size());
            waits_of_meeting_.push_back(members + (is_begun[meeting.group] ? 1 : 0));
            is_begun[meeting.group] = true;
        }
        start_of_meeting_.assign(matching_.meetings.size(), 0);
        states_.resize(trace_.ranks.size());
        for (uint32_t rank = 0; rank < states_.size(); ++rank) prepare(rank);
        for (uint32_t rank = 0; rank < states_.size(); ++rank)
            for (uint32_t node = 0; node < trace_.ranks[rank].size(); ++node)
                if (states_[rank].waits[node] == 0) make_ready(rank, node);
    }

    void prepare(uint32_t rank) {
        const RankGraph& graph = trace_.ranks[rank];
        RankState& state = states_[rank];
        state.followers = Followers(graph);
        state.waits.assign(graph.size(), 0);
        state.task.assign(graph.size(), kNoTask);
        state.end.assign(graph.size(), -1);
        for (uint32_t node = 0; node < graph.size(); ++node) {
            state.waits[node] = static_cast<uint32_t>(graph.needs(node).size());
            if (graph[node].kind == Node::Kind::receive) ++state.waits[node];
        }
        remembered_->nodes += graph.size();
    }

    void make_ready(uint32_t rank, uint32_t number) {
        const Node& node = trace_.ranks[rank][number];
        const RankState& state = states_[rank];
        int64_t at = 0;
        for (const uint32_t need : trace_.ranks[rank].needs(number))
            at = std::max(at, state.end[need]);
        if (node.kind == Node::Kind::receive)
            at = std::max(at, states_[node.peer].end[matching_.partner[rank][number]]);
        if (node.kind != Node::Kind::collective) return ready_.push({at, false, rank, number});
        const uint32_t meeting = matching_.partner[rank][number];
        start_of_meeting_[meeting] = std::max(start_of_meeting_[meeting], at);
        release(meeting);
    }

    void release(uint32_t meeting) {
        if (--waits_of_meeting_[meeting] == 0)
            ready_.push({start_of_meeting_[meeting], true, 0, meeting});
    }

    void finish(uint32_t rank, uint32_t node, uint32_t task, int64_t end) {
        RankState& state = states_[rank];
        state.task[node] = task;
        state.end[node] = end;
        for (const uint32_t follower : state.followers.of(node))
            if (--state.waits[follower] == 0) make_ready(rank, follower);
    }

    // The distinct tasks that a node waits for.
    std::vector<uint32_t>& needs_of(uint32_t rank, uint32_t node) {
        needs_.clear();
        for (const uint32_t need : trace_.ranks[rank].needs(node))
            need_also(states_[rank].task[need]);
        return needs_;
    }

    void need_also(uint32_t task) {
        if (task != kNoTask && std::ranges::find(needs_, task) == needs_.end())
            needs_.push_back(task);
    }

    // One task that ends when all of `needs_` have ended.
    uint32_t join(uint32_t rank) {
        if (needs_.empty()) return kNoTask;
        if (needs_.size() == 1) return needs_.front();
        return program_.add(compute_task(rank, {}), needs_);
    }

    Task compute_task(uint32_t rank, Duration duration) {
        Task task;
        task.kind = Task::Kind::compute;
        task.rank = task.peer = place_.members[rank].rank;
        task.phase = phase(compute_phase_, "compute");
        task.duration = duration;
        return task;
    }

    uint32_t phase(uint32_t& number, const char* name) {
        if (number != kNoTask) return number;
        number = static_cast<uint32_t>(program_.phases.size());
        workload::Phase phase;
        phase.name = name;
        phase.collective = workload::Collective::compute;
        phase.job = job_;
        phase.ranks = static_cast<uint32_t>(place_.members.size());
        phase.purpose = workload::Purpose::traced;
        program_.phases.push_back(std::move(phase));
        return number;
    }

    std::optional<Error> emit(const Ready& ready) {
        const Node& node = trace_.ranks[ready.rank][ready.node];
        if (program_.task_count() + trace_.ranks.size() > place_.most_tasks) return too_large();
        needs_of(ready.rank, ready.node);
        switch (node.kind) {
            case Node::Kind::compute: compute(ready, node); break;
            case Node::Kind::send: send(ready, node); break;
            case Node::Kind::receive:
                need_also(states_[node.peer].task[matching_.partner[ready.rank][ready.node]]);
                finish(ready.rank, ready.node, join(ready.rank), ready.at);
                break;
            default: finish(ready.rank, ready.node, join(ready.rank), ready.at);
        }
        return std::nullopt;
    }

    void compute(const Ready& ready, const Node& node) {
        if (node.duration.ps == 0)
            return finish(ready.rank, ready.node, join(ready.rank), ready.at);
        RankState& state = states_[ready.rank];
        const size_t lane = node.lane % kLanes;
        need_also(state.last_task[lane]);
        const uint32_t task = program_.add(compute_task(ready.rank, node.duration), needs_);
        remembered_->streams[ready.rank].push_back(task);
        state.last_task[lane] = task;
        const int64_t begin = std::max(ready.at, state.last_end[lane]);
        state.last_end[lane] = std::min(begin + node.duration.ps, kFar);
        finish(ready.rank, ready.node, task, state.last_end[lane]);
    }

    void send(const Ready& ready, const Node& node) {
        const workload::Member& from = place_.members[ready.rank];
        const workload::Member& to = place_.members[node.peer];
        Task task;
        task.rank = from.rank;
        task.peer = to.rank;
        task.tier = tier_between(from, to, place_.scale_up);
        task.channel = place_.first_channel;
        task.phase = phase(message_phase_, "messages");
        task.bytes = std::max<uint64_t>(1, node.bytes);
        task.duration = software_before(task.tier, task.bytes);
        const uint32_t number = program_.add(task, needs_);
        ++remembered_->messages;
        finish(ready.rank, ready.node, number, ready.at);
        const uint32_t receipt = matching_.partner[ready.rank][ready.node];
        if (--states_[node.peer].waits[receipt] == 0) make_ready(node.peer, receipt);
    }

    // The library's cost before a message: as in an exchange between two ranks.
    Duration software_before(Tier tier, uint64_t bytes) {
        if (place_.protocol == workload::Protocol::bare) return {};
        const auto [entry, is_new] = software_.try_emplace({tier, bytes});
        if (!is_new) return entry->second;
        const bool is_up = tier == Tier::scale_up;
        const workload::Placement two({{0, 0, 0}, {1, is_up ? 0u : 1u, is_up ? 1u : 0u}},
                                      place_.scale_up);
        workload::CollectiveOptions options;
        options.collective = workload::Collective::all_to_all;
        options.algorithm = workload::Algorithm::direct;
        options.protocol = place_.protocol;
        options.bytes = 2 * bytes;
        const workload::Software software = tune(options, two, place_.machine).software;
        return entry->second = software.launch + software.step[static_cast<size_t>(tier)];
    }

    // All ranks of a group have arrived: adds their collective.
    std::optional<Error> meet(const Ready& ready) {
        const Meeting& meeting = matching_.meetings[ready.node];
        const Group& group = trace_.groups[meeting.group];
        Communicator& team = teams_[meeting.group];
        const Node& first = trace_.ranks[group.ranks[0]][matching_.nodes[meeting.first]];
        for (size_t i = 0; i < group.ranks.size(); ++i) {
            needs_of(group.ranks[i], matching_.nodes[meeting.first + i]);
            need_also(team.last_task[i]);
            team.builder.enter_after(team.member_of[i], join(group.ranks[i]));
        }
        if (first.bytes > 0 && group.ranks.size() > 1)
            if (auto error = append_collective(team, group, first)) return error;
        for (size_t i = 0; i < group.ranks.size(); ++i)
            team.last_task[i] = team.builder.entry(team.member_of[i]);
        const uint32_t next = ready.node + 1;
        if (next < matching_.meetings.size() && matching_.meetings[next].group == meeting.group) {
            start_of_meeting_[next] = std::max(start_of_meeting_[next], ready.at);
            release(next);
        }
        for (size_t i = 0; i < group.ranks.size(); ++i)
            finish(group.ranks[i], matching_.nodes[meeting.first + i], team.last_task[i], ready.at);
        return std::nullopt;
    }

    std::optional<Error> append_collective(Communicator& team, const Group& group,
                                           const Node& node) {
        const workload::Placement& placement = team.builder.placement();
        const auto [entry, is_new] = team.tuned.try_emplace({node.collective, node.bytes});
        if (is_new) {
            workload::CollectiveOptions options;
            options.collective = node.collective;
            options.bytes = node.bytes;
            options.protocol = place_.protocol;
            const auto algorithms = workload::algorithms_of(node.collective);
            const auto asked = place_.algorithms.find(node.collective);
            options.algorithm = asked != place_.algorithms.end() ? asked->second
                                : algorithms.size() == 1         ? algorithms.front()
                                                                 : workload::Algorithm::automatic;
            if (auto error = check(options, placement))
                return at_node(trace_, group.ranks[0], node, error->message);
            entry->second = tune(options, placement, place_.machine);
        }
        workload::CollectiveOptions options = entry->second;
        if (node.collective == workload::Collective::broadcast) {
            const auto root = std::ranges::lower_bound(group.ranks, node.peer);
            if (root == group.ranks.end() || *root != node.peer)
                return at_node(
                    trace_, group.ranks[0], node,
                    fmt::format("its root {} is not in group '{}'", node.peer, group.name));
            options.root = team.member_of[static_cast<size_t>(root - group.ranks.begin())];
        }
        const uint64_t more = most_tasks(options, placement);
        if (more > place_.most_tasks || program_.task_count() + more > place_.most_tasks)
            return too_large();
        append(team.builder, std::string(name_of(node.collective)), options);
        program_.phases.back().purpose = node.purpose;
        ++remembered_->collectives;
        return std::nullopt;
    }

    Error too_large() const {
        return {
            fmt::format("{}: the trace makes more than {} messages and stretches of computing; "
                        "take fewer ranks, or a shorter trace",
                        trace_.files.front(), place_.most_tasks)};
    }

    // A node that never began although its own rank has done everything before it.
    std::optional<Error> find_circle() const {
        for (uint32_t rank = 0; rank < states_.size(); ++rank)
            for (uint32_t node = 0; node < trace_.ranks[rank].size(); ++node) {
                if (states_[rank].end[node] >= 0) continue;
                const auto needs = trace_.ranks[rank].needs(node);
                if (std::ranges::all_of(needs,
                                        [&](uint32_t i) { return states_[rank].end[i] >= 0; }))
                    return at_node(trace_, rank, trace_.ranks[rank][node],
                                   "it waits for other ranks in a circle: what they do before it "
                                   "waits for what this rank does after it");
            }
        return std::nullopt;
    }

    workload::Program& program_;
    const Trace& trace_;
    const TracePlace& place_;
    const uint32_t job_;
    std::shared_ptr<workload::TraceJob> remembered_;
    Matching matching_;
    std::vector<Communicator> teams_;  // by group
    size_t next_channel_ = 0;
    std::vector<uint32_t> waits_of_meeting_;
    std::vector<int64_t> start_of_meeting_;
    std::vector<RankState> states_;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
    uint32_t compute_phase_ = kNoTask;
    uint32_t message_phase_ = kNoTask;
    std::map<std::pair<Tier, uint64_t>, Duration> software_;
    std::vector<uint32_t> needs_;  // of the current task
};

}  // namespace

base::Result<uint16_t> append_trace(workload::Program& program, const workload::Job& job,
                                    const Trace& trace, const TracePlace& place) {
    TULLE_CHECK(place.members.size() == trace.ranks.size());
    TULLE_CHECK(trace.files.size() == trace.ranks.size());
    return TraceBuilder(program, job, trace, place).run();
}

}  // namespace tulle::traces
