// The computing time of layers on a rank, for one micro-batch, and their parameters.
//
// A matrix product runs at a share of the GPU's peak that is fitted to whole training steps
// (gpu.h), so it covers norms, activations and launches. Attention counts as the full square, as in
// flops_per_sequence(): half of it is masked, and attention kernels run at about half the speed of
// plain products. The embedding takes no time. The output layer belongs to the last layer.
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
    base::Duration input_gradients{};  // including what is recomputed first
    base::Duration weight_gradients{};
    base::Duration attention{};  // part of `forward`: scores and their use
    bool has_experts = false;
    bool is_layer = true;  // otherwise the embedding or the output, with a part of its own
    // Parameters of the rank, before ZeRO. The first layer includes the embedding, the last the
    // output.
    uint64_t common_parameters = 0;
    uint64_t expert_parameters = 0;

    base::Duration backward() const { return input_gradients + weight_gradients; }
};

// The hardware that computes.
struct Engine {
    Gpu gpu;
    uint32_t efficiency_permille = 0;  // 0: the measured value of the GPU
    // SMs that are reserved for communication.
    uint32_t communication_processors = 0;
    // The largest number of tokens of a GPU for its experts, over the average: all wait for that
    // GPU.
    uint64_t expert_load_permille = 1000;

    base::Duration time_for(base::uint128_t operations) const;
};

// The costs of each of `parts` parts that the layers are cut into.
std::vector<std::vector<LayerCost>> part_costs(const Model& model, const Layout& layout,
                                               const Engine& engine, uint32_t parts);

// The time of Adam on `parameters` of a rank. It reads the gradient, reads and writes the copy and
// both moments, and writes the parameter: 30 bytes per parameter, at the speed of the memory.
base::Duration optimizer_time(uint64_t parameters, const Gpu& gpu);

}  // namespace tulle::workload
