#include "workload/training/pipeline.h"

#include <algorithm>
#include <array>
#include <deque>

namespace tulle::workload {
namespace {

using Kind = Slot::Kind;

std::vector<Slot> one_forward_one_backward(const Pipeline& pipeline, uint32_t stage) {
    const uint32_t batches = pipeline.micro_batches;
    const uint32_t warm_up = std::min(pipeline.stages - stage - 1, batches);
    std::vector<Slot> slots;
    for (uint32_t i = 0; i < batches + warm_up; ++i) {
        if (i < batches) slots.push_back({Kind::forward, 0, i});
        if (i >= warm_up) slots.push_back({Kind::backward, 0, i - warm_up});
    }
    return slots;
}

// Groups of micro-batches, one per stage, pass through all chunks, one chunk after the other.
std::vector<Slot> interleaved(const Pipeline& pipeline, uint32_t stage) {
    const uint32_t p = pipeline.stages;
    const uint32_t v = pipeline.chunks;
    const uint32_t all = pipeline.micro_batches * v;
    const uint32_t warm_up = std::min(2 * (p - stage - 1) + (v - 1) * p, all);
    const auto slot = [&](Kind kind, uint32_t i) {
        const uint32_t turn = i % (p * v) / p;
        const uint32_t chunk = kind == Kind::forward ? turn : v - 1 - turn;
        return Slot{kind, chunk, i / (p * v) * p + i % p};
    };
    std::vector<Slot> slots;
    for (uint32_t i = 0; i < all + warm_up; ++i) {
        if (i < all) slots.push_back(slot(Kind::forward, i));
        if (i >= warm_up) slots.push_back(slot(Kind::backward, i - warm_up));
    }
    return slots;
}

// As 1F1B, but a stage delays gradients of weights by as many micro-batches as there are stages
// before it. Then all stages keep as many activations as the first.
std::vector<Slot> zero_bubble(const Pipeline& pipeline, uint32_t stage) {
    std::vector<Slot> slots;
    uint32_t weights = 0;
    for (const Slot& slot : one_forward_one_backward(pipeline, stage)) {
        slots.push_back(slot);
        if (slot.is_forward()) continue;
        slots.back().kind = Kind::input_gradients;
        if (slot.micro_batch >= stage) slots.push_back({Kind::weight_gradients, 0, weights++});
    }
    while (weights < pipeline.micro_batches)
        slots.push_back({Kind::weight_gradients, 0, weights++});
    return slots;
}

// The eight steps of DualPipe, of which the pairs of a forward and a backward pass are done
// together (deepseek-ai/DualPipe; arXiv 2412.19437). A stage of the second half does the same as
// its mirror stage, with the directions exchanged. Micro-batches of direction 1 are numbered after
// those of direction 0.
class DualPipe {
public:
    DualPipe(const Pipeline& pipeline, uint32_t stage)
        : half_(pipeline.micro_batches / 2), is_mirrored_(stage >= pipeline.stages / 2) {
        const uint32_t stages = pipeline.stages;
        const uint32_t place = std::min(stage, stages - 1 - stage);
        const uint32_t inner = stages / 2 - place - 1;  // stages between this one and the middle
        repeat(2 * inner, [&] { forward(0); });
        repeat(place + 1, [&] { forward(0), forward(1); });
        repeat(inner, [&] { input_gradients(1), last_weights(), forward(1); });
        repeat(half_ + place + 1 - stages, [&] { both(0, 1), both(1, 0); });
        repeat(inner, [&] { backward(1), both(1, 0); });
        drain(place);
        repeat(inner, [&] { weights(), input_gradients(0); });
        repeat(place + 1, [&] { weights(); });
    }

    std::vector<Slot> slots;

private:
    template <class Step>
    static void repeat(uint32_t times, Step step) {
        for (uint32_t i = 0; i < times; ++i) step();
    }

    // From the middle on, gradients of weights are delayed.
    void drain(uint32_t place) {
        const uint32_t turns = place + 1;
        bool waits = false;
        for (uint32_t i = 0; i < turns; ++i) {
            if (i == turns / 2 && place % 2 == 1) waits = true;
            waits ? input_gradients(1) : backward(1);
            if (i == turns / 2 && place % 2 == 0) waits = true;
            waits ? input_gradients(0) : backward(0);
        }
    }

    uint32_t chunk(uint32_t direction) const { return is_mirrored_ ? 1 - direction : direction; }
    void forward(uint32_t direction) {
        const uint32_t c = chunk(direction);
        slots.push_back({Kind::forward, c, c * half_ + forwards_[c]++});
    }
    void input_gradients(uint32_t direction) {
        const uint32_t c = chunk(direction);
        slots.push_back({Kind::input_gradients, c, c * half_ + backwards_[c]++});
        waiting_.push_back({Kind::weight_gradients, c, slots.back().micro_batch});
    }
    void weights() {
        slots.push_back(waiting_.front());
        waiting_.pop_front();
    }
    void last_weights() {
        slots.push_back(waiting_.back());
        waiting_.pop_back();
    }
    void backward(uint32_t direction) {
        input_gradients(direction);
        slots.back().goes_on = true;
        last_weights();
    }
    void both(uint32_t forwards, uint32_t backwards) {
        forward(forwards);
        slots.back().goes_on = true;
        backward(backwards);
    }

    uint32_t half_;
    bool is_mirrored_;
    std::array<uint32_t, 2> forwards_{};
    std::array<uint32_t, 2> backwards_{};
    std::deque<Slot> waiting_;
};

}  // namespace

std::string_view name_of(PipelineSchedule schedule) {
    switch (schedule) {
        case PipelineSchedule::one_forward_one_backward: return "1f1b";
        case PipelineSchedule::interleaved: return "interleaved";
        case PipelineSchedule::zero_bubble: return "zero_bubble";
        case PipelineSchedule::dual: return "dualpipe";
    }
    return "";
}

uint32_t Pipeline::parts() const {
    return schedule == PipelineSchedule::dual ? stages : stages * chunks;
}

uint32_t Pipeline::part_of(StagePlace place) const {
    if (schedule == PipelineSchedule::dual)
        return place.chunk == 0 ? place.stage : stages - 1 - place.stage;
    return place.chunk * stages + place.stage;
}

std::optional<StagePlace> Pipeline::next(StagePlace place) const {
    if (schedule == PipelineSchedule::dual && place.chunk == 1) {
        if (place.stage == 0) return std::nullopt;
        return StagePlace{place.stage - 1, 1};
    }
    if (place.stage + 1 < stages) return StagePlace{place.stage + 1, place.chunk};
    if (schedule == PipelineSchedule::dual || place.chunk + 1 == chunks) return std::nullopt;
    return StagePlace{0, place.chunk + 1};
}

std::optional<StagePlace> Pipeline::previous(StagePlace place) const {
    if (schedule == PipelineSchedule::dual && place.chunk == 1) {
        if (place.stage + 1 == stages) return std::nullopt;
        return StagePlace{place.stage + 1, 1};
    }
    if (place.stage > 0) return StagePlace{place.stage - 1, place.chunk};
    if (schedule == PipelineSchedule::dual || place.chunk == 0) return std::nullopt;
    return StagePlace{stages - 1, place.chunk - 1};
}

std::vector<Slot> Pipeline::slots(uint32_t stage) const {
    switch (schedule) {
        case PipelineSchedule::one_forward_one_backward:
            return one_forward_one_backward(*this, stage);
        case PipelineSchedule::interleaved: return interleaved(*this, stage);
        case PipelineSchedule::zero_bubble: return zero_bubble(*this, stage);
        case PipelineSchedule::dual: return DualPipe(*this, stage).slots;
    }
    return {};
}

uint32_t Pipeline::first_micro_batch(uint32_t chunk) const {
    return schedule == PipelineSchedule::dual && chunk == 1 ? micro_batches / 2 : 0;
}

uint32_t Pipeline::last_micro_batch(uint32_t chunk) const {
    return schedule == PipelineSchedule::dual && chunk == 0 ? micro_batches / 2 - 1
                                                            : micro_batches - 1;
}

}  // namespace tulle::workload
