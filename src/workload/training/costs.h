// What layers take to compute on a rank, for one micro-batch, and what they weigh.
//
// A product takes its operations at a share of the GPU's peak that is fitted to whole training
// steps (gpu.h), so norms, activations and launches are in it. Attention counts as the full square,
// as in flops_per_sequence(): half of it is masked, and kernels of attention run at about half the
// speed of plain products. The embedding takes no time, the output layer belongs to the last layer.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "workload/training/gpu.h"
#include "workload/training/layout.h"
#include "workload/training/model.h"

namespace tulle::workload {

struct LayerCost {
    base::Duration forward{};
    base::Duration input_gradients{};  // with what is recomputed before them
    base::Duration weight_gradients{};
    base::Duration attention{};  // of `forward`: scores and their use
    bool has_experts = false;
    // Of the rank, before ZeRO; the embedding is in the first layer, the output in the last.
    uint64_t common_parameters = 0;
    uint64_t expert_parameters = 0;

    base::Duration backward() const { return input_gradients + weight_gradients; }
};

// What computes.
struct Engine {
    Gpu gpu;
    uint32_t efficiency_permille = 0;  // 0: as the GPU was measured
    // SMs that communication keeps for itself.
    uint32_t communication_processors = 0;
    // Tokens of the GPU that has most of them for its experts, over the average: all wait for it.
    uint64_t expert_load_permille = 1000;

    base::Duration time_for(base::uint128_t operations) const;
};

// Of each of so many parts that the layers are cut into.
std::vector<std::vector<LayerCost>> part_costs(const Model& model, const Layout& layout,
                                               const Engine& engine, uint32_t parts);

// Adam on what a rank has of so many parameters: reads the gradient, reads and writes the copy and
// both moments, writes the parameter: 30 bytes each, at the speed of the memory.
base::Duration optimizer_time(uint64_t parameters, const Gpu& gpu);

}  // namespace tulle::workload
