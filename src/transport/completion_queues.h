// The completion queues of an adapter, by number.
#pragma once

#include "transport/core.h"

namespace tulle::transport {

class CompletionQueues {
public:
    explicit CompletionQueues(Core& core) : core_(core) {}

    CqId create(uint32_t capacity);
    Refusal destroy(CqId cq);
    Refusal resize(CqId cq, uint32_t capacity);
    Refusal arm(CqId cq, CompletionQueue::Wish wish);
    size_t poll(CqId cq, std::span<Completion> into) {
        CompletionQueue* queue = core_.completion_queue(cq);
        return queue == nullptr ? 0 : queue->poll(into);
    }
    bool has_any(CqId cq) {
        const CompletionQueue* queue = core_.completion_queue(cq);
        return queue != nullptr && queue->size() != 0;
    }

private:
    Core& core_;
};

}  // namespace tulle::transport
