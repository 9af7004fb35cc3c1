#include "transport/rd.h"

#include <algorithm>

#include "transport/completer.h"
#include "transport/responses.h"

namespace tulle::transport {
namespace {

using wire::psn_before;
using wire::psn_plus;
using Message = ResponderState::Message;

// The message that ends and the next one; a message is one request.
constexpr uint32_t kPlaces = 2;

EndToEnd& context_of(Core& core, const QueuePair& half) {
    EndToEnd* ee = core.end_to_end(half.ee);
    TULLE_CHECK(ee != nullptr);
    return *ee;
}

struct Source {
    QKey qkey;
    Qpn qpn;
};

// The datagram header; its place depends on the packet's other headers (wire/packet.h).
Source source_of(const Packet& packet) {
    const uint16_t headers = wire::opcode_info(static_cast<uint8_t>(packet.opcode)).headers;
    if ((headers & wire::kAtomicEth) != 0)
        return {packet.payload.rd_qkey(), packet.payload.rd_source_qp()};
    if ((headers & wire::kReth) != 0)
        return {packet.extended.rdma.qkey, packet.extended.rdma.source_qp};
    return {packet.extended.send.qkey, packet.extended.send.source_qp};
}

// Why this EE context cannot carry the request (11.6.2).
Status why_not(const QueuePair& qp, const EndToEnd* ee) {
    if (ee == nullptr) return Status::invalid_ee_context;
    if (ee->domain != qp.rd_domain) return Status::local_rdd_violation;
    if (ee->requester->state != QpState::rts) return Status::invalid_ee_state;
    return Status::success;
}

// Ends the current message, and returns its queue pair.
QueuePair& release_carried(Core& core, EndToEnd& ee) {
    QueuePair* qp = core.find(ee.carried);
    TULLE_CHECK(qp != nullptr);
    ee.carried = Qpn{};
    qp->ee = wire::EeContext{};
    return *qp;
}

void fail_oldest(Core& core, QueuePair& qp, Status status) {
    qp.ee = wire::EeContext{};
    fail_request(core, qp, qp.requester.oldest, status);
}

// The requester half drops its message. If part of it was sent, the peer does not know what to
// expect next, so RESYNC is due.
void drop_message(EndToEnd& ee) {
    RequesterState& r = ee.requester->requester;
    Psn next = r.next_psn;
    if (r.oldest != r.begun) {
        const Psn first = (*ee.requester->send_queue)[r.oldest].first_psn;
        const bool unsent = r.sent_end == first;
        if (unsent) next = first;
        ee.resync_due = ee.resync_due || !unsent;
    }
    const RequesterState old = r;
    r = RequesterState{};
    r.oldest = r.begun = r.current = r.end = old.end;
    r.next_psn = r.send_psn = r.unacknowledged = r.sent_end = r.asked_end = next;
    r.messages_begun = old.messages_begun;
    r.next_allowed = old.next_allowed;
    r.retries_left = ee.requester->retry_count;
    r.rnr_retries_left = ee.requester->rnr_retry;
}

SendRequest request_of(const QueuePair& qp) {
    const uint32_t number = qp.requester.oldest;
    const SendWork& work = (*qp.send_queue)[number];
    SendRequest request;
    request.id = work.id;
    request.work = work.work;
    request.flags = work.flags;
    request.sges = qp.send_queue->sges(number);
    if (work.is_inline()) request.inline_data = qp.send_queue->inline_data(number);
    request.remote_address = work.remote_address;
    request.rkey = work.rkey;
    request.immediate = work.immediate;
    request.compare_or_add = work.compare_or_add;
    request.swap = work.swap;
    request.datagram = work.datagram;
    return request;
}

// The queue of the half can hold any request of this queue pair.
void make_room(QueuePair& half, const SendQueueSize& size) {
    if (half.send_queue && half.send_size.sges >= size.sges &&
        half.send_size.inline_bytes >= size.inline_bytes)
        return;
    half.send_size = {.requests = kPlaces,
                      .sges = std::max(half.send_size.sges, size.sges),
                      .inline_bytes = std::max(half.send_size.inline_bytes, size.inline_bytes)};
    half.send_queue = std::make_unique<SendQueue>(half.send_size);
}

void put(QueuePair& half, const SendRequest& request) {
    TULLE_CHECK(half.send_queue->put(half.requester.end, request));
    ++half.requester.end;
}

void load_resync(EndToEnd& ee) {
    QueuePair& half = *ee.requester;
    SendRequest request;
    request.work = Work::resync;
    request.flags = 0;
    request.datagram = (*half.send_queue)[half.requester.end - 1].datagram;
    ee.resync_due = false;
    put(half, request);
}

void load_request(EndToEnd& ee, const QueuePair& qp) {
    QueuePair& half = *ee.requester;
    const SendRequest request = request_of(qp);
    make_room(half, qp.send_size);
    put(half, request);
    ee.carried = half.owner = qp.number;
    half.pd = qp.pd;
    half.qkey = qp.qkey;
    half.dest_qpn = request.datagram.qpn;
    // A suspended message has already spent some retries.
    const bool is_fresh = qp.requester.wait_until == Instant{};
    half.requester.rnr_retries_left = is_fresh ? half.rnr_retry : qp.requester.rnr_retries_left;
}

// Fails all requests that wait here.
void dismiss_waiting(Core& core, EndToEnd& ee, Status status) {
    while (!ee.waiting.empty()) fail_oldest(core, *core.find(ee.waiting.pop_front()), status);
}

// Completes the receive of the incoming message, if it has one, with this status.
void end_receive(Core& core, QueuePair& half, Status status) {
    ResponderState& r = half.responder;
    r.message = Message::none;
    if (r.receive_place == ReceiveQueue::kNone) return;
    ReceiveQueue& queue = core.receive_queue_of(half);
    Completion completion;
    completion.id = queue.id(r.receive_place);
    completion.status = status;
    completion.kind = CompletionKind::receive;
    completion.qpn = half.owner;
    completion.source_qp = half.dest_qpn;
    completion.source = half.address.endpoint;
    queue.release(r.receive_place);
    r.receive_place = ReceiveQueue::kNone;
    ++core.counters.resp_cqe_error;
    core.complete(core.receive_cq_of(half), completion);
}

// Enters a state in which nothing is carried: the current message and all waiting ones fail.
void stop(Core& core, EndToEnd& ee, QpState state, Status of_waiting) {
    ee.requester->state = ee.responder->state = state;
    drop_message(ee);
    ee.resync_due = false;
    ee.suspended = Qpn{};
    end_receive(core, *ee.responder, Status::local_eec_operation_error);
    if (ee.carried.value != 0)
        fail_oldest(core, release_carried(core, ee), Status::local_eec_operation_error);
    dismiss_waiting(core, ee, of_waiting);
}

void forget(EndToEnd& ee) {
    for (QueuePair* half : {ee.requester, ee.responder}) {
        half->requester = RequesterState{};
        half->responder = ResponderState{};
        half->send_queue.reset();
        half->early.reset();
    }
    ee.settled_msn = 0;
    ee.refused.reset();
}

// From here on the message uses the destination's memory, rights and receives.
void take_destination(QueuePair& half, const QueuePair& qp, Qpn source) {
    half.owner = qp.number;
    half.dest_qpn = source;
    half.pd = qp.pd;
    half.access = qp.access;
    half.srq = qp.srq;
    half.receive_cq = qp.receive_cq;
    half.min_rnr_timer = qp.min_rnr_timer;
    // One message at a time: all answers before it were received.
    half.responder.answers.clear();
}

// The peer abandoned the current message, or what it sent of it, and continues behind this PSN. The
// acknowledgement counts RESYNC as a message.
void on_resync(Core& core, EndToEnd& ee, const Packet& packet) {
    QueuePair& half = *ee.responder;
    ResponderState& r = half.responder;
    if (psn_before(packet.psn(), r.expected)) {
        ++core.counters.duplicate_request;
    } else {
        end_receive(core, half, Status::remote_aborted);
        r.expected = psn_plus(packet.psn(), 1);
        r.msn = (r.msn + 1) & 0xff'ffff;
        r.nak_sent = false;
        r.answers.clear();
        if (half.early) half.early->clear();
        ee.refused.reset();
        half.dest_qpn = source_of(packet).qpn;
    }
    answer_with(core, half, psn_plus(r.expected, wire::kPsnMask), ack_syndrome(core, half));
}

void finish_request(Core& core, QueuePair& qp) {
    qp.requester.wait_until = Instant{};
    (*qp.send_queue)[qp.requester.oldest].is_done = true;
    complete_done(core, qp);
    core.wake_on_its_lane(qp);
}

}  // namespace

EndToEnd* create_end_to_end(Core& core, RdDomainId domain) {
    QueuePair* requester = core.add_half(QpType::ee_requester);
    QueuePair* responder = core.add_half(QpType::ee_responder);
    if (requester == nullptr || responder == nullptr) {
        if (requester != nullptr) core.remove(*requester);
        return nullptr;
    }
    auto ee = std::make_unique<EndToEnd>();
    ee->number.value = static_cast<uint32_t>(core.ee_contexts.size()) + 1;
    ee->domain = domain;
    ee->requester = requester;
    ee->responder = responder;
    requester->ee = responder->ee = ee->number;
    core.rd_domains.hold(domain);
    core.ee_contexts.push_back(std::move(ee));
    return core.ee_contexts.back().get();
}

void change_end_to_end(Core& core, EndToEnd& ee, QpState state) {
    if (state == QpState::reset || state == QpState::error)
        stop(core, ee, state, Status::invalid_ee_state);
    if (state == QpState::reset) forget(ee);
    ee.requester->state = ee.responder->state = state;
    core.wake(*ee.requester);
}

void destroy_end_to_end(Core& core, EndToEnd& ee) {
    stop(core, ee, QpState::reset, Status::invalid_ee_context);
    core.rd_domains.release(ee.domain);
    core.remove(*ee.requester);
    core.remove(*ee.responder);
    core.ee_contexts[ee.number.value - 1].reset();
}

QueuePair* half_for(Core& core, const Packet& packet) {
    EndToEnd* ee = core.end_to_end(wire::EeContext{packet.srq_or_ee});
    if (ee == nullptr) return nullptr;
    const bool response = wire::opcode_info(static_cast<uint8_t>(packet.opcode)).response;
    return response ? ee->requester : ee->responder;
}

void on_rd_packet(Core& core, QueuePair& half, Instant now, const Packet& packet) {
    if (half.type == QpType::ee_requester) return on_response(core, half, now, packet);
    EndToEnd& ee = context_of(core, half);
    const auto operation = wire::operation_of(static_cast<uint8_t>(packet.opcode));
    if (operation == wire::Operation::resync) return on_resync(core, ee, packet);
    // A refused message stays refused until RESYNC; the NAK may have been lost.
    if (ee.refused && packet.psn() == half.responder.expected)
        return answer_with(core, half, packet.psn(), *ee.refused);
    on_request(core, half, now, packet);
}

void offer_request(Core& core, QueuePair& qp) {
    RequesterState& r = qp.requester;
    if (qp.ee.value != 0 || r.oldest == r.end) return;
    const bool is_new = r.oldest == r.begun;
    if (is_new && qp.state == QpState::sqd) return;
    const SendWork& work = (*qp.send_queue)[r.oldest];
    if (is_new) {
        if (work.awaits_data()) ++r.awaiting_data;
        r.begun = r.current = r.oldest + 1;
    }
    EndToEnd* ee = core.end_to_end(work.ee_context);
    const Status status = why_not(qp, ee);
    if (status != Status::success) return fail_oldest(core, qp, status);
    qp.ee = ee->number;
    if (ee->waiting.full()) ee->waiting.grow();
    ee->waiting.push_back(qp.number);
    core.wake_on_its_lane(*ee->requester);
}

void withdraw_request(Core& core, QueuePair& qp) {
    qp.requester.wait_until = Instant{};
    for (const auto& ee : core.ee_contexts)
        if (ee && ee->suspended == qp.number) ee->suspended = Qpn{};
    if (qp.ee.value == 0) return;
    EndToEnd& ee = context_of(core, qp);
    if (ee.carried == qp.number) {
        release_carried(core, ee);
        drop_message(ee);
        return core.wake(*ee.requester);
    }
    qp.ee = wire::EeContext{};
    for (size_t left = ee.waiting.size(); left > 0; --left)
        if (const Qpn other = ee.waiting.pop_front(); other != qp.number)
            ee.waiting.push_back(other);
}

std::vector<uint32_t> take_back_receives(Core& core, const QueuePair& qp) {
    std::vector<uint32_t> places;
    for (const auto& ee : core.ee_contexts) {
        if (!ee || ee->responder->owner != qp.number) continue;
        ResponderState& r = ee->responder->responder;
        r.message = Message::none;
        if (r.receive_place != ReceiveQueue::kNone) places.push_back(r.receive_place);
        r.receive_place = ReceiveQueue::kNone;
    }
    return places;
}

void load_message(Core& core, QueuePair& half) {
    EndToEnd& ee = context_of(core, half);
    const RequesterState& r = half.requester;
    if (half.state != QpState::rts || r.oldest != r.end) return;
    if (ee.resync_due) return load_resync(ee);
    if (!ee.waiting.empty()) load_request(ee, *core.find(ee.waiting.pop_front()));
}

// RESYNC counts as one message. If the peer counts one more, it is the suspended message: it was
// retransmitted, and arrived before its RNR NAK arrived here.
void finish_message(Core& core, QueuePair& half) {
    EndToEnd& ee = context_of(core, half);
    core.wake(half);
    const uint32_t done = (half.requester.peer_msn - ee.settled_msn) & wire::kPsnMask;
    ee.settled_msn = half.requester.peer_msn;
    if (ee.carried.value != 0) return finish_request(core, release_carried(core, ee));
    QueuePair* qp = core.find(ee.suspended);
    ee.suspended = Qpn{};
    if (qp == nullptr || done < 2) return;
    withdraw_request(core, *qp);
    finish_request(core, *qp);
}

void abandon_message(Core& core, QueuePair& half, Status status) {
    EndToEnd& ee = context_of(core, half);
    if (ee.carried.value == 0) {
        // It was RESYNC. Waiting requests were queued at a valid end-to-end context that does not
        // respond. That is not an error of state, nor of a request's own retries (11.6.2).
        core.raise(EventKind::ee_context_error, ee.number.value);
        return stop(
            core, ee, QpState::error,
            status == Status::retry_exceeded ? Status::response_timeout : Status::invalid_ee_state);
    }
    drop_message(ee);
    core.wake(half);
    fail_oldest(core, release_carried(core, ee), status);
}

void suspend_message(Core& core, QueuePair& half, Instant until) {
    EndToEnd& ee = context_of(core, half);
    const uint8_t retries_left = half.requester.rnr_retries_left;
    drop_message(ee);
    core.wake(half);
    QueuePair& qp = release_carried(core, ee);
    ee.suspended = qp.number;
    qp.requester.rnr_retries_left = retries_left;
    qp.requester.wait_until = until;
    core.look_again(qp, until);
}

void set_rd_headers(const QueuePair& half, QKey qkey, Packet& packet) {
    const uint16_t headers = wire::opcode_info(static_cast<uint8_t>(packet.opcode)).headers;
    packet.set_dest_qp(half.dest_qpn);
    packet.srq_or_ee = half.dest_ee.value;
    if ((headers & wire::kAtomicEth) != 0) {
        packet.payload = wire::Payload::rd_source(qkey, half.owner);
    } else if ((headers & wire::kReth) != 0) {
        packet.extended.rdma.qkey = qkey;
        packet.extended.rdma.source_qp = half.owner;
    }
}

// 9.7: the destination exists and receives, has the RD domain of the EE context, and its Q_Key
// matches. All packets of a message have the same destination.
Ruling check_rd_destination(Core& core, QueuePair& half, const Packet& packet) {
    const EndToEnd& ee = context_of(core, half);
    const Source source = source_of(packet);
    const QueuePair* qp = core.find(packet.dest_qp());
    if (qp == nullptr || qp->type != QpType::rd || !qp->receives() || qp->rd_domain != ee.domain)
        return Ruling::invalid_rd_request;
    if (source.qkey != qp->qkey) {
        ++core.counters.qkey_violations;
        return Ruling::invalid_rd_request;
    }
    if (half.responder.message == Message::none) {
        take_destination(half, *qp, source.qpn);
        return Ruling::accept;
    }
    const bool same = half.owner == qp->number && half.dest_qpn == source.qpn;
    return same ? Ruling::accept : Ruling::invalid_request;
}

// An error of its receive is the destination's own (9.9); every other error is the sender's, which
// will abandon the message.
void refuse_message(Core& core, QueuePair& half, Ruling verdict) {
    ResponderState& r = half.responder;
    context_of(core, half).refused = r.ack_syndrome;
    r.nak_sent = true;
    if (half.early) half.early->clear();
    QueuePair* qp = core.find(half.owner);
    if (is_of_receive(verdict) && qp != nullptr) enter_error(core, *qp);
}

}  // namespace tulle::transport
