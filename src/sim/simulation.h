// A simulation: a setup cut into partitions that advance window by window and exchange what
// crosses. Whoever drives it may run the partitions of one window at the same time:
//
//     while ((window = next_window()) != kNoWindow):
//         advance(p, window) for each partition, in any order or in parallel
//         exchange(p)        for each partition, likewise, once all have advanced
//
// The result depends on the setup alone, not on the number of partitions.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "base/result.h"
#include "cluster/partition.h"
#include "sim/result.h"
#include "sim/setup.h"

namespace tulle::sim {

class Simulation {
public:
    static constexpr uint64_t kNoWindow = cluster::WindowWheel::kNone;

    // What is wrong with a setup, before anything happens.
    static base::Result<std::unique_ptr<Simulation>> build(const Setup& setup, size_t partitions);

    size_t partitions() const { return partitions_.size(); }
    // For those who look: progress, invariants.
    cluster::Partition& partition(size_t p) { return *partitions_[p]; }
    uint64_t next_window() const;
    void advance(size_t partition, uint64_t window) { partitions_[partition]->advance(window); }
    // When the last window that was advanced ended; told by whoever drives.
    Instant now() const { return now_; }
    void set_now(Instant now) { now_ = now; }
    void exchange(size_t partition);

    Instant time_of(uint64_t window) const { return {static_cast<int64_t>(window) * window_.ps}; }
    size_t flows_done() const;
    uint64_t hops() const;

    Result finish(Result::End end);

private:
    friend class Builder;
    friend class Collector;

    struct Location {
        uint32_t partition = 0;
        uint32_t place = 0;       // of its kind, hosts or switches, in the partition
        uint32_t first_port = 0;  // of the partition's cabling
    };

    explicit Simulation(const Setup& setup) : setup_(setup) {}

    const Setup& setup_;
    Duration window_{};
    Instant now_{};
    std::vector<std::unique_ptr<cluster::Partition>> partitions_;
    std::vector<Location> locations_;  // by node of the graph
    std::deque<fabric::Routes> routes_;
    fabric::FixedPaths paths_;
    std::vector<Disagreement> disagreements_;
    std::vector<std::vector<fabric::TraceSample>> traces_;  // by partition
};

}  // namespace tulle::sim
