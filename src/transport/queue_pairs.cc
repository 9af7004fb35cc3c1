#include "transport/queue_pairs.h"

#include "transport/attributes.h"
#include "transport/completer.h"
#include "transport/failure.h"
#include "transport/multicast.h"
#include "transport/rd.h"
#include "transport/room_budget.h"

namespace tulle::transport {

// An XRC target needs neither completion queues nor a protection domain: SRQs have them. An
// initiator receives nothing.
bool QueuePairs::has_queues(const QpSetup& setup) {
    if (setup.type == QpType::xrc_target) return true;
    if (core_.completion_queue(setup.send_cq) == nullptr) return false;
    return setup.type == QpType::xrc_initiator ||
           core_.completion_queue(setup.receive_cq) != nullptr;
}

bool QueuePairs::is_sane(const QpSetup& setup) {
    if (core_.is_broken || setup.type > QpType::xrc_target) return false;  // not for users
    if ((setup.type == QpType::rd) != core_.rd_domains.knows(setup.rd_domain)) return false;
    const bool is_target = setup.type == QpType::xrc_target;
    if (is_target != core_.xrc_domains.knows(setup.xrc_domain)) return false;
    if (!core_.memory.knows(setup.pd) && (!is_target || setup.pd.value != 0)) return false;
    if (!has_queues(setup)) return false;
    if (setup.srq.value == 0) return true;
    const SharedReceiveQueue* shared = core_.shared_queue(setup.srq);
    return service_of(setup.type) != Service::xrc && shared != nullptr &&
           shared->xrc_domain.value == 0;
}

std::optional<Qpn> QueuePairs::set_up(QueuePair* qp, const QpSetup& setup) {
    if (qp == nullptr) return std::nullopt;
    qp->pd = setup.pd;
    qp->send_cq = setup.send_cq;
    qp->receive_cq = setup.receive_cq;
    qp->srq = setup.srq;
    qp->xrc_domain = setup.xrc_domain;
    qp->rd_domain = setup.rd_domain;
    qp->send_size = setup.send;
    qp->receive_requests = setup.receive_requests;
    qp->receive_sges = setup.receive_sges;
    qp->signal_all = setup.signal_all;
    if (setup.pd.value != 0) core_.memory.hold(setup.pd);
    if (CompletionQueue* queue = core_.completion_queue(setup.send_cq)) ++queue->users;
    if (CompletionQueue* queue = core_.completion_queue(setup.receive_cq)) ++queue->users;
    if (setup.xrc_domain.value != 0) core_.xrc_domains.hold(setup.xrc_domain);
    if (setup.rd_domain.value != 0) core_.rd_domains.hold(setup.rd_domain);
    if (SharedReceiveQueue* shared = core_.shared_queue(setup.srq)) ++shared->users;
    return qp->number;
}

std::optional<Qpn> QueuePairs::create(const QpSetup& setup) {
    if (!is_sane(setup)) return std::nullopt;
    return set_up(core_.add(setup.type), setup);
}

std::optional<Qpn> QueuePairs::create_gsi(QpSetup setup) {
    setup.type = QpType::ud;
    if (!is_sane(setup)) return std::nullopt;
    return set_up(core_.add_special(kGeneralServices, QpType::ud), setup);
}

// Releases everything that set_up() took.
void QueuePairs::release(const QueuePair& qp) {
    if (qp.pd.value != 0) core_.memory.release(qp.pd);
    if (CompletionQueue* queue = core_.completion_queue(qp.send_cq)) --queue->users;
    if (CompletionQueue* queue = core_.completion_queue(qp.receive_cq)) --queue->users;
    if (qp.xrc_domain.value != 0) core_.xrc_domains.release(qp.xrc_domain);
    if (qp.rd_domain.value != 0) core_.rd_domains.release(qp.rd_domain);
    if (SharedReceiveQueue* shared = core_.shared_queue(qp.srq)) --shared->users;
}

Refusal QueuePairs::destroy(Qpn qpn) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr) return Refusal::invalid_argument;
    if (Multicast(core_).has(qpn)) return Refusal::busy;
    reset(*qp);
    release(*qp);
    core_.remove(*qp);
    return Refusal::none;
}

void QueuePairs::forget_completions(Qpn qpn) {
    const QueuePair* qp = core_.find(qpn);
    if (qp == nullptr) return;
    const auto forget = [&](CompletionQueue* queue) {
        if (queue != nullptr) queue->remove(qpn);
    };
    if (qp->type != QpType::xrc_target) {
        forget(core_.completion_queue(qp->send_cq));
        return forget(core_.completion_queue(qp->receive_cq));
    }
    // Its receives complete on the queues of their shared receive queues.
    for (auto& queue : core_.completion_queues) forget(queue.get());
}

Refusal QueuePairs::modify(Qpn qpn, const QpAttributes& attributes, uint32_t mask) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr || !is_legal(core_, *qp, attributes, mask)) return Refusal::invalid_argument;
    const QpState to = (mask & kState) != 0 ? attributes.state : qp->state;
    if (core_.is_broken && to != QpState::reset && to != QpState::error)
        return Refusal::invalid_argument;
    apply(core_, *qp, attributes, mask);
    if (to != qp->state) change_state(*qp, to);
    // A queue pair with nothing to send must not be in line before those that have something.
    const bool is_idle = qp->requester.oldest == qp->requester.end && !qp->may_answer();
    if (!is_idle || (qp->type != QpType::rc && qp->type != QpType::uc)) core_.wake(*qp);
    return Refusal::none;
}

void QueuePairs::change_state(QueuePair& qp, QpState state) {
    switch (state) {
        case QpState::reset: return reset(qp);
        case QpState::error: return enter_error(core_, qp);
        default: break;
    }
    qp.state = state;
    if (qp.state == QpState::sqd) complete_done(core_, qp);  // nothing in progress: drained at once
}

// Back to the initial state: posted requests are dropped without a completion (10.3.1). A message
// in progress returns its receive to a shared queue.
void QueuePairs::reset(QueuePair& qp) {
    ResponderState& responder = qp.responder;
    if (SharedReceiveQueue* shared = core_.shared_queue(qp.srq);
        shared != nullptr && responder.receive_place != ReceiveQueue::kNone)
        shared->queue.give_back(responder.receive_place);
    if (SharedReceiveQueue* shared = core_.shared_queue(qp.srq); shared != nullptr && qp.spread)
        for (const uint32_t place : qp.spread->messages.take_receives())
            shared->queue.give_back(place);
    if (qp.type == QpType::xrc_target) qp.srq = SrqId{};
    if (qp.type == QpType::rd) {
        withdraw_request(core_, qp);
        for (const uint32_t place : take_back_receives(core_, qp))
            core_.receive_queue_of(qp).give_back(place);
    }
    forget_rooms(core_, qp);
    qp.state = QpState::reset;
    qp.migration = Migration::migrated;
    qp.requester = RequesterState{};
    qp.responder = ResponderState{};
    qp.send_queue.reset();
    qp.receive_queue.reset();
    qp.early.reset();
    qp.scoreboard.reset();
    qp.spread.reset();
}

Refusal QueuePairs::fail(Qpn qpn) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr || qp->state == QpState::reset || qp->state == QpState::error)
        return Refusal::invalid_argument;
    core_.raise(EventKind::qp_fatal, qpn.value);
    break_queue_pair(core_, *qp, Status::general_error);
    return Refusal::none;
}

size_t QueuePairs::count() const {
    const auto live = std::count_if(core_.ee_contexts.begin(), core_.ee_contexts.end(),
                                    [](const auto& ee) { return ee != nullptr; });
    return core_.queue_pairs() - 2 * static_cast<size_t>(live);
}

void QueuePairs::set_congestion_control(Qpn qpn, const CongestionControl& control) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr) return;
    qp->congestion = control;
    core_.on_new_path(*qp);
    if (control.algorithm == Algorithm::plugin) begin_plugin(*qp);
}

void QueuePairs::keep_marks_to_itself(Qpn qpn) {
    if (QueuePair* qp = core_.find(qpn)) qp->responder.next_notification = Instant::never();
}

// A flow's number is the same in every run: the end point and the queue pair number.
void QueuePairs::begin_plugin(QueuePair& qp) {
    const uint64_t number = uint64_t{core_.config.endpoint.value} << 24 | qp.number.value;
    qp.plugin_flow =
        qp.congestion.plugin.begin(number, {&qp.prototype.entropy, &qp.requester.middles_left});
    qp.congestion.take_window(qp.congestion.plugin);
}

const PluginFlow* QueuePairs::failed_plugin() {
    const PluginFlow* first = nullptr;
    core_.for_each([&](const QueuePair& qp) {
        const PluginFlow* flow = qp.plugin_flow.get();
        if (flow == nullptr || flow->fault() == nullptr) return;
        if (first == nullptr || flow->fault()->at < first->fault()->at) first = flow;
    });
    return first;
}

void QueuePairs::set_loss_policy(Qpn qpn, LossPolicy policy) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr || qp->type >= QpType::ee_requester) return;
    // A queue pair with go-back-N may start selective repeat at any time. One with selective repeat
    // must keep its state.
    const bool has_books = qp->early || qp->scoreboard;
    if (policy == LossPolicy::selective_repeat || !has_books) qp->loss = policy;
}

void QueuePairs::set_sharing_rooms(Qpn qpn, bool is_on) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr || qp->shares_rooms == is_on) return;
    forget_rooms(core_, *qp);
    const bool is_connection = qp->type == QpType::rc || qp->type == QpType::xrc_initiator;
    qp->shares_rooms = is_on && is_connection && core_.config.room_packets != 0;
}

void QueuePairs::set_ack_timeout(Instant now, Qpn qpn, uint8_t code) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr) return;
    qp->address.ack_timeout = code;
    start_timer(core_, *qp, now);
}

}  // namespace tulle::transport
