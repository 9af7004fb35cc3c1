#include "transport/completer.h"

#include <algorithm>

#include "transport/notify.h"
#include "transport/rd.h"
#include "transport/retry.h"
#include "transport/transfer.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using wire::AckKind;
using wire::Operation;
using wire::Position;
using wire::psn_before;
using wire::psn_distance;
using wire::psn_plus;

CompletionKind kind_of(Work work) {
    switch (work) {
        case Work::write:
        case Work::write_with_immediate: return CompletionKind::write;
        case Work::read: return CompletionKind::read;
        case Work::compare_swap: return CompletionKind::compare_swap;
        case Work::fetch_add: return CompletionKind::fetch_add;
        case Work::local_invalidate: return CompletionKind::local_invalidate;
        case Work::bind_window: return CompletionKind::bind_window;
        case Work::flush: return CompletionKind::flush;
        case Work::atomic_write: return CompletionKind::atomic_write;
        default: return CompletionKind::send;
    }
}

void count_failure(Counters& counters, Status status) {
    if (status == Status::flushed) {
        ++counters.req_cqe_flush_error;
        return;
    }
    ++counters.req_cqe_error;
    if (status == Status::remote_access_error) ++counters.req_remote_access_errors;
    if (status == Status::remote_invalid_request) ++counters.req_remote_invalid_request;
    if (status == Status::rnr_retry_exceeded) ++counters.rnr_nak_retry_err;
}

// Takes the oldest request out of the queue, with a completion if one is due: always for a failure.
void complete_oldest(Core& core, QueuePair& qp, Status status) {
    RequesterState& r = qp.requester;
    const SendWork& work = (*qp.send_queue)[r.oldest];
    const bool begun = r.oldest != r.begun;
    if (begun && work.awaits_data()) --r.awaiting_data;
    ++r.oldest;
    if (!begun) ++r.begun;
    if (static_cast<int32_t>(r.current - r.oldest) < 0) r.current = r.oldest;
    if (qp.type == QpType::ee_requester) return finish_message(core, qp);
    if (status != Status::success) count_failure(core.counters, status);
    const bool signalled = qp.signal_all || (work.flags & kSignalled) != 0;
    if (!signalled && status == Status::success) return;
    Completion completion;
    completion.id = work.id;
    completion.status = status;
    completion.kind = kind_of(work.work);
    completion.vendor_error = vendor_error_of(status);
    completion.byte_count = status == Status::success ? work.length : 0;
    completion.qpn = qp.number;
    core.complete(qp.send_cq, completion);
}

// Says once that a send queue that shall drain has nothing under way any more (10.3.1.5).
void tell_if_drained(Core& core, QueuePair& qp) {
    if (qp.state != QpState::sqd || !qp.drain_notify) return;
    if (qp.requester.oldest != qp.requester.begun) return;
    qp.drain_notify = false;
    core.raise(EventKind::sq_drained, qp.number.value);
}

// An answer is missing that should have come before this one.
void on_missing_answer(Core& core, QueuePair& qp, Instant now) {
    if (!qp.requester.recovering) ++core.counters.implied_nak_seq_err;
    retry_lost(core, qp, now, qp.requester.unacknowledged);
}

// All of it, or done within the adapter.
bool is_answered(const RequesterState& r, const SendWork& work) {
    return work.packets == 0 ? work.is_done : !psn_before(r.unacknowledged, work.end_psn());
}

// Everything before `end` has arrived. False if that cannot be: the answer to a READ or an atomic
// before it is missing, so it was lost, and is asked for again (9.7.5.2.8).
bool acknowledge(Core& core, QueuePair& qp, Instant now, Psn end, bool marked) {
    RequesterState& r = qp.requester;
    const Psn before = r.unacknowledged;
    bool answers_missing = false;
    while (r.oldest != r.begun) {
        const SendWork& work = (*qp.send_queue)[r.oldest];
        if (is_answered(r, work)) {
            complete_oldest(core, qp, Status::success);
            continue;
        }
        if (work.packets == 0 || !psn_before(work.first_psn, end)) break;
        if (work.awaits_data()) {
            answers_missing = psn_before(r.unacknowledged, end);
            break;
        }
        const bool whole = !psn_before(end, work.end_psn());
        r.unacknowledged = whole ? work.end_psn() : end;
        if (!whole) break;
    }
    if (r.unacknowledged != before) {
        on_progress(core, qp, now, psn_distance(before, r.unacknowledged), marked);
        tell_if_drained(core, qp);
    }
    if (!answers_missing) return true;
    on_missing_answer(core, qp, now);
    return false;
}

// Before the oldest PSN without an answer: an answer that came before. Behind what was sent: a
// ghost of an earlier connection (9.7.5.1.3).
bool is_awaited(const RequesterState& r, const Packet& packet) {
    return !psn_before(packet.psn(), r.unacknowledged) && psn_before(packet.psn(), r.sent_end);
}

void take_credits(QueuePair& qp, uint8_t syndrome, uint32_t msn) {
    const uint8_t code = wire::ack_code(syndrome);
    RequesterState& r = qp.requester;
    r.peer_msn = msn;
    r.has_credits = code != wire::kNoCredits;
    if (r.has_credits) r.credit_limit = (msn + wire::credits_of(code)) & 0xff'ffff;
}

Status status_of_nak(uint8_t code) {
    switch (static_cast<wire::NakCode>(code)) {
        case wire::NakCode::invalid_request: return Status::remote_invalid_request;
        case wire::NakCode::remote_access_error: return Status::remote_access_error;
        case wire::NakCode::remote_operational_error: return Status::remote_operational_error;
        case wire::NakCode::invalid_rd_request: return Status::remote_invalid_rd_request;
        default: return Status::bad_response;
    }
}

void on_nak(Core& core, QueuePair& qp, Instant now, Psn psn, uint8_t code) {
    if (code == static_cast<uint8_t>(wire::NakCode::psn_sequence_error)) {
        ++core.counters.packet_seq_err;
        retry_lost(core, qp, now, psn);
        return;
    }
    fail_request(core, qp, request_of(qp, psn), status_of_nak(code));
}

void on_acknowledge(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    const uint8_t syndrome = packet.extended.ack.syndrome;
    const uint8_t code = wire::ack_code(syndrome);
    switch (wire::ack_kind(syndrome)) {
        case AckKind::ack:
            take_credits(qp, syndrome, packet.extended.ack.msn);
            acknowledge(core, qp, now, psn_plus(packet.psn(), 1), is_marked(packet));
            return;
        case AckKind::rnr_nak:
            if (acknowledge(core, qp, now, packet.psn(), is_marked(packet)))
                on_receiver_not_ready(core, qp, now, packet.psn(), code);
            return;
        case AckKind::nak:
            if (acknowledge(core, qp, now, packet.psn(), is_marked(packet)))
                on_nak(core, qp, now, packet.psn(), code);
            return;
        case AckKind::reserved: ++core.counters.dropped_silently; return;
    }
}

// The request that this answer with data belongs to, once everything before it is acknowledged.
// Nothing if the answer is none that is waited for now.
const SendWork* answered_request(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    const Psn psn = packet.psn();
    if (!acknowledge(core, qp, now, psn, is_marked(packet))) return nullptr;
    RequesterState& r = qp.requester;
    if (r.oldest == r.begun) return nullptr;
    const SendWork& work = (*qp.send_queue)[r.oldest];
    if (!work.awaits_data() || psn_before(psn, work.first_psn)) return nullptr;
    if (psn == r.unacknowledged) return &work;
    // Later than the one that is due: those between are lost.
    on_missing_answer(core, qp, now);
    return nullptr;
}

// Each answer but the last is a whole MTU, and the last brings the rest (9.7.5.2.3).
bool has_right_size(const QueuePair& qp, const SendWork& work, uint32_t index, Position position,
                    uint32_t length) {
    const uint32_t left = work.work == Work::read ? work.length - index * qp.mtu : 0;
    const bool last = index + 1 == work.packets;
    const bool says_last = position == Position::last || position == Position::only;
    return last == says_last && length == std::min(left, qp.mtu);
}

// A switch cut the answer's payload off. It is asked for again when its turn comes: those before it
// may only have been overtaken.
void on_trimmed_answer(Core& core, QueuePair& qp, Instant now, Psn psn) {
    RequesterState& r = qp.requester;
    if (!r.trimmed || psn_before(psn, *r.trimmed)) r.trimmed = psn;
    if (*r.trimmed != r.unacknowledged) return;
    r.trimmed.reset();
    on_missing_answer(core, qp, now);
}

void on_read_response(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    const SendWork* work = answered_request(core, qp, now, packet);
    if (work == nullptr) return;
    RequesterState& r = qp.requester;
    const uint32_t number = r.oldest;
    const wire::OpcodeInfo& info = wire::opcode_info(static_cast<uint8_t>(packet.opcode));
    const uint32_t index = psn_distance(work->first_psn, packet.psn());
    const bool expects_this =
        work->work == Work::read || work->work == Work::flush || work->work == Work::atomic_write;
    if (!expects_this || !has_right_size(qp, *work, index, info.position, packet.payload_length))
        return fail_request(core, qp, number, Status::bad_response);
    if ((info.headers & wire::kAeth) != 0)
        take_credits(qp, packet.extended.ack.syndrome, packet.extended.ack.msn);
    if (scatter(core, qp.send_queue->sges(number), qp.pd, index * qp.mtu, packet) != Scatter::done)
        return fail_request(core, qp, number, Status::local_protection_error);
    r.unacknowledged = psn_plus(packet.psn(), 1);
    on_progress(core, qp, now, 1, is_marked(packet));
    complete_done(core, qp);
    if (r.trimmed == r.unacknowledged) on_trimmed_answer(core, qp, now, r.unacknowledged);
}

void on_atomic_response(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    const SendWork* work = answered_request(core, qp, now, packet);
    if (work == nullptr) return;
    RequesterState& r = qp.requester;
    const uint32_t number = r.oldest;
    if (work->work != Work::compare_swap && work->work != Work::fetch_add)
        return fail_request(core, qp, number, Status::bad_response);
    take_credits(qp, packet.extended.ack.syndrome, packet.extended.ack.msn);
    const uint64_t original = packet.extended.ack.original;
    const auto bytes = std::as_bytes(std::span(&original, 1));
    if (scatter_bytes(core, qp.send_queue->sges(number), qp.pd, 0, bytes.data(), 8) !=
        Scatter::done)
        return fail_request(core, qp, number, Status::local_protection_error);
    r.unacknowledged = psn_plus(packet.psn(), 1);
    on_progress(core, qp, now, 1, is_marked(packet));
    complete_done(core, qp);
}

}  // namespace

void on_response(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    if (!is_awaited(qp.requester, packet) ||
        (qp.state != QpState::rts && qp.state != QpState::sqd)) {
        ++core.counters.dropped_silently;
        return;
    }
    if (packet.trimmed) return on_trimmed_answer(core, qp, now, packet.psn());
    switch (wire::operation_of(static_cast<uint8_t>(packet.opcode))) {
        case Operation::acknowledge: on_acknowledge(core, qp, now, packet); break;
        case Operation::atomic_acknowledge: on_atomic_response(core, qp, now, packet); break;
        default: on_read_response(core, qp, now, packet); break;
    }
    core.wake(qp);
}

bool acknowledge_middle(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    RequesterState& r = qp.requester;
    const uint8_t syndrome = packet.extended.ack.syndrome;
    if (r.oldest == r.begun || wire::ack_kind(syndrome) != AckKind::ack || packet.trimmed ||
        packet.payload_length != 0 || !is_awaited(r, packet))
        return false;
    const SendWork& work = (*qp.send_queue)[r.oldest];
    const Psn end = psn_plus(packet.psn(), 1);
    const uint32_t arrived = psn_distance(work.first_psn, end);
    if (work.awaits_data() || arrived == 0 || arrived >= work.packets) return false;
    take_credits(qp, syndrome, packet.extended.ack.msn);
    const uint32_t packets = psn_distance(r.unacknowledged, end);
    r.unacknowledged = end;
    on_progress(core, qp, now, packets, false);
    core.wake(qp);
    return true;
}

void complete_done(Core& core, QueuePair& qp) {
    RequesterState& r = qp.requester;
    while (r.oldest != r.begun) {
        const SendWork& work = (*qp.send_queue)[r.oldest];
        if (!is_answered(r, work)) break;
        complete_oldest(core, qp, Status::success);
    }
    tell_if_drained(core, qp);
}

void complete_sent(Core& core, QueuePair& qp) {
    qp.requester.unacknowledged = qp.requester.send_psn;
    complete_done(core, qp);
}

void fail_request(Core& core, QueuePair& qp, uint32_t number, Status status) {
    TULLE_CHECK(number == qp.requester.oldest);
    if (qp.type == QpType::ee_requester) return abandon_message(core, qp, status);
    complete_oldest(core, qp, status);
    // No connection ends with a datagram, reliable or not.
    if (qp.is_reliable() && qp.type != QpType::rd) return enter_error(core, qp);
    qp.state = QpState::sqe;
    flush_sends(core, qp);
}

void enter_error(Core& core, QueuePair& qp) {
    if (qp.state == QpState::error) return;
    qp.state = QpState::error;
    flush_sends(core, qp);
    flush_receives(core, qp);
}

void flush_sends(Core& core, QueuePair& qp) {
    if (qp.type == QpType::rd) withdraw_request(core, qp);
    RequesterState& r = qp.requester;
    while (r.oldest != r.end) complete_oldest(core, qp, Status::flushed);
    r.current = r.begun = r.end;
    r.send_psn = r.unacknowledged = r.next_psn;
    r.ack_deadline = Instant::never();
    r.resend.reset();
}

void flush_receives(Core& core, QueuePair& qp) {
    const auto flush = [&](ReceiveQueue& queue, uint32_t place) {
        Completion completion;
        completion.id = queue.id(place);
        completion.status = Status::flushed;
        completion.kind = CompletionKind::receive;
        completion.vendor_error = kVendorFlushed;
        completion.qpn = qp.number;
        queue.release(place);
        ++core.counters.resp_cqe_flush_error;
        core.complete(core.receive_cq_of(qp), completion);
    };
    ResponderState& responder = qp.responder;
    if (responder.receive_place != ReceiveQueue::kNone) {
        flush(core.receive_queue_of(qp), responder.receive_place);
        responder.receive_place = ReceiveQueue::kNone;
    }
    responder.message = ResponderState::Message::none;
    if (qp.type == QpType::rd)
        for (const uint32_t place : take_back_receives(core, qp))
            flush(core.receive_queue_of(qp), place);
    if (qp.type == QpType::xrc_target) return;  // none of the queues is its own
    if (qp.srq.value != 0) return core.raise(EventKind::qp_last_receive_reached, qp.number.value);
    if (!qp.receive_queue) return;
    for (uint32_t place = qp.receive_queue->take(); place != ReceiveQueue::kNone;
         place = qp.receive_queue->take())
        flush(*qp.receive_queue, place);
}

}  // namespace tulle::transport
