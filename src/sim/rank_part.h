// State that stored tasks (ranks.h) and generated tasks (rank_streams.h) share: the networks, the
// past and future events of the ranks of a partition, and their counters.
#pragma once

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "sim/network.h"
#include "workload/serving/outcome.h"

namespace tulle::sim {

inline constexpr size_t kTiers = 2;  // as workload::Tier has them

constexpr size_t index_of(workload::Tier tier) {
    return static_cast<size_t>(tier);
}

// Something that a rank sees at a time.
struct RankEvent {
    Instant at{};
    uint64_t task = 0;  // index of a stored task, or number of a generated one
    uint32_t rank = 0;
    // If the task is generated, an index into StreamPart::events. If it is a sum that arrived, the
    // contribution that completed it.
    uint32_t flight = 0;
    bool has_arrived = false;  // a message from a peer; otherwise a task of the rank is done

    bool is_generated() const { return task >= workload::Program::kFirstGenerated; }
    uint32_t stored() const { return static_cast<uint32_t>(task); }
};

inline bool is_later(const RankEvent& a, const RankEvent& b) {
    return std::tuple(a.at, a.task, a.rank) > std::tuple(b.at, b.task, b.rank);
}

struct RankFailure {
    uint64_t task = 0;
    uint32_t rank = 0;
    uint32_t peer = 0;
    uint32_t phase = 0;
};

// The state of the ranks of one partition; one thread uses it.
struct RankPart {
    std::vector<RankEvent> events;  // of this window
    std::vector<RankEvent> later;   // a heap, the next one first
    std::vector<workload::ServingRelease> releases;
    std::vector<PhaseResult> phases;
    std::vector<uint64_t> done;  // tasks of each phase, ...
    uint64_t all_done = 0;       // ... and of all
    base::Histogram latency[kTiers];
    Duration cpu{};
    std::vector<RankFailure> failed;
    RankEvent last{};  // the last end that was seen
    Instant until{};
    Duration skipped{};  // how far the program's time is ahead of the network's

    void push(const RankEvent& event) {
        later.push_back(event);
        std::ranges::push_heap(later, is_later);
    }
    RankEvent pop() {
        std::ranges::pop_heap(later, is_later);
        const RankEvent event = later.back();
        later.pop_back();
        return event;
    }
    void count_end(uint32_t phase) {
        ++done[phase];
        ++all_done;
    }
    void begin_phase(uint32_t phase, Instant at) {
        phases[phase].begin = std::min(phases[phase].begin, at + skipped);
    }
    // Returns whether this is the latest end so far.
    bool note_end(uint32_t phase, const RankEvent& event) {
        phases[phase].end = std::max(phases[phase].end, event.at + skipped);
        if (!is_later(event, last)) return false;
        last = event;
        return true;
    }
};

// The engines that copy between a GPU and its host, one per direction.
struct RankCopies {
    Instant out_free{};
    Instant in_free{};
};

struct RankGround {
    explicit RankGround(const Setup& its)
        : setup(its), program(its.program), places(its.ranks), copies(its.ranks.size()) {
        for (size_t rank = 0; rank < its.stand_ins.places.size(); ++rank)
            places[rank] = its.ranks[its.stand_ins.places[rank]];
    }

    const Setup& setup;
    const workload::Program& program;
    std::vector<RankPlace> places;            // by rank: where it is simulated
    std::array<Network*, kTiers> networks{};  // null: there is none
    std::vector<RankPart> parts;
    std::vector<RankCopies> copies;  // by rank

    const HostSettings& host(workload::Tier tier) const {
        return tier == workload::Tier::scale_up ? setup.scale_up->host : setup.host;
    }
    size_t part_of(uint32_t rank) const { return networks[0]->partition_of(places[rank].endpoint); }
    // Copies once the engine is free, at `at` or later. Returns when the copy is done.
    Instant copy(RankPart& part, Instant& free, Instant at, uint64_t bytes) const {
        const Staging& staging = setup.host.staging;
        part.cpu += staging.cpu_per_copy;
        free = std::max(at, free) + staging.latency + staging.rate.time_for(bytes);
        return free;
    }
};

// A task of a chain of waits that is followed.
struct ChainTask {
    uint32_t rank = 0;
    Instant ready{};  // when the last thing that it waited for was seen
    bool computes = false;
    bool is_launch = false;  // the computing is a library's
    Duration computing{};
    workload::Tier tier = workload::Tier::scale_out;  // of a message
    uint32_t id = 0;                                  // at both hosts
};

}  // namespace tulle::sim
