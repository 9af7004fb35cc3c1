#include "sim/rank_trails.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace tulle::sim {
namespace {

using workload::GeneratedPhase;
using workload::Schedule;
using workload::Stream;

constexpr uint64_t kMostWords = uint64_t{1} << 27;  // chosen: a gigabyte
constexpr uint64_t kWordsOfTrail = 32;              // besides its messages
// Packets carry only the lower bits of a message's number; messages of a chain must differ in them.
constexpr uint64_t kMostNumbers = uint64_t{1} << 31;

// What a task waited for, and how its rank saw that.
struct Seen {
    GeneratedTask task;
    bool has_arrived = false;
};

class Walk {
public:
    Walk(const workload::Program& program,
         const std::function<const Trail&(uint32_t, uint32_t)>& trail_of)
        : program_(program), trail_of_(trail_of) {}

    const Trail& trail(const GeneratedTask& task) const {
        const GeneratedPhase& phase = program_.generated[task.phase];
        return trail_of_(task.phase, (*phase.placement)[task.member].rank);
    }

    std::optional<Seen> before(const GeneratedTask& task) const {
        if (task.stream == GeneratedTask::kComputing) return before_phase(trail(task));
        const Schedule& schedule = *program_.generated[task.phase].schedule;
        const uint32_t cause = trail(task).cause(task);
        if (cause == Trail::kOpening) return before_stream(task);
        GeneratedTask need = task;
        if (cause == Trail::kWindow) {
            need.message -= schedule.stream(task.member, task.stream).window;
            return Seen{need, false};
        }
        const auto waited =
            schedule.need(task.member, task.stream, task.message, cause - Trail::kFirstNeed);
        const auto source = schedule.source(task.member, waited.inlet);
        need.member = source.member;
        need.stream = source.stream;
        need.message = waited.message;
        return Seen{need, true};
    }

private:
    std::optional<Seen> before_stream(const GeneratedTask& task) const {
        const GeneratedPhase& phase = program_.generated[task.phase];
        const Stream stream = phase.schedule->stream(task.member, task.stream);
        GeneratedTask need = task;
        need.message = 0;
        need.stream = GeneratedTask::kComputing;
        if (stream.gate != Stream::kNoTurn) {
            need.stream = phase.schedule->ends_turn(task.member, stream.gate);
            need.message = phase.schedule->stream(task.member, need.stream).messages - 1;
            return Seen{need, false};
        }
        if (phase.computing.ps > 0) return Seen{need, false};
        return before_phase(trail(task));
    }

    // Skips phases in which the rank did nothing.
    std::optional<Seen> before_phase(const Trail& entered) const {
        const Trail* trail = &entered;
        while (trail->phase_before != kNobody) {
            trail = &trail_of_(trail->phase_before, trail->rank);
            if (trail->has_last) return Seen{trail->last, trail->last_arrived};
        }
        return std::nullopt;
    }

    const workload::Program& program_;
    const std::function<const Trail&(uint32_t, uint32_t)>& trail_of_;
};

}  // namespace

bool has_room_for_trails(const workload::Program& program) {
    if (program.generated.empty()) return false;
    uint64_t words = 0;
    for (const GeneratedPhase& phase : program.generated)
        words += phase.tasks + kWordsOfTrail * phase.placement->size();
    const GeneratedPhase& last = program.generated.back();
    const uint64_t numbers = last.first_number + last.placement->size() +
                             (last.schedule ? last.schedule->numbers() : 0) -
                             workload::Program::kFirstGenerated;
    return words <= kMostWords && numbers <= kMostNumbers;
}

Trail make_trail(const Schedule* schedule, uint32_t member, uint32_t rank) {
    Trail trail;
    trail.rank = rank;
    if (schedule == nullptr) return trail;
    const uint32_t most_causes = Trail::kFirstNeed + schedule->most_needs();
    trail.bits = static_cast<uint32_t>(std::bit_width(most_causes - 1));
    uint64_t messages = 0;
    for (uint32_t i = 0; i < schedule->stream_count(); ++i) {
        trail.first.push_back(messages);
        messages += schedule->stream(member, i).messages;
    }
    trail.waits.resize(messages);
    return trail;
}

uint64_t number_of(const workload::Program& program, const GeneratedTask& task) {
    const GeneratedPhase& phase = program.generated[task.phase];
    if (task.stream == GeneratedTask::kComputing) return phase.first_number + task.member;
    return phase.first_number + phase.placement->size() +
           phase.schedule->message(task.member, task.stream, task.message).number;
}

workload::Task task_of(const workload::Program& program, const ChainLink& link) {
    if (link.id < workload::Program::kFirstGenerated)
        return program[static_cast<uint32_t>(link.id)];
    const GeneratedTask& generated = link.generated;
    const GeneratedPhase& phase = program.generated[generated.phase];
    workload::Task task;
    task.rank = (*phase.placement)[generated.member].rank;
    task.phase = phase.phase;
    if (generated.stream == GeneratedTask::kComputing) {
        task.kind = workload::Task::Kind::compute;
        task.duration = phase.computing;
        task.is_launch = phase.is_launch;
        return task;
    }
    const Stream stream = phase.schedule->stream(generated.member, generated.stream);
    task.peer = (*phase.placement)[stream.peer].rank;
    task.tier = stream.tier;
    return task;
}

std::vector<ChainLink> walk_back(const workload::Program& program, const GeneratedTask& last,
                                 bool has_arrived,
                                 const std::function<const Trail&(uint32_t, uint32_t)>& trail_of) {
    const Walk walk(program, trail_of);
    std::vector<ChainLink> links;
    for (std::optional<Seen> seen = Seen{last, has_arrived}; seen; seen = walk.before(seen->task)) {
        const GeneratedTask& task = seen->task;
        const Trail& trail = walk.trail(task);
        const bool computes = task.stream == GeneratedTask::kComputing;
        links.push_back({number_of(program, task), true, seen->has_arrived,
                         computes ? trail.entered : trail.posted(task), task});
    }
    std::ranges::reverse(links);
    return links;
}

}  // namespace tulle::sim
