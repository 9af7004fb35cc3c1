// The shared receive queues of an adapter, by number.
#pragma once

#include <optional>

#include "transport/core.h"

namespace tulle::transport {

class SharedReceives {
public:
    explicit SharedReceives(Core& core) : core_(core) {}

    std::optional<SrqId> create(PdId pd, uint32_t requests, uint32_t sges);
    // One of an XRC domain, with its own completion queue. Its id is its number on the wire.
    std::optional<SrqId> create_for_xrc(XrcDomainId domain, PdId pd, CqId cq, uint32_t requests,
                                        uint32_t sges);
    Refusal set_limit(SrqId srq, uint32_t limit);
    Refusal resize(SrqId srq, uint32_t requests);
    Refusal destroy(SrqId srq);
    Refusal post(SrqId srq, const ReceiveRequest& request);
    uint32_t waiting(SrqId srq);
    // A failure that only the owner knows. A broken queue gives no receives: a message that needs
    // one ends its queue pair. The queue can only be destroyed.
    Refusal fail(SrqId srq);

    // For owners that complete receives on another adapter: takes out the oldest one. It keeps its
    // place, and counts as waiting, until one of the calls below.
    struct Taken {
        uint32_t place = 0;
        uint64_t id = 0;
        std::span<const Sge> sges;  // valid while it keeps its place
    };
    std::optional<Taken> take(SrqId srq);
    // It was not used: puts it back to the front.
    void give_back(SrqId srq, uint32_t place);
    // Drops it without a completion.
    void drop(SrqId srq, uint32_t place);
    // Completes it where the queue's receives do. `completion` has everything except the request's
    // id.
    void complete(SrqId srq, uint32_t place, Completion completion, bool solicited);

private:
    Core& core_;
};

}  // namespace tulle::transport
