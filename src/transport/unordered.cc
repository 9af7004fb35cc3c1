#include "transport/unordered.h"

#include <algorithm>
#include <bit>

#include "transport/credit/credit.h"
#include "transport/notify.h"
#include "transport/responder.h"
#include "transport/responses.h"
#include "transport/retry.h"
#include "transport/transfer.h"

namespace tulle::transport {
namespace {

using wire::Position;
using wire::psn_before;
using wire::psn_distance;
using wire::psn_plus;

bool brings_write(const Packet& packet) {
    return is_write(operation_of(packet));
}

bool brings_send(const Packet& packet) {
    return is_send(operation_of(packet));
}

bool ends_message(const Packet& packet) {
    const Position position = info_of(packet).position;
    return position == Position::last || position == Position::only;
}

Psn first_of(const Packet& packet) {
    return psn_plus(packet.psn(), wire::kPsnMask + 1 - packet.srq_or_ee);
}

uint32_t offset_in_message(const QueuePair& qp, const Packet& packet) {
    return packet.srq_or_ee * qp.mtu;
}

// All packets but the last are full MTUs, and a WRITE has its announced length.
bool fits_its_message(const QueuePair& qp, const Packet& packet) {
    const uint32_t length = packet.payload_length;
    if (uint64_t{packet.srq_or_ee} * qp.mtu + length > kMaxMessage) return false;
    if (!ends_message(packet)) return length == qp.mtu;
    if (length > qp.mtu || (length == 0 && packet.srq_or_ee != 0)) return false;
    return !brings_write(packet) ||
           uint64_t{offset_in_message(qp, packet)} + length == packet.extended.rdma.dma_length;
}

// The data of a WRITE goes to the address in its packet.
Ruling place_write(Core& core, QueuePair& qp, const Packet& packet) {
    if ((qp.access & kRemoteWrite) == 0) return Ruling::invalid_request;
    if (packet.payload_length == 0) return Ruling::accept;
    const Packet::Rdma& rdma = packet.extended.rdma;
    const auto grant = core.memory.check(rdma.rkey.value, qp.asker(), rdma.virtual_address,
                                         packet.payload_length, kRemoteWrite);
    return grant && store(*grant, 0, packet) ? Ruling::accept : Ruling::remote_access_error;
}

Ruling take_receive_for(Core& core, QueuePair& qp, PartialMessage& message) {
    if (message.receive_place != ReceiveQueue::kNone) return Ruling::accept;
    if (core.has_broken_receives(qp)) return Ruling::receives_broken;
    message.receive_place = core.receive_queue_of(qp).take();
    return message.receive_place != ReceiveQueue::kNone ? Ruling::accept
                                                        : Ruling::receiver_not_ready;
}

// The data of a SEND goes into the receive of its message. The first packet to arrive takes the
// receive, so messages take receives in the order in which they begin to arrive.
Ruling place_send(Core& core, QueuePair& qp, const Packet& packet) {
    PartialMessage& message = qp.spread->messages.of(first_of(packet));
    if (const Ruling v = take_receive_for(core, qp, message); v != Ruling::accept) {
        qp.spread->messages.forget(message);
        return v;
    }
    const auto sges = core.receive_queue_of(qp).sges(message.receive_place);
    switch (scatter(core, sges, core.receive_pd_of(qp), offset_in_message(qp, packet), packet)) {
        case Scatter::done: break;
        case Scatter::too_long: return Ruling::receive_too_short;
        case Scatter::not_allowed: return Ruling::remote_operational_error;
    }
    return Ruling::accept;
}

Ruling place(Core& core, QueuePair& qp, const Packet& packet) {
    if (!fits_its_message(qp, packet)) return Ruling::invalid_request;
    return brings_write(packet) ? place_write(core, qp, packet) : place_send(core, qp, packet);
}

// All packets of the message have arrived, and it has a receive.
Ruling complete_message(Core& core, QueuePair& qp, PartialMessage& message) {
    ResponderState& r = qp.responder;
    Packet last = message.last;
    // The last packet of a long WRITE has an opcode without an address, so its immediate data must
    // move.
    if (brings_write(last) && (info_of(last).headers & wire::kReth) == 0)
        last.extended.send = {{}, {}, last.extended.rdma.immediate_or_flush};
    const bool invalidates = (info_of(last).headers & wire::kIeth) != 0;
    if (invalidates && !core.memory.invalidate(last.extended.send.immediate_or_rkey, qp.asker()))
        return Ruling::remote_access_error;
    if (brings_write(last)) ++core.counters.rx_write_requests;
    r.receive_place = message.receive_place;
    r.received = message.bytes;
    r.msn = (r.msn + 1) & 0xff'ffff;
    qp.spread->messages.forget(message);
    if (r.receive_place != ReceiveQueue::kNone) steps::end_receive(core, qp, last, Status::success);
    return Ruling::accept;
}

// Counts the packet for its message, which may now be whole.
Ruling count(Core& core, QueuePair& qp, const Packet& packet) {
    PartialMessage& message = qp.spread->messages.of(first_of(packet));
    const uint32_t packets_before = message.packets;
    ++message.here;
    message.bytes += packet.payload_length;
    if (ends_message(packet)) {
        message.packets = packet.srq_or_ee + 1;
        message.last = packet;
    }
    if (!message.is_whole()) return Ruling::accept;
    Ruling verdict = Ruling::accept;
    const bool needs_receive =
        brings_write(message.last) && (info_of(message.last).headers & wire::kImmDt) != 0;
    if (needs_receive) verdict = take_receive_for(core, qp, message);
    if (verdict == Ruling::accept) verdict = complete_message(core, qp, message);
    if (verdict != Ruling::accept) {  // as if this packet had not arrived
        --message.here;
        message.bytes -= packet.payload_length;
        message.packets = packets_before;
    }
    return verdict;
}

// If a SEND's receive is at fault, that receive completes with the error.
void end_wrong_receive(Core& core, QueuePair& qp, const Packet& packet, Ruling verdict) {
    if (!brings_send(packet) ||
        (verdict != Ruling::receive_too_short && verdict != Ruling::remote_operational_error))
        return;
    PartialMessage& message = qp.spread->messages.of(first_of(packet));
    qp.responder.receive_place = message.receive_place;
    qp.responder.received = message.bytes + packet.payload_length;
    qp.spread->messages.forget(message);
    steps::end_receive(core, qp, packet,
                       verdict == Ruling::receive_too_short ? Status::local_length_error
                                                            : Status::local_protection_error);
}

// Whether the packet is processed on arrival; others wait for their turn. A key to be invalidated
// may belong to data still in flight.
bool goes_early(const QueuePair& qp, const Packet& packet) {
    const bool invalidates = (info_of(packet).headers & wire::kIeth) != 0;
    return brings_write(packet) ||
           (brings_send(packet) && !invalidates && qp.spread->delivery == Delivery::unordered);
}

void take_in_turn(Core& core, QueuePair& qp, const Packet& packet, bool is_placed) {
    ResponderState& r = qp.responder;
    r.nak_sent = false;
    if (!brings_write(packet) && !brings_send(packet))
        return steps::carry_out_in_turn(core, qp, packet);
    const bool is_counted = is_placed && qp.spread->delivery == Delivery::unordered;
    Ruling verdict = is_placed ? Ruling::accept : place(core, qp, packet);
    if (verdict == Ruling::accept && !is_counted) verdict = count(core, qp, packet);
    if (verdict != Ruling::accept) {
        end_wrong_receive(core, qp, packet, verdict);
        return steps::refuse(core, qp, packet, verdict);
    }
    r.expected = psn_plus(r.expected, 1);
}

// A SEND that takes a receive before its turn leaves one for each packet missing before it.
// Otherwise later messages could hold all receives, and wait for an earlier one.
bool leaves_receives(Core& core, QueuePair& qp, const Packet& packet) {
    if (!brings_send(packet)) return true;
    uint32_t missing = 0;
    for (Psn psn = qp.responder.expected; psn != packet.psn(); psn = psn_plus(psn, 1))
        missing += qp.early && qp.early->bitmap.has(psn) ? 0 : 1;
    return core.receive_queue_of(qp).waiting() > missing;
}

// Packets that cannot be processed now are kept, and judged again at their turn.
void take_early(Core& core, QueuePair& qp, const Packet& packet) {
    ResponderState& r = qp.responder;
    ++core.counters.out_of_sequence;
    if (psn_distance(r.expected, packet.psn()) >= core.config.reorder_packets) {
        ++core.counters.dropped_too_early;
        return;
    }
    bool is_placed = goes_early(qp, packet) && leaves_receives(core, qp, packet) &&
                     place(core, qp, packet) == Ruling::accept;
    if (is_placed && qp.spread->delivery == Delivery::unordered)
        is_placed = count(core, qp, packet) == Ruling::accept;
    steps::reorder_buffer(core, qp).keep(packet, r.expected, is_placed);
}

void take_those_whose_turn_it_is(Core& core, QueuePair& qp) {
    ResponderState& r = qp.responder;
    while (qp.receives() && !r.nak_sent && !qp.early->empty()) {
        const bool is_placed = qp.early->is_placed(r.expected);
        const auto packet = qp.early->take(r.expected);
        if (!packet) return;
        take_in_turn(core, qp, *packet, is_placed);
    }
}

bool is_here(const QueuePair& qp, Psn psn) {
    return psn_before(psn, qp.responder.expected) || qp.early->bitmap.has(psn);
}

// A switch trimmed the payload: the sender is told at once.
void on_cut_packet(Core& core, QueuePair& qp, const Packet& packet) {
    if (!is_here(qp, packet.psn())) qp.early->bitmap.note_trimmed(packet.psn());
    steps::acknowledge_newest(core, qp);
}

void on_known(Core& core, QueuePair& qp, const Packet& packet) {
    if (psn_before(packet.psn(), qp.responder.expected))
        return steps::answer_duplicate(core, qp, packet);
    ++core.counters.duplicate_request;
    steps::acknowledge_newest(core, qp);
}

// At once if the packet asks, or was marked. If an early packet asked, it is answered again when
// nothing is missing any more: the sender waits for the cumulative acknowledgement.
void acknowledge_if_due(Core& core, QueuePair& qp, const Packet& packet) {
    const bool has_own_answer = !brings_write(packet) && !brings_send(packet);
    const bool asks = packet.ack_request || qp.responder.echoes_mark;
    const bool is_closed = qp.spread->owes_answer && qp.early->empty();
    if (!qp.receives() || has_own_answer || (!asks && !is_closed)) return;
    qp.spread->owes_answer = !qp.early->empty();
    steps::acknowledge_newest(core, qp);
}

uint32_t received_ahead(const QueuePair& qp) {
    return qp.requester.repairing ? qp.scoreboard->received() : 0;
}

}  // namespace

void spread_request(Core& core, QueuePair& qp, Instant now, const SendWork& work,
                    const RequestPlan& plan, Packet& packet) {
    Spread& spread = *qp.spread;
    packet.entropy = spread.paths.next(now);
    spread.flights.note(plan.psn, qp.requester.unacknowledged, now, packet.entropy);
    packet.ack_request = packet.ack_request || plan.is_repair;
    if (!work.awaits_data()) {
        packet.srq_or_ee = psn_distance(work.first_psn, plan.psn);
        if (work.work <= Work::write_with_immediate)
            packet.extended.rdma = {work.remote_address + plan.offset,
                                    RKey{work.rkey},
                                    work.length,
                                    work.immediate,
                                    {},
                                    {}};
    }
    if (spread.credit.is_used()) spend_credit(core, qp, now, plan, packet);
}

SpreadAnswer begin_spread_answer(QueuePair& qp, Instant now, const Packet& packet) {
    Spread& spread = *qp.spread;
    SpreadAnswer answer{qp.requester.unacknowledged, received_ahead(qp), {}};
    answer.signal.marked = packet.becn;
    if (spread.credit.is_used()) spread.credit.on_answer(now);
    if (!packet.has_selective_ack()) {  // data that was asked for: it met the queues itself
        answer.signal.marked = packet.becn || is_marked(packet);
        answer.signal.trimmed_packets = packet.trimmed ? 1 : 0;
        return answer;
    }
    const wire::SelectiveAck& told = packet.extended.ack.selective;
    if (told.tells_trimmed())
        answer.signal.trimmed_packets = static_cast<uint32_t>(std::popcount(uint64_t{told.bits}));
    const Psn caused_by{packet.srq_or_ee};
    const auto round_trip = spread.flights.arrived(caused_by, packet.entropy, now);
    if (!round_trip) return answer;
    if (answer.signal.trimmed_packets != 0) {
        answer.signal.trimmed_round_trip = *round_trip;
        spread.paths.on_trimmed(packet.entropy);
    } else {
        answer.signal.round_trip = *round_trip;
        spread.paths.on_arrived(packet.entropy, packet.becn, *round_trip);
    }
    return answer;
}

void end_spread_answer(Core& core, QueuePair& qp, Instant now, SpreadAnswer answer) {
    if (qp.state == QpState::error) return;
    Signal& signal = answer.signal;
    // The count falls if a receiver that is not ready gives up a packet that it had.
    const uint32_t here =
        psn_distance(answer.oldest, qp.requester.unacknowledged) + received_ahead(qp);
    signal.acknowledged_packets = here - std::min(here, answer.received);
    signal.packets_in_flight = packets_in_flight(qp);
    const bool tells =
        signal.acknowledged_packets != 0 || signal.trimmed_packets != 0 || signal.marked;
    if (tells && qp.congestion.algorithm != Algorithm::none) on_signal(qp.congestion, now, signal);
    end_pause(qp, now);
    core.wake(qp);
}

void on_unordered_request(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    ResponderState& r = qp.responder;
    if (qp.spread->credit.is_used()) hear_demand(core, qp, now, packet);
    steps::reorder_buffer(core, qp);
    const bool is_known = !packet.trimmed && is_here(qp, packet.psn());
    if (packet.trimmed || is_known || packet.ack_request || r.echoes_mark) {
        qp.spread->caused_by = packet.psn();
        qp.spread->caused_entropy = packet.entropy;
    }
    if (packet.trimmed) return on_cut_packet(core, qp, packet);
    if (is_known) return on_known(core, qp, packet);
    if (packet.psn() == r.expected) {
        take_in_turn(core, qp, packet, false);
        take_those_whose_turn_it_is(core, qp);
    } else {
        take_early(core, qp, packet);
    }
    acknowledge_if_due(core, qp, packet);
}

}  // namespace tulle::transport
