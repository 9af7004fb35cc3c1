// Layers of a part that are gathered and summed together.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/training/costs.h"

namespace tulle::workload {

// Layers [first, end).
struct Bucket {
    uint32_t first = 0;
    uint32_t end = 0;
    uint64_t common_parameters = 0;
    uint64_t expert_parameters = 0;
};

// Of `least` parameters each at least, but the last.
std::vector<Bucket> buckets_of(const std::vector<LayerCost>& layers, uint64_t least);

}  // namespace tulle::workload
