// Bus bandwidth as nccl-tests defines it (its doc/PERFORMANCE.md): bytes over time, times a factor.
// The factor makes it comparable with the speed of a link for any number of ranks.
#pragma once

#include <cstdint>

#include "workload/program.h"

namespace tulle::workload {

struct BusFactor {
    uint64_t numerator = 1;
    uint64_t denominator = 1;
    bool operator==(const BusFactor&) const = default;
};

constexpr BusFactor bus_factor(Collective collective, uint32_t ranks) {
    const uint64_t n = ranks == 0 ? 1 : ranks;
    switch (collective) {
        case Collective::all_reduce: return {2 * (n - 1), n};
        case Collective::reduce_scatter:
        case Collective::all_gather:
        case Collective::all_to_all: return {n - 1, n};
        case Collective::broadcast:
        case Collective::compute:
        case Collective::storage_read:
        case Collective::storage_write: break;
    }
    return {};
}

}  // namespace tulle::workload
