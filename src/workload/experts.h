// What goes to experts and back, a token: as DeepEP sends it (deepseek-ai/DeepEP).
//
// Dispatch is in FP8 with a scale of four bytes for each 128 values; combine is in BF16. In the
// low-latency mode a header of 16 bytes goes along.
#pragma once

#include <cstdint>

namespace tulle::workload {

constexpr uint64_t dispatch_bytes(uint64_t hidden) {
    return hidden + hidden / 128 * 4;
}
constexpr uint64_t low_latency_dispatch_bytes(uint64_t hidden) {
    return dispatch_bytes(hidden) + 16;
}
constexpr uint64_t combine_bytes(uint64_t hidden) {
    return 2 * hidden;
}

}  // namespace tulle::workload
