// Where the time of a run went.
//
// A run ends when its last chain of waits ends. The chain is the flow that finished last; or, in a
// program, the last task, before it the task that it waited for last, and so on back to the
// beginning. A first run finds the chain. Runs repeat exactly, so a second run follows only the
// messages of the chain. Their time is split into shares that add up to the run's time, to the
// picosecond.
#pragma once

#include <array>
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

// The place of a generated task: a message in a stream of a member, or the computing that the
// member does first.
struct GeneratedTask {
    static constexpr uint32_t kComputing = UINT32_MAX;

    uint32_t phase = 0;  // of Program::generated
    uint32_t member = 0;
    uint32_t stream = kComputing;
    uint64_t message = 0;
    bool operator==(const GeneratedTask&) const = default;
};

// A flow or a task. The end of a task is seen by its own rank; if `arrives`, by its peer's rank.
struct ChainLink {
    uint64_t id = 0;  // for a generated task, its number
    bool is_task = false;
    bool arrives = false;
    Instant begin{};  // of a task: when its message was posted or its computing began
    GeneratedTask generated{};
    bool operator==(const ChainLink&) const = default;
};

struct TimeShare {
    fabric::ShareKind kind = fabric::ShareKind::unexplained;
    workload::Tier tier = workload::Tier::scale_out;  // the network that `place` is in
    fabric::Place place = fabric::kNowhere;
    uint32_t rank = kNobody;  // for computing, and for software at the ends
    Duration time{};
};

struct TimeAccount {
    std::vector<ChainLink> chain;   // the first link first
    std::vector<TimeShare> shares;  // the largest first; empty: the run was not explained
    Instant end{};                  // the shares add up to it
    // Where packets of the chain's messages were lost, and why.
    struct Loss {
        fabric::Place place = fabric::kNowhere;
        fabric::Drop cause = fabric::Drop::buffer_full;
        uint64_t packets = 0;
    };
    std::vector<Loss> losses;
    // Whose messages crossed which port of the network between servers.
    std::vector<fabric::CrossingRecord> crossings;

    Duration total() const {
        Duration sum{};
        for (const TimeShare& share : shares) sum += share.time;
        return sum;
    }
};

struct Result;
struct Setup;

// What a second run knows from the first one of the same setup.
struct FirstRun {
    struct OfNetwork {
        // The second run follows only packets that can matter (cluster/host_account.h).
        bool follows_few = false;
        // By place: ports that could not send at some instant. Others never lack credits, so the
        // second run does not tell them of new ones. Empty: it is not known.
        std::vector<bool> was_held;
        // By node: switches that marked a packet. Others need not look. Empty: it is not known.
        std::vector<bool> has_marked;
    };

    std::vector<ChainLink> chain;            // empty: nothing is followed
    std::array<OfNetwork, 2> networks = {};  // as workload::Tier

    static FirstRun of(const Setup& setup, const Result& result);
};

}  // namespace tulle::sim
