// Trails record what each generated task waited for last. The chain of waits of a run follows.
//
// A closed form gives the things that a message may wait for (workload/schedule.h), so a few bits
// name the last of them. Together with the time of posting that is eight bytes per message. If the
// trails of a run would take more than a gigabyte, it keeps none and has no chain.
#pragma once

#include <functional>
#include <vector>

#include "sim/time_account.h"
#include "workload/schedule.h"

namespace tulle::sim {

// The trail of a member in a phase.
struct Trail {
    // What came last: ...
    static constexpr uint32_t kOpening = 0;  // the stream opened
    static constexpr uint32_t kWindow = 1;   // an earlier message of the stream was done
    static constexpr uint32_t kFirstNeed =
        2;  // one of the message's needs, by its place among them

    uint32_t bits = 3;  // of a cause
    uint32_t rank = 0;
    std::vector<uint64_t> first;  // of each stream: its first message among ...
    std::vector<uint64_t> waits;  // ... those of all streams
    Instant entered{};
    uint32_t phase_before = kNobody;  // the phase that the member ended before this one
    // The last task whose end the member saw.
    bool has_last = false;
    bool last_arrived = false;
    GeneratedTask last;

    void note(const GeneratedTask& task, Instant posted, uint32_t cause) {
        waits[first[task.stream] + task.message] = static_cast<uint64_t>(posted.ps) << bits | cause;
    }
    uint64_t at(const GeneratedTask& task) const {
        return waits[first[task.stream] + task.message];
    }
    Instant posted(const GeneratedTask& task) const {
        return Instant{static_cast<int64_t>(at(task) >> bits)};
    }
    uint32_t cause(const GeneratedTask& task) const {
        return static_cast<uint32_t>(at(task) & ((1u << bits) - 1));
    }
};

// Whether the trails of a program take no more than the limit.
bool has_room_for_trails(const workload::Program& program);
Trail make_trail(const workload::Schedule* schedule, uint32_t member, uint32_t rank);

// The number of a generated task.
uint64_t number_of(const workload::Program& program, const GeneratedTask& task);

// The task of a chain's link, stored or generated.
workload::Task task_of(const workload::Program& program, const ChainLink& link);

// The chain of waits that ends with `last`: each link waited last for the one before it.
std::vector<ChainLink> walk_back(
    const workload::Program& program, const GeneratedTask& last, bool has_arrived,
    const std::function<const Trail&(uint32_t phase, uint32_t rank)>& trail_of);

}  // namespace tulle::sim
