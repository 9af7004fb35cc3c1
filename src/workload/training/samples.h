// The time that collectives of a step take by themselves; each is simulated once.
//
// A collective with the same result as an earlier one is not simulated: a ring that scatters sends
// the same messages as one that gathers. Exchanges of replicas are simulated up to a limit. Larger
// ones are on a line through two sizes, because the network is the same and has settled.
#pragma once

#include <deque>

#include "workload/training/teams.h"

namespace tulle::workload {

// The time for `bytes`, on the line through two smaller sizes.
base::Duration on_line(base::Duration small_time, uint64_t small, base::Duration large_time,
                       uint64_t large, uint64_t bytes);

class Samples {
public:
    Samples(const StepOptions& options, const Teams& teams, const Rehearse& rehearse)
        : options_(options), teams_(teams), rehearse_(rehearse) {}

    const Rehearsed& of(const Teams::Order& order) { return of(order, order.bytes); }
    // For any size; both samples use the library's choice for this size. With StepOptions::checks a
    // third size, twice the larger one, is simulated too.
    Rehearsed of_any_size(const Teams::Order& order);
    // The time of the largest checked exchange: from the line, and simulated.
    base::Duration expected() const { return expected_; }
    base::Duration taken() const { return taken_; }

private:
    // An exchange is simulated completely up to kMostOfAll bytes of all ranks, and in any case up
    // to kLeast bytes of each. Chosen.
    static constexpr uint64_t kMostOfAll = uint64_t{16} << 30;
    static constexpr uint64_t kLeast = 64 << 20;

    struct Sample {
        Teams::Kind kind = Teams::Kind::tensor;
        CollectiveOptions options;
        Rehearsed found;
    };

    // The time of `bytes`, with the protocol of the order.
    const Rehearsed& of(const Teams::Order& order, uint64_t bytes);

    const StepOptions& options_;
    const Teams& teams_;
    const Rehearse& rehearse_;
    std::deque<Sample> samples_;
    uint64_t checked_bytes_ = 0;
    base::Duration expected_{};
    base::Duration taken_{};
};

}  // namespace tulle::workload
