#include "workload/program.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "workload/schedule.h"

namespace tulle::workload {
namespace {

base::Error wrong(uint32_t task, const std::string& what) {
    return base::Error{"task " + std::to_string(task) + " of the program " + what};
}

bool has_peer(const Task& task) {
    return task.kind == Task::Kind::send || task.kind == Task::Kind::read ||
           task.kind == Task::Kind::contribute;
}

}  // namespace

std::string_view name_of(Purpose purpose) {
    switch (purpose) {
        case Purpose::general: return "general";
        case Purpose::compute: return "compute";
        case Purpose::tensor: return "tensor";
        case Purpose::context: return "context";
        case Purpose::expert: return "expert";
        case Purpose::pipeline: return "pipeline";
        case Purpose::parameters: return "parameters";
        case Purpose::gradients: return "gradients";
        case Purpose::optimizer: return "optimizer";
        case Purpose::serving: return "serving";
        case Purpose::traced: return "traced";
    }
    return "";
}

uint32_t Program::add(const Task& task, std::span<const uint32_t> needs) {
    const uint32_t number = size();
    for (const uint32_t need : needs) TULLE_CHECK(need < number);
    tasks_.push_back(task);
    needs_.insert(needs_.end(), needs.begin(), needs.end());
    first_need_.push_back(static_cast<uint32_t>(needs_.size()));
    return number;
}

uint32_t Program::add(GeneratedPhase phase) {
    const uint64_t members = phase.placement->size();
    phase.first_number = kFirstGenerated;
    if (!generated.empty()) {
        const GeneratedPhase& last = generated.back();
        phase.first_number = last.first_number + last.placement->size() +
                             (last.schedule ? last.schedule->numbers() : 0);
    }
    phase.tasks =
        (phase.computing.ps > 0 ? members : 0) + (phase.schedule ? phase.schedule->messages() : 0);
    for (const uint32_t before : phase.after) TULLE_CHECK(before < generated.size());
    generated.push_back(std::move(phase));
    return static_cast<uint32_t>(generated.size() - 1);
}

uint64_t Program::task_count() const {
    uint64_t count = tasks_.size();
    for (const GeneratedPhase& phase : generated) count += phase.tasks;
    count -= static_cast<uint64_t>(std::ranges::count_if(tasks_, &Task::is_recycled));
    return count;
}

void visit_traffic(const Program& program, const std::function<void(const Traffic&)>& visit) {
    for (const Task& task : program.tasks())
        if (task.kind != Task::Kind::compute)
            visit(Traffic{task.kind, task.rank, task.peer, task.phase, task.tier, task.channel, 1,
                          task.bytes});
    for (const GeneratedPhase& phase : program.generated) {
        if (!phase.schedule) continue;
        const Schedule& schedule = *phase.schedule;
        for (uint32_t member = 0; member < phase.placement->size(); ++member)
            for (uint32_t i = 0; i < schedule.stream_count(); ++i) {
                const Stream stream = schedule.stream(member, i);
                if (stream.messages == 0) continue;
                Traffic traffic;
                traffic.rank = (*phase.placement)[member].rank;
                traffic.peer = (*phase.placement)[stream.peer].rank;
                traffic.phase = phase.phase;
                traffic.tier = stream.tier;
                traffic.channel = static_cast<uint16_t>(phase.first_channel + stream.channel);
                traffic.messages = stream.messages;
                traffic.bytes = schedule.wire_bytes(schedule.stream_bytes(member, i));
                visit(traffic);
            }
    }
}

std::optional<base::Error> Program::check_generated(uint32_t ranks) const {
    for (const GeneratedPhase& phase : generated) {
        if (phase.phase >= phases.size()) return base::Error{"a generated phase is not there"};
        for (uint32_t i = 0; i < phase.placement->size(); ++i)
            if ((*phase.placement)[i].rank >= ranks)
                return base::Error{"phase " + phases[phase.phase].name +
                                   " names a rank that is not there"};
    }
    return std::nullopt;
}

// For messages through switches that compute, this function does not know the participants: only
// the code that places ranks does. So any rank may see them.
bool is_seen_by(const Task& task, uint32_t rank) {
    switch (task.kind) {
        case Task::Kind::send: return rank == task.rank || rank == task.peer;
        case Task::Kind::contribute: return rank == task.rank || rank == task.peer;
        case Task::Kind::multicast:
        case Task::Kind::sum_for_all: return true;
        case Task::Kind::read:
        case Task::Kind::compute: return rank == task.rank;
    }
    return false;
}

std::optional<base::Error> Program::check(uint32_t ranks) const {
    for (const Phase& phase : phases)
        if (phase.job >= jobs.size())
            return base::Error{"phase " + phase.name + " belongs to no job"};
    if (auto error = check_generated(ranks)) return error;
    for (uint32_t i = 0; i < size(); ++i) {
        const Task& task = tasks_[i];
        if (task.rank >= ranks || (has_peer(task) && task.peer >= ranks))
            return wrong(i, "names a rank that is not there: there are " + std::to_string(ranks));
        if (task.phase >= phases.size()) return wrong(i, "belongs to no phase");
        if (task.kind != Task::Kind::contribute && has_peer(task) && task.rank == task.peer)
            return wrong(i, "is a message from a rank to itself");
        for (const uint32_t need : needs(i))
            if (!is_seen_by(tasks_[need], task.rank))
                return wrong(i, "waits for task " + std::to_string(need) +
                                    ", of which its rank cannot know");
    }
    return std::nullopt;
}

}  // namespace tulle::workload
