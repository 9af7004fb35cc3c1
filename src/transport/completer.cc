#include "transport/completer.h"

#include <algorithm>

#include "transport/notify.h"
#include "transport/rd.h"
#include "transport/retry.h"
#include "transport/room_budget.h"
#include "transport/selective.h"
#include "transport/transfer.h"
#include "transport/unordered.h"
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

// Removes the oldest request from the queue, with a completion if one is due: for a failure always.
void complete_oldest(Core& core, QueuePair& qp, Status status) {
    RequesterState& r = qp.requester;
    const SendWork& work = (*qp.send_queue)[r.oldest];
    const bool begun = r.oldest != r.begun;
    if (begun && work.awaits_data()) --r.awaiting_data;
    ++r.oldest;
    if (!begun) ++r.begun;
    if (qp.shares_rooms && begun) on_work_ended(core, qp, work);
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

// Reports once that a send queue to be drained has nothing in progress any more (10.3.1.5).
void tell_if_drained(Core& core, QueuePair& qp) {
    if (qp.state != QpState::sqd || !qp.drain_notify) return;
    if (qp.requester.oldest != qp.requester.begun) return;
    qp.drain_notify = false;
    core.raise(EventKind::sq_drained, qp.number.value);
}

// The peer's answer about `end` shows that earlier answers are missing.
void on_missing_answer(Core& core, QueuePair& qp, Instant now, Psn end) {
    RequesterState& r = qp.requester;
    if (!repeats_selectively(core, qp)) {
        if (!r.recovering) ++core.counters.implied_nak_seq_err;
        return retry_lost(core, qp, now, r.unacknowledged, false);
    }
    const uint32_t due = r.repairs_due;
    on_answers_missing(core, qp, now, end);
    if (r.repairs_due > due) ++core.counters.implied_nak_seq_err;
}

// The work is fully answered, or done within the adapter.
bool is_answered(const RequesterState& r, const SendWork& work) {
    return work.packets == 0 ? work.is_done : !psn_before(r.unacknowledged, work.end_psn());
}

// Everything before `end` has arrived. False if the answer to an earlier READ or atomic is missing:
// then it was lost, and is requested again (9.7.5.2.8).
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
    on_missing_answer(core, qp, now, end);
    return false;
}

// Before the oldest PSN without an answer: a duplicate answer. Behind the last PSN sent: a ghost of
// an earlier connection (9.7.5.1.3).
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

bool is_sequence_error(uint8_t code) {
    return code == static_cast<uint8_t>(wire::NakCode::psn_sequence_error);
}

void on_nak(Core& core, QueuePair& qp, Instant now, Psn psn, uint8_t code) {
    if (is_sequence_error(code)) {
        ++core.counters.packet_seq_err;
        return retry_lost(core, qp, now, psn, true);
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
                on_receiver_not_ready(core, qp, now, packet.psn(), code, false);
            return;
        case AckKind::nak:
            if (acknowledge(core, qp, now, packet.psn(), is_marked(packet)))
                on_nak(core, qp, now, packet.psn(), code);
            return;
        case AckKind::reserved: ++core.counters.dropped_silently; return;
    }
}

// The same from a peer that keeps early packets: its answer also reports packets, and none that it
// has is retransmitted.
void on_selective(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    const Packet::Ack& ack = packet.extended.ack;
    const Psn psn = packet.psn();
    const AckKind kind = wire::ack_kind(ack.syndrome);
    const bool is_new = is_awaited(qp.requester, packet);
    if (is_new && kind == AckKind::ack) take_credits(qp, ack.syndrome, ack.msn);
    if (is_new)
        acknowledge(core, qp, now, kind == AckKind::ack ? psn_plus(psn, 1) : psn,
                    is_marked(packet));
    on_selective_ack(core, qp, now, ack.selective);
    if (!is_new || kind == AckKind::ack || qp.requester.oldest == qp.requester.begun) return;
    const uint8_t code = wire::ack_code(ack.syndrome);
    if (kind == AckKind::rnr_nak) return on_receiver_not_ready(core, qp, now, psn, code, true);
    ++core.counters.packet_seq_err;
    repair_if_idle(core, qp, now, psn);
}

// Whether this is such an answer; every other NAK ends the request.
bool is_selective(const Core& core, const QueuePair& qp, const Packet& packet) {
    if (!repeats_selectively(core, qp) || !packet.has_selective_ack()) return false;
    const uint8_t syndrome = packet.extended.ack.syndrome;
    const AckKind kind = wire::ack_kind(syndrome);
    return kind == AckKind::ack || kind == AckKind::rnr_nak ||
           (kind == AckKind::nak && is_sequence_error(wire::ack_code(syndrome)));
}

// Go-back-N has set its position back to before this answer. It belongs to what was asked for
// earlier, tells nothing of what is missing now, and will be asked for again.
bool is_of_earlier_burst(const RequesterState& r, Psn psn) {
    return !psn_before(psn, r.send_psn);
}

// The request of this answer with data, once everything before it is acknowledged. Nothing if no
// such answer is expected now.
std::optional<uint32_t> answered_request(Core& core, QueuePair& qp, Instant now,
                                         const Packet& packet) {
    const Psn psn = packet.psn();
    const bool takes_early = repeats_selectively(core, qp);
    if (!acknowledge(core, qp, now, psn, is_marked(packet)) && !takes_early) return std::nullopt;
    const RequesterState& r = qp.requester;
    if (r.oldest == r.begun) return std::nullopt;
    const uint32_t number = takes_early ? request_of(qp, psn) : r.oldest;
    if (number == r.begun) return std::nullopt;
    const SendWork& work = (*qp.send_queue)[number];
    if (!work.awaits_data() || psn_before(psn, work.first_psn)) return std::nullopt;
    if (psn == r.unacknowledged || takes_early) return number;
    if (is_of_earlier_burst(r, psn)) return std::nullopt;
    // Later than the expected one: those between are lost.
    on_missing_answer(core, qp, now, psn);
    return std::nullopt;
}

// An invalid answer. It ends the request if it is the oldest.
void refuse_answer(Core& core, QueuePair& qp, uint32_t number, Status status) {
    if (number == qp.requester.oldest) return fail_request(core, qp, number, status);
    ++core.counters.dropped_silently;
}

// Catches up on what the peer carried out, or answered, while earlier answers were missing.
void catch_up(Core& core, QueuePair& qp) {
    RequesterState& r = qp.requester;
    const Psn delivered = qp.scoreboard->delivered_end();
    while (r.oldest != r.begun) {
        const SendWork& work = (*qp.send_queue)[r.oldest];
        if (is_answered(r, work)) {
            complete_oldest(core, qp, Status::success);
            continue;
        }
        if (work.packets == 0) return;
        Psn end = psn_before(delivered, work.end_psn()) ? delivered : work.end_psn();
        if (work.awaits_data()) end = end_of_answers(qp, work);
        if (!psn_before(r.unacknowledged, end)) return;
        r.unacknowledged = end;
    }
}

// Called when the data is in its place.
void finish_answer(Core& core, QueuePair& qp, Instant now, uint32_t number, const Packet& packet) {
    RequesterState& r = qp.requester;
    const Psn before = r.unacknowledged;
    if (r.repairing || packet.psn() != before) {
        if (!take_answer(core, qp, packet.psn(), (*qp.send_queue)[number])) return;
        catch_up(core, qp);
    } else {
        r.unacknowledged = psn_plus(packet.psn(), 1);
    }
    // Early data counts as an answer too.
    r.retries_left = qp.retry_count;
    if (r.unacknowledged != before)
        on_progress(core, qp, now, psn_distance(before, r.unacknowledged), is_marked(packet));
    complete_done(core, qp);
}

// Each answer but the last is a full MTU, and the last has the rest (9.7.5.2.3). A part that was
// asked for by itself also has a last answer.
bool has_right_size(const Core& core, const QueuePair& qp, const SendWork& work,
                    const Packet& packet) {
    const uint32_t index = psn_distance(work.first_psn, packet.psn());
    const Position position = wire::opcode_info(static_cast<uint8_t>(packet.opcode)).position;
    const uint32_t left = work.work == Work::read ? work.length - index * qp.mtu : 0;
    const bool last = index + 1 == work.packets;
    const bool says_last = position == Position::last || position == Position::only;
    const auto& cut_end = qp.requester.cut_end;
    const bool may_end = says_last && (repeats_selectively(core, qp) ||
                                       (cut_end && psn_before(packet.psn(), *cut_end)));
    return (last == says_last || may_end) && packet.payload_length == std::min(left, qp.mtu);
}

// A switch trimmed the answer's payload. Selective repeat requests it again at once. Go-back-N does
// so at its turn, because earlier answers may just have been overtaken.
void on_trimmed_answer(Core& core, QueuePair& qp, Instant now, Psn psn) {
    RequesterState& r = qp.requester;
    if (repeats_selectively(core, qp)) {
        const uint32_t number = request_of(qp, psn);
        if (number == r.begun || !(*qp.send_queue)[number].awaits_data()) return;
        ++core.counters.implied_nak_seq_err;
        return on_answer_trimmed(core, qp, now, psn, (*qp.send_queue)[number]);
    }
    if (!qp.spread && qp.congestion.algorithm != Algorithm::none)
        on_signal(qp.congestion, now,
                  {.trimmed_packets = 1, .packets_in_flight = packets_in_flight(qp)});
    if (is_of_earlier_burst(r, psn)) return;
    if (!r.trimmed || psn_before(psn, *r.trimmed)) r.trimmed = psn;
    if (*r.trimmed != r.unacknowledged) return;
    r.trimmed.reset();
    if (!r.recovering) ++core.counters.implied_nak_seq_err;
    retry_lost(core, qp, now, psn, true);
}

void on_read_response(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    const auto number = answered_request(core, qp, now, packet);
    if (!number) return;
    const SendWork& work = (*qp.send_queue)[*number];
    const wire::OpcodeInfo& info = wire::opcode_info(static_cast<uint8_t>(packet.opcode));
    const uint32_t index = psn_distance(work.first_psn, packet.psn());
    const bool expects_this =
        work.work == Work::read || work.work == Work::flush || work.work == Work::atomic_write;
    if (!expects_this || !has_right_size(core, qp, work, packet))
        return refuse_answer(core, qp, *number, Status::bad_response);
    if ((info.headers & wire::kAeth) != 0)
        take_credits(qp, packet.extended.ack.syndrome, packet.extended.ack.msn);
    if (scatter(core, qp.send_queue->sges(*number), qp.pd, index * qp.mtu, packet) != Scatter::done)
        return refuse_answer(core, qp, *number, Status::local_protection_error);
    finish_answer(core, qp, now, *number, packet);
    RequesterState& r = qp.requester;
    if (r.trimmed == r.unacknowledged) on_trimmed_answer(core, qp, now, r.unacknowledged);
}

void on_atomic_response(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    const auto number = answered_request(core, qp, now, packet);
    if (!number) return;
    const SendWork& work = (*qp.send_queue)[*number];
    if (work.work != Work::compare_swap && work.work != Work::fetch_add)
        return refuse_answer(core, qp, *number, Status::bad_response);
    take_credits(qp, packet.extended.ack.syndrome, packet.extended.ack.msn);
    const uint64_t original = packet.extended.ack.original;
    const auto bytes = std::as_bytes(std::span(&original, 1));
    if (scatter_bytes(core, qp.send_queue->sges(*number), qp.pd, 0, bytes.data(), 8) !=
        Scatter::done)
        return refuse_answer(core, qp, *number, Status::local_protection_error);
    finish_answer(core, qp, now, *number, packet);
}

void on_answer(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    if (packet.trimmed) return on_trimmed_answer(core, qp, now, packet.psn());
    if (is_selective(core, qp, packet)) return on_selective(core, qp, now, packet);
    switch (wire::operation_of(static_cast<uint8_t>(packet.opcode))) {
        case Operation::acknowledge: on_acknowledge(core, qp, now, packet); break;
        case Operation::atomic_acknowledge: on_atomic_response(core, qp, now, packet); break;
        default: on_read_response(core, qp, now, packet); break;
    }
    if (qp.shares_rooms) on_arrivals(core, qp, now);
    core.wake(qp);
}

}  // namespace

void on_response(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    if ((!is_awaited(qp.requester, packet) && !may_tell(core, qp, packet)) ||
        (qp.state != QpState::rts && qp.state != QpState::sqd)) {
        ++core.counters.dropped_silently;
        return;
    }
    if (!qp.spread) return on_answer(core, qp, now, packet);
    const SpreadAnswer answer = begin_spread_answer(qp, now, packet);
    on_answer(core, qp, now, packet);
    end_spread_answer(core, qp, now, answer);
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
    if (qp.shares_rooms) [[unlikely]]
        on_arrivals(core, qp, now);
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
    // A datagram's error does not end a connection, reliable or not.
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
    close_repairs(qp);
    forget_rooms(core, qp);
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
    if (qp.spread)
        for (const uint32_t place : qp.spread->messages.take_receives())
            flush(core.receive_queue_of(qp), place);
    if (responder.receive_place != ReceiveQueue::kNone) {
        flush(core.receive_queue_of(qp), responder.receive_place);
        responder.receive_place = ReceiveQueue::kNone;
    }
    responder.message = ResponderState::Message::none;
    if (qp.type == QpType::rd)
        for (const uint32_t place : take_back_receives(core, qp))
            flush(core.receive_queue_of(qp), place);
    if (qp.type == QpType::xrc_target) return;  // it owns none of the queues
    if (qp.srq.value != 0) return core.raise(EventKind::qp_last_receive_reached, qp.number.value);
    if (!qp.receive_queue) return;
    for (uint32_t place = qp.receive_queue->take(); place != ReceiveQueue::kNone;
         place = qp.receive_queue->take())
        flush(*qp.receive_queue, place);
}

}  // namespace tulle::transport
