// The order of work of a pipeline stage: which micro-batch of which chunk of layers goes forward or
// backward next.
//
// 1F1B and interleaved: arXiv 2104.04473. Zero bubble: ZB-H1 of arXiv 2401.10241, which delays the
// gradients of weights until a stage would be idle. DualPipe: arXiv 2412.19437, with micro-batches
// from both ends of the pipeline, so each stage has two parts of the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tulle::workload {

enum class PipelineSchedule : uint8_t { one_forward_one_backward, interleaved, zero_bubble, dual };

std::string_view name_of(PipelineSchedule schedule);

struct Slot {
    enum class Kind : uint8_t {
        forward,
        backward,          // both kinds of gradients
        input_gradients,   // the previous stage waits for these
        weight_gradients,  // no other stage waits for these
    };
    Kind kind = Kind::forward;
    uint32_t chunk = 0;
    uint32_t micro_batch = 0;
    // It is done together with the next slot, as DualPipe does a forward and a backward pass: they
    // begin when both may, and other stages get the results when both are complete.
    bool goes_on = false;
    bool operator==(const Slot&) const = default;

    bool is_forward() const { return kind == Kind::forward; }
    // True if the previous stage waits for it.
    bool sends_back() const { return kind == Kind::backward || kind == Kind::input_gradients; }
    // True if it completes gradients of weights.
    bool has_weights() const { return kind == Kind::backward || kind == Kind::weight_gradients; }
};

// The stage and chunk that hold a part of the model.
struct StagePlace {
    uint32_t stage = 0;
    uint32_t chunk = 0;
    bool operator==(const StagePlace&) const = default;
};

struct Pipeline {
    PipelineSchedule schedule = PipelineSchedule::one_forward_one_backward;
    uint32_t stages = 1;
    uint32_t chunks = 1;  // per stage; 2 for DualPipe
    uint32_t micro_batches = 1;

    // The number of parts that the layers are cut into. Both chunks of DualPipe hold the same
    // parts.
    uint32_t parts() const;
    uint32_t part_of(StagePlace place) const;
    // The place that activations go to next; nullopt: to the loss.
    std::optional<StagePlace> next(StagePlace place) const;
    // The place that gradients go to next; nullopt: this place has the embedding.
    std::optional<StagePlace> previous(StagePlace place) const;
    std::vector<Slot> slots(uint32_t stage) const;
    // The first and last micro-batch of a chunk.
    uint32_t first_micro_batch(uint32_t chunk) const;
    uint32_t last_micro_batch(uint32_t chunk) const;
};

}  // namespace tulle::workload
