#include "transport/shared_receives.h"

#include "transport/xrc.h"

namespace tulle::transport {
namespace {

constexpr uint32_t kMaxSrqNumber = 0xff'ffff;  // 24 bits in the XRCETH

}  // namespace

std::optional<SrqId> SharedReceives::create(PdId pd, uint32_t requests, uint32_t sges) {
    if (!core_.memory.knows(pd) || requests == 0) return std::nullopt;
    core_.shared_queues.push_back(std::make_unique<SharedReceiveQueue>(pd, requests, sges));
    core_.memory.hold(pd);
    return SrqId{static_cast<uint32_t>(core_.shared_queues.size())};
}

std::optional<SrqId> SharedReceives::create_for_xrc(XrcDomainId domain, PdId pd, CqId cq,
                                                    uint32_t requests, uint32_t sges) {
    CompletionQueue* completions = core_.completion_queue(cq);
    if (!core_.xrc_domains.knows(domain) || completions == nullptr) return std::nullopt;
    if (core_.shared_queues.size() >= kMaxSrqNumber) return std::nullopt;
    const auto srq = create(pd, requests, sges);
    if (!srq) return std::nullopt;
    SharedReceiveQueue& shared = *core_.shared_queue(*srq);
    shared.xrc_domain = domain;
    shared.cq = cq;
    core_.xrc_domains.hold(domain);
    ++completions->users;
    return srq;
}

Refusal SharedReceives::set_limit(SrqId srq, uint32_t limit) {
    SharedReceiveQueue* shared = core_.shared_queue(srq);
    if (shared == nullptr || limit > shared->queue.capacity()) return Refusal::invalid_argument;
    shared->limit = limit;
    return Refusal::none;
}

Refusal SharedReceives::resize(SrqId srq, uint32_t requests) {
    SharedReceiveQueue* shared = core_.shared_queue(srq);
    if (shared == nullptr || requests == 0 || requests < shared->limit)
        return Refusal::invalid_argument;
    return shared->queue.resize(requests);
}

Refusal SharedReceives::destroy(SrqId srq) {
    SharedReceiveQueue* shared = core_.shared_queue(srq);
    if (shared == nullptr) return Refusal::invalid_argument;
    if (shared->users != 0) return Refusal::busy;
    if (shared->xrc_domain.value != 0) {
        forget_xrc_srq(core_, srq);
        core_.xrc_domains.release(shared->xrc_domain);
        --core_.completion_queue(shared->cq)->users;
    }
    core_.memory.release(shared->pd);
    core_.shared_queues[srq.value - 1].reset();
    return Refusal::none;
}

Refusal SharedReceives::post(SrqId srq, const ReceiveRequest& request) {
    SharedReceiveQueue* shared = core_.shared_queue(srq);
    if (shared == nullptr || shared->is_broken) return Refusal::invalid_argument;
    return shared->queue.post(request);
}

uint32_t SharedReceives::waiting(SrqId srq) {
    const SharedReceiveQueue* shared = core_.shared_queue(srq);
    return shared == nullptr || shared->is_broken ? 0 : shared->queue.waiting();
}

Refusal SharedReceives::fail(SrqId srq) {
    SharedReceiveQueue* shared = core_.shared_queue(srq);
    if (shared == nullptr || shared->is_broken) return Refusal::invalid_argument;
    shared->is_broken = true;
    core_.raise(EventKind::srq_error, srq.value);
    return Refusal::none;
}

std::optional<SharedReceives::Taken> SharedReceives::take(SrqId srq) {
    SharedReceiveQueue* shared = core_.shared_queue(srq);
    if (shared == nullptr || shared->is_broken) return std::nullopt;
    const uint32_t place = shared->queue.take();
    if (place == ReceiveQueue::kNone) return std::nullopt;
    ++shared->lent;
    return Taken{place, shared->queue.id(place), shared->queue.sges(place)};
}

void SharedReceives::give_back(SrqId srq, uint32_t place) {
    SharedReceiveQueue* shared = core_.shared_queue(srq);
    TULLE_CHECK(shared != nullptr && shared->lent != 0);
    --shared->lent;
    shared->queue.give_back(place);
}

void SharedReceives::drop(SrqId srq, uint32_t place) {
    SharedReceiveQueue* shared = core_.shared_queue(srq);
    TULLE_CHECK(shared != nullptr && shared->lent != 0);
    --shared->lent;
    shared->queue.release(place);
}

void SharedReceives::complete(SrqId srq, uint32_t place, Completion completion, bool solicited) {
    SharedReceiveQueue* shared = core_.shared_queue(srq);
    TULLE_CHECK(shared != nullptr && shared->lent != 0);
    completion.id = shared->queue.id(place);
    drop(srq, place);
    core_.complete(shared->cq, completion, solicited);
    core_.watch_limit(srq);
}

}  // namespace tulle::transport
