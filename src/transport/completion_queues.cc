#include "transport/completion_queues.h"

namespace tulle::transport {

CqId CompletionQueues::create(uint32_t capacity) {
    // Each queue may have one pending event. Reserving its place here avoids a later allocation.
    while (core_.events.capacity() < core_.completion_queues.size() + 1) core_.events.grow();
    core_.completion_queues.push_back(std::make_unique<CompletionQueue>(capacity));
    return CqId{static_cast<uint32_t>(core_.completion_queues.size())};
}

Refusal CompletionQueues::destroy(CqId cq) {
    CompletionQueue* queue = core_.completion_queue(cq);
    if (queue == nullptr) return Refusal::invalid_argument;
    if (queue->users != 0) return Refusal::busy;
    core_.completion_queues[cq.value - 1].reset();
    return Refusal::none;
}

Refusal CompletionQueues::resize(CqId cq, uint32_t capacity) {
    CompletionQueue* queue = core_.completion_queue(cq);
    if (queue == nullptr || !queue->resize(capacity)) return Refusal::invalid_argument;
    return Refusal::none;
}

Refusal CompletionQueues::arm(CqId cq, CompletionQueue::Wish wish) {
    CompletionQueue* queue = core_.completion_queue(cq);
    if (queue == nullptr) return Refusal::invalid_argument;
    if (queue->arm(wish)) core_.raise(EventKind::completion, cq.value);
    return Refusal::none;
}

}  // namespace tulle::transport
