// GPUs by name: their computing speed and memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tulle::workload {

struct Gpu {
    std::string_view name;
    // Dense, 10^9 operations a second; 0: the format is not supported. NVIDIA, dgxc-benchmarking.
    uint64_t bf16_gflops = 0;
    uint64_t fp8_gflops = 0;
    // The best measured speed of large BF16 products (stas00/ml-engineering), in thousandths of the
    // peak.
    uint32_t matmul_permille = 0;
    // The speed of a whole layer in training, including everything that is not a product, in
    // thousandths of the peak.
    uint32_t training_permille = 0;
    uint32_t processors = 0;            // SMs; data sheets
    uint64_t memory_bytes = 0;          // data sheets, 10^9 a gigabyte
    uint64_t memory_mb_per_second = 0;  // data sheets, 10^6 bytes
};

std::span<const Gpu> gpus();
// Null if the name is unknown.
const Gpu* find_gpu(std::string_view name);

}  // namespace tulle::workload
