#include "transport/xrc.h"

namespace tulle::transport {

Ruling check_xrc_srq(Core& core, QueuePair& qp, const Packet& packet) {
    const SrqId named{packet.srq_or_ee};
    const SharedReceiveQueue* shared = core.shared_queue(named);
    if (shared == nullptr || shared->xrc_domain != qp.xrc_domain) return Ruling::invalid_request;
    const bool under_way = qp.responder.message != ResponderState::Message::none;
    if (under_way && named != qp.srq) return Ruling::invalid_request;
    qp.srq = named;
    return Ruling::accept;
}

Asker xrc_asker(Core& core, const QueuePair& qp, const Packet& packet) {
    if (qp.pd.value != 0) return qp.asker();
    const SharedReceiveQueue* shared = core.shared_queue(SrqId{packet.srq_or_ee});
    const bool allowed = shared != nullptr && shared->xrc_domain == qp.xrc_domain;
    return {allowed ? shared->pd : PdId{}, qp.number};
}

void forget_xrc_srq(Core& core, SrqId srq) {
    core.for_each([&](QueuePair& qp) {
        if (qp.type != QpType::xrc_target || qp.srq != srq) return;
        qp.responder.receive_place = ReceiveQueue::kNone;
        qp.srq = SrqId{};
    });
}

}  // namespace tulle::transport
