// What generated tasks waited for last: from it follows the chain of waits of a run.
//
// What a message may wait for is a closed form (workload/schedule.h), so what came last of it is
// three bits. With them goes when it was posted: eight bytes a message. A run of so many messages
// that these would take more than a gigabyte keeps none and has no chain.
#pragma once

#include <functional>
#include <vector>

#include "sim/time_account.h"
#include "workload/schedule.h"

namespace tulle::sim {

// Of a member in a phase.
struct Trail {
    // What came last: one of the message's needs, by its place among them, or ...
    static constexpr uint32_t kWindow = 4;   // an earlier message of the stream was done
    static constexpr uint32_t kOpening = 5;  // the stream opened
    static constexpr uint32_t kBits = 3;
    static_assert(workload::StreamMessage::kMostNeeds <= kWindow);

    uint32_t rank = 0;
    std::vector<uint64_t> first;  // of each stream: its first message among ...
    std::vector<uint64_t> waits;  // ... those of all streams
    Instant entered{};
    uint32_t phase_before = kNobody;  // that the member ended last
    // The last thing that it saw.
    bool has_last = false;
    bool last_arrived = false;
    GeneratedTask last;

    void note(const GeneratedTask& task, Instant posted, uint32_t cause) {
        waits[first[task.stream] + task.message] =
            static_cast<uint64_t>(posted.ps) << kBits | cause;
    }
    uint64_t at(const GeneratedTask& task) const {
        return waits[first[task.stream] + task.message];
    }
    Instant posted(const GeneratedTask& task) const {
        return Instant{static_cast<int64_t>(at(task) >> kBits)};
    }
    uint32_t cause(const GeneratedTask& task) const {
        return static_cast<uint32_t>(at(task) & ((1 << kBits) - 1));
    }
};

// Whether there is room for the trails of a program.
bool has_room_for_trails(const workload::Program& program);
Trail make_trail(const workload::Schedule* schedule, uint32_t member, uint32_t rank);

// The number of a generated task.
uint64_t number_of(const workload::Program& program, const GeneratedTask& task);

// Before the last task what it waited for last, and so on; the first one first.
std::vector<ChainLink> walk_back(
    const workload::Program& program, const GeneratedTask& last, bool has_arrived,
    const std::function<const Trail&(uint32_t phase, uint32_t rank)>& trail_of);

}  // namespace tulle::sim
