#include "sim/stored_connections.h"

#include <tuple>

#include "sim/stream_part.h"

namespace tulle::sim {

using workload::Task;
using workload::Tier;

namespace {

class Connecting {
public:
    explicit Connecting(const Setup& setup) : setup_(setup), program_(setup.program) {
        found.of_task.assign(program_.size(), topology::kNone);
    }

    StoredConnections found;

    // Messages of a job from one rank to another share one connection per channel.
    void connect_tasks() {
        std::map<std::tuple<Tier, uint32_t, uint32_t, uint32_t, uint16_t, uint32_t>, uint32_t>
            known;
        for (uint32_t i = 0; i < program_.size(); ++i) {
            const Task& task = program_[i];
            if (task.kind == Task::Kind::compute) {
                if (task.is_in_turn) found.of_task[i] = device_of(task);
                continue;
            }
            const uint32_t job_number = program_.phases[task.phase].job;
            const workload::Job& job = program_.jobs[job_number];
            const uint32_t group = group_of(i);
            std::vector<Connection>& made = found.connections[index_of(task.tier)];
            const uint32_t peer = group == topology::kNone ? task.peer : topology::kNone;
            const auto [entry, is_new] =
                known.try_emplace({task.tier, job_number, task.rank, peer, task.channel, group},
                                  static_cast<uint32_t>(made.size()));
            found.of_task[i] = entry->second;
            if (is_new) {
                const bool is_up = task.tier == Tier::scale_up;
                const RankPlace& from = setup_.ranks[task.rank];
                const RankPlace& to = setup_.ranks[task.peer];
                made.push_back({.source = is_up ? from.scale_up : from.endpoint,
                                .destination = is_up ? to.scale_up : to.endpoint,
                                .service_level = is_up ? uint8_t{0} : job.service_level,
                                .traffic_class = is_up ? uint8_t{0} : job.traffic_class,
                                .group = group,
                                .number = ConnectionKey{task.rank, task.peer, job_number,
                                                        task.channel, task.tier}
                                              .hash()});
                if (task.is_part_of_sum()) join_sum(task, group, made.back().source);
            }
            ++made[entry->second].messages;
        }
    }

private:
    void join_sum(const Task& task, uint32_t group, uint32_t source) {
        SwitchGroup& sum = found.groups[index_of(task.tier)][group];
        sum.contributors.push_back(source);
        if (task.kind != Task::Kind::sum_for_all) return;
        sum.members.push_back(source);
        found.rank_in_group[{group, source}] = task.rank;
    }

    // The device of a task: something at a rank that takes one task at a time, such as a drive.
    // Each channel has one.
    uint32_t device_of(const Task& task) {
        const auto [entry, is_new] =
            device_at_.try_emplace({task.rank, task.channel}, found.devices);
        if (is_new) ++found.devices;
        return entry->second;
    }

    // The group of a task that goes through a computing switch; none for other tasks.
    uint32_t group_of(uint32_t number) {
        const Task& task = program_[number];
        if (!task.is_part_of_sum() && task.kind != Task::Kind::multicast) return topology::kNone;
        const uint32_t whose = task.is_part_of_sum() ? task.peer : task.rank;
        std::vector<SwitchGroup>& made = found.groups[index_of(task.tier)];
        const auto [entry, is_new] = group_at_.try_emplace(
            {program_.phases[task.phase].job, task.channel, task.kind, whose}, made.size());
        if (is_new) made.push_back(make_group(task, whose));
        return entry->second;
    }

    // The group, as far as one task tells: between servers each part of a sum adds its own
    // contributor.
    SwitchGroup make_group(const Task& task, uint32_t whose) const {
        SwitchGroup group;
        const uint32_t port = setup_.ranks[whose].scale_up;
        if (task.kind == Task::Kind::sum_for_all) {
            group.tree = tree_of(task);
        } else if (task.kind == Task::Kind::contribute) {
            group.members = {port};
        } else {
            const auto& nodes = setup_.scale_up->graph.nodes;
            const std::vector<uint32_t> endpoints = setup_.scale_up->graph.endpoints();
            for (uint32_t i = 0; i < endpoints.size(); ++i)
                if (nodes[endpoints[i]].server == nodes[endpoints[port]].server)
                    group.members.push_back(i);
        }
        return group;
    }

    const fabric::ReductionTree* tree_of(const Task& task) const {
        const uint32_t job = program_.phases[task.phase].job;
        for (const SwitchTree& tree : setup_.trees)
            if (tree.job == job && tree.channel == task.channel && tree.first_rank == task.peer)
                return &tree.tree;
        return nullptr;
    }

    const Setup& setup_;
    const workload::Program& program_;
    std::map<std::pair<uint32_t, uint16_t>, uint32_t> device_at_;  // by rank and channel
    // By job, channel, kind, and rank: the one that gets the sum, or the one that sends the copies.
    std::map<std::tuple<uint32_t, uint16_t, Task::Kind, uint32_t>, uint32_t> group_at_;
};

}  // namespace

StoredConnections connect_stored(const Setup& setup) {
    Connecting connecting(setup);
    connecting.connect_tasks();
    return std::move(connecting.found);
}

}  // namespace tulle::sim
