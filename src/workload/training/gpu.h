// GPUs by name: what they compute and remember.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tulle::workload {

struct Gpu {
    std::string_view name;
    // Dense, 10^9 operations a second; 0: it does not have the format. NVIDIA, dgxc-benchmarking.
    uint64_t bf16_gflops = 0;
    uint64_t fp8_gflops = 0;
    uint64_t fp4_gflops = 0;
    // Of large BF16 products, the best that was measured (stas00/ml-engineering), in thousandths of
    // the peak.
    uint32_t matmul_permille = 0;
    // Of a whole layer in training, all that is no product included, in thousandths of the peak.
    uint32_t training_permille = 0;
    uint32_t processors = 0;            // SMs; data sheets
    uint64_t memory_bytes = 0;          // data sheets, 10^9 a gigabyte
    uint64_t memory_mb_per_second = 0;  // data sheets, 10^6 bytes
};

std::span<const Gpu> gpus();
// Null: there is none of this name.
const Gpu* find_gpu(std::string_view name);

}  // namespace tulle::workload
