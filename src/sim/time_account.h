// Where the time of a run went.
//
// A run ends when its last chain of waits ends: a flow that finished last; or, of a program, the
// last task, before it what that task waited for last, and so on back to the beginning. A first run
// finds the chain. Runs repeat exactly, so a second one follows only the messages of the chain, and
// their time is split into shares that add up to the run's, to the picosecond.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "cluster/host_account.h"
#include "fabric/journal.h"
#include "workload/program.h"

namespace tulle::sim {

using base::Duration;
using base::Instant;

inline constexpr uint32_t kNobody = UINT32_MAX;

// Where a generated task is: message of a stream of a member, or what the member computes first.
struct GeneratedTask {
    static constexpr uint32_t kComputing = UINT32_MAX;

    uint32_t phase = 0;  // of Program::generated
    uint32_t member = 0;
    uint32_t stream = kComputing;
    uint64_t message = 0;
    bool operator==(const GeneratedTask&) const = default;
};

// A flow, or a task that is seen by its own rank or, if it arrives, by that of its peer.
struct ChainLink {
    uint64_t id = 0;  // of a generated task, its number
    bool is_task = false;
    bool arrives = false;
    Instant begin{};  // of a task: when it was posted, or began
    GeneratedTask generated{};
    bool operator==(const ChainLink&) const = default;
};

struct TimeShare {
    fabric::ShareKind kind = fabric::ShareKind::unexplained;
    workload::Tier tier = workload::Tier::scale_out;  // whose cable the place is an end of
    fabric::Place place = fabric::kNowhere;
    uint32_t rank = kNobody;  // of computing and of software at the ends
    Duration time{};
};

struct TimeAccount {
    std::vector<ChainLink> chain;   // the first link first
    std::vector<TimeShare> shares;  // the largest first; none: the run was not explained
    Instant end{};                  // what they add up to
    // Of the messages of the chain: where packets were lost, and why.
    struct Loss {
        fabric::Place place = fabric::kNowhere;
        fabric::Drop cause = fabric::Drop::buffer_full;
        uint64_t packets = 0;
    };
    std::vector<Loss> losses;
    // Whose messages went through which port, of the network between servers.
    std::vector<fabric::CrossingRecord> crossings;

    Duration total() const {
        Duration sum{};
        for (const TimeShare& share : shares) sum += share.time;
        return sum;
    }
};

}  // namespace tulle::sim
