#include "transport/requester.h"

#include <algorithm>

#include "base/guarded_copy.h"
#include "base/hot.h"
#include "transport/completer.h"
#include "transport/credit/credit.h"
#include "transport/rd.h"
#include "transport/retry.h"
#include "transport/room_budget.h"
#include "transport/selective.h"
#include "transport/transfer.h"
#include "transport/unordered.h"

namespace tulle::transport {
namespace {

using wire::Operation;
using wire::psn_before;
using wire::psn_distance;
using wire::psn_plus;

constexpr uint32_t kSequenceMask = 0xff'ffff;  // SSN, LSN and MSN count in 24 bits
constexpr uint32_t kPsnsApart = 0x80'0000;     // at this distance, before and behind are ambiguous

bool is_local(Work work) {
    return work == Work::local_invalidate || work == Work::bind_window;
}

bool takes_receive(Work work) {
    return work == Work::send || work == Work::send_with_immediate ||
           work == Work::send_with_invalidate || work == Work::write_with_immediate;
}

// The peer has reported how many messages it has receives for. If none is left, a single message
// may still be sent, to learn whether that has changed (9.7.7.2.5).
bool has_credit(const QueuePair& qp, const SendWork& work) {
    const RequesterState& r = qp.requester;
    if (!r.has_credits || !takes_receive(work.work)) return true;
    const uint32_t room = (r.credit_limit - r.messages_begun) & kSequenceMask;
    const bool beyond = room == 0 || room > kSequenceMask / 2;
    return !beyond || r.unacknowledged == r.next_psn;
}

// A fence waits for the READs and atomics before it (10.8.3.3). READs and atomics also wait at the
// peer's limit.
bool may_begin(const QueuePair& qp, const SendWork& work) {
    const RequesterState& r = qp.requester;
    if ((work.flags & kFence) != 0 && r.awaiting_data != 0) return false;
    if (qp.is_reliable() && work.awaits_data() && r.awaiting_data >= qp.max_reads) return false;
    return has_credit(qp, work);
}

// Work that sends nothing is carried out when everything before it is done: what it invalidates may
// still be in use (10.6.7.2.5).
Status do_local(Core& core, QueuePair& qp, const SendWork& work) {
    if (work.work == Work::bind_window) return core.memory.bind_type2(work.binding, qp.asker());
    const bool done = core.memory.invalidate(work.rkey, qp.asker());
    return done ? Status::success : Status::local_qp_operation_error;
}

// Requests complete in order: this one fails once those before it are done.
bool fail_in_turn(Core& core, QueuePair& qp, uint32_t number, Status status) {
    if (number == qp.requester.oldest) fail_request(core, qp, number, status);
    return false;
}

// Assigns PSNs to the next request. False if it has to wait.
bool begin(Core& core, QueuePair& qp, Instant now, uint32_t number) {
    RequesterState& r = qp.requester;
    SendWork& work = (*qp.send_queue)[number];
    work.first_psn = r.next_psn;
    if (is_local(work.work)) {
        if (number != r.oldest) return false;
        r.begun = number + 1;
        r.current = number + 1;
        const Status status = do_local(core, qp, work);
        work.is_done = true;
        if (status == Status::success)
            complete_done(core, qp);
        else
            fail_request(core, qp, number, status);
        return true;
    }
    // A queue pair with a limit of zero would wait for ever.
    if (qp.is_reliable() && work.awaits_data() && qp.max_reads == 0)
        return fail_in_turn(core, qp, number, Status::local_qp_operation_error);
    const uint32_t packets = packets_of(work, qp.mtu);
    if (packets >= kPsnsApart) return fail_in_turn(core, qp, number, Status::local_length_error);
    if (psn_distance(r.unacknowledged, r.next_psn) + packets >= kPsnsApart) return false;
    if (!may_begin(qp, work)) return false;
    if (qp.shares_rooms && !has_room(core, qp, now, work, packets)) return false;
    work.packets = packets;
    r.next_psn = psn_plus(r.next_psn, work.packets);
    r.begun = number + 1;
    r.messages_begun = (r.messages_begun + 1) & kSequenceMask;
    if (work.awaits_data()) ++r.awaiting_data;
    if (qp.shares_rooms) on_work_begun(core, qp, now, work, packets);
    return true;
}

Operation send_operation(const SendWork& work, bool first, bool last) {
    if (!last) return first ? Operation::send_first : Operation::send_middle;
    switch (work.work) {
        case Work::send_with_immediate:
            return first ? Operation::send_only_with_immediate
                         : Operation::send_last_with_immediate;
        case Work::send_with_invalidate:
            return first ? Operation::send_only_with_invalidate
                         : Operation::send_last_with_invalidate;
        default: return first ? Operation::send_only : Operation::send_last;
    }
}

Operation write_operation(const SendWork& work, bool first, bool last) {
    if (!last) return first ? Operation::write_first : Operation::write_middle;
    if (work.work == Work::write_with_immediate)
        return first ? Operation::write_only_with_immediate : Operation::write_last_with_immediate;
    return first ? Operation::write_only : Operation::write_last;
}

Operation operation_of(const SendWork& work, bool first, bool last) {
    switch (work.work) {
        case Work::read: return Operation::read_request;
        case Work::compare_swap: return Operation::compare_swap;
        case Work::fetch_add: return Operation::fetch_add;
        case Work::flush: return Operation::flush;
        case Work::atomic_write: return Operation::atomic_write;
        case Work::resync: return Operation::resync;
        case Work::write:
        case Work::write_with_immediate: return write_operation(work, first, last);
        default: return send_operation(work, first, last);
    }
}

// A Q_Key with its highest bit set stands for the queue pair's own Q_Key, which only privileged
// users can set (10.2.5).
QKey qkey_of(const QueuePair& qp, const SendWork& work) {
    return work.datagram.qkey.value >> 31 != 0 ? qp.qkey : work.datagram.qkey;
}

void set_extended(const QueuePair& qp, const SendWork& work, const RequestPlan& plan,
                  Packet& packet) {
    const uint16_t headers = wire::opcode_info(static_cast<uint8_t>(packet.opcode)).headers;
    const uint32_t tail = work.work == Work::send_with_invalidate ? work.rkey : work.immediate;
    packet.srq_or_ee = work.remote_srq.value;
    if ((headers & wire::kAtomicEth) != 0) {
        const bool swap = work.work == Work::compare_swap;
        packet.extended.atomic = {work.remote_address, swap ? work.swap : work.compare_or_add,
                                  swap ? work.compare_or_add : 0, RKey{work.rkey}};
    } else if ((headers & wire::kReth) != 0) {
        // A repeated READ requests only the missing part.
        const uint32_t feth = static_cast<uint32_t>(work.flush_selectivity << 4) |
                              static_cast<uint32_t>(work.flush_placement);
        packet.extended.rdma = {work.remote_address + plan.offset,
                                RKey{work.rkey},
                                plan.asked,
                                work.work == Work::flush ? feth : tail,
                                {},
                                {}};
    } else {
        packet.extended.send = {qkey_of(qp, work), qp.owner, tail};
    }
    if ((headers & wire::kRdeth) != 0) set_rd_headers(qp, qkey_of(qp, work), packet);
}

// A datagram has its own destination and traffic class.
void set_target(const QueuePair& qp, const DatagramTarget& target, Packet& packet) {
    packet.destination = target.endpoint.value & 0xff'ffff;
    packet.hop_limit = target.hop_limit;
    packet.traffic_class = qp.class_for(target.traffic_class);
    packet.service_level = target.service_level & 0xf;
    packet.entropy = static_cast<uint16_t>(0xc000 | (qp.number.value & 0x3fff));
    packet.set_dest_qp(target.qpn);
}

// The location of the payload. A message in one piece is checked once, as a whole.
std::optional<wire::Payload> payload_of(Core& core, QueuePair& qp, const SendWork& work,
                                        const RequestPlan& plan) {
    if (work.is_inline())
        return wire::Payload::memory(qp.send_queue->inline_data(plan.number).data() + plan.offset);
    const auto sges = qp.send_queue->sges(plan.number);
    if (sges.size() != 1) return gather(core, sges, qp.pd, plan.offset, plan.length);
    RequesterState& r = qp.requester;
    if (r.granted_number != plan.number || !r.is_granted || !core.memory.stands(r.grant)) {
        const auto grant =
            core.memory.check(sges[0].lkey, qp.asker(), sges[0].address, sges[0].length, 0);
        if (!grant) return std::nullopt;
        r.grant = *grant;
        r.granted_number = plan.number;
        r.is_granted = true;
    }
    if (r.grant.host == nullptr) return wire::Payload();
    // A program may have unmapped it meanwhile. The fast path does not check this: the owner of
    // such memory loses that packet, and its retransmission comes here.
    if (!base::is_readable_now(r.grant.host + plan.offset, plan.length)) return std::nullopt;
    return wire::Payload::memory(r.grant.host + plan.offset);
}

// Whether the message continues on the fast path after this packet: its data is in one piece,
// checked as a whole, and middle packets follow. Sets up the stream.
void keep_stream(QueuePair& qp, const SendWork& work, const RequestPlan& plan,
                 const Packet& packet) {
    RequesterState& r = qp.requester;
    const uint32_t index = psn_distance(work.first_psn, plan.psn);
    const bool short_way = qp.type_for(ShortWay::continue_message) <= QpType::uc && !qp.spread &&
                           r.is_granted && r.granted_number == plan.number && !work.is_inline();
    r.middles_left = short_way && index + 2 < work.packets ? work.packets - index - 2 : 0;
    if (r.middles_left == 0) return;
    r.stream = packet;
    r.stream.opcode = wire::opcode_of(qp.service(), work.work <= Work::write_with_immediate
                                                        ? Operation::write_middle
                                                        : Operation::send_middle);
    r.stream_psn = psn_plus(plan.psn, 1);
}

// The window of this queue pair: the limit of the adapter and of congestion control.
uint32_t window_of(const Core& core, const QueuePair& qp) {
    return std::min(core.config.max_packets_outstanding, qp.congestion.window_packets);
}

// Whether this new packet fits into the window. Packets that selective repeat knows as received or
// lost are not in flight. But a receiver keeps no packet too far ahead of a missing one.
bool fits_window(const Core& core, const QueuePair& qp, Psn psn) {
    const uint32_t ahead = psn_distance(qp.requester.unacknowledged, psn);
    if (!qp.requester.repairing) [[likely]]
        return ahead < window_of(core, qp);
    return ahead - qp.requester.settled_ahead < window_of(core, qp) &&
           ahead < core.config.reorder_packets;
}

// When a congestion window shrinks, all packets in flight may be ones that asked for no answer,
// because they fitted when they were sent. No answer would ever come, so one more packet is sent
// that asks.
[[gnu::noinline]] bool awaits_nothing(const QueuePair& qp, Psn psn) {
    const RequesterState& r = qp.requester;
    return qp.congestion.has_window() && !qp.requester.repairing && psn != r.unacknowledged &&
           !psn_before(r.unacknowledged, r.asked_end);
}

bool window_allows(const Core& core, const QueuePair& qp, Psn psn) {
    if (fits_window(core, qp, psn)) [[likely]]
        return true;
    return awaits_nothing(qp, psn);
}

// A READ that goes back asks for as many answers as the window takes, and for the next when those
// have come. All of the rest at once would meet the same queue again.
void limit_to_window(const Core& core, const QueuePair& qp, RequestPlan& plan) {
    const RequesterState& r = qp.requester;
    if (plan.operation != Operation::read_request || !psn_before(plan.psn, r.sent_end)) return;
    const uint32_t ahead = psn_distance(r.unacknowledged, plan.psn);
    const uint32_t window = window_of(core, qp);
    const uint64_t most = std::max(window, ahead + 1) - ahead;
    plan.asked = static_cast<uint32_t>(std::min<uint64_t>(plan.asked, most * qp.mtu));
}

// Each part is a request of its own to the peer, which takes no more of them than were negotiated.
// So the next one waits until all answers to the one before have come.
bool awaits_part(const QueuePair& qp, const SendWork& work) {
    const RequesterState& r = qp.requester;
    return work.work == Work::read && r.send_psn != work.first_psn &&
           r.send_psn != r.unacknowledged;
}

bool may_go_on(const Core& core, const QueuePair& qp) {
    const RequesterState& r = qp.requester;
    return window_allows(core, qp, r.send_psn) && !awaits_part(qp, (*qp.send_queue)[r.current]);
}

// How many packets may be retransmitted now. With several paths, congestion control counts them as
// in flight again; otherwise trimmed packets would circulate. But the oldest is always sent,
// because packets in flight may wait for it. After a timeout it alone goes again, and its arrival
// tells what else is lost. No credit is granted for the answers to READs: what is lost of them is
// asked for packet by packet (chosen), as under the smallest window.
uint32_t room_for_repairs(const Core& core, const QueuePair& qp) {
    if (!qp.spread) return UINT32_MAX;
    const RequesterState& r = qp.requester;
    const Psn lost = qp.scoreboard->first_lost(r.sent_end);
    const bool is_answer = psn_before(lost, qp.scoreboard->delivered_end());
    const uint32_t window = is_answer && qp.spread->credit.is_used() ? 1 : window_of(core, qp);
    const uint32_t in_flight = packets_in_flight(qp);
    if (in_flight < window) return window - in_flight;
    return lost == r.unacknowledged ? 1 : 0;
}

// Packets arrive in any order, so something always seems to be missing; and a window of only a few
// packets would wait for answers that nobody asked for.
bool asks_when_spread(const Core& core, const QueuePair& qp, const SendWork& work, Psn psn) {
    const Psn next = psn_plus(psn, 1);
    const uint32_t every = std::max(1u, std::min(core.config.ack_every, window_of(core, qp) / 4));
    return next == work.end_psn() || !fits_window(core, qp, next) || qp.congestion.probes ||
           psn_distance(work.first_psn, next) % every == 0;
}

// A congestion window may shrink to less than is in flight, and must not then wait for answers that
// nobody asked for: every second packet asks, so at most one does not.
bool asks_now_and_then(const Core& core, const QueuePair& qp, const SendWork& work, Psn psn) {
    const Psn next = psn_plus(psn, 1);
    const bool has_window = qp.congestion.has_window();
    if (qp.spread) return asks_when_spread(core, qp, work, psn);
    const uint32_t every =
        has_window ? std::min(core.config.ack_every, kWindowAcknowledgeAt) : core.config.ack_every;
    const bool fills_window =
        !fits_window(core, qp, next) && !(has_window && window_of(core, qp) >= every);
    return next == work.end_psn() || qp.requester.repairing || fills_window ||
           psn_distance(work.first_psn, next) % every == 0 || qp.congestion.probes;
}

TULLE_HOT bool asks_for_ack(const Core& core, const QueuePair& qp, const SendWork& work, Psn psn) {
    return qp.is_reliable() &&
           (core.config.ack_every == 1 || asks_now_and_then(core, qp, work, psn));
}

// One packet at a time is timed, of those that ask for an answer and go for the first time.
void time_round_trip(QueuePair& qp, Instant now, const Packet& packet) {
    RequesterState& r = qp.requester;
    if (!packet.ack_request || r.timed || psn_before(packet.psn(), r.sent_end)) return;
    r.timed = packet.psn();
    r.timed_at = now;
}

void move_on(QueuePair& qp, const RequestPlan& plan, bool asks) {
    RequesterState& r = qp.requester;
    const SendWork& work = (*qp.send_queue)[plan.number];
    const bool one_request = work.awaits_data();  // answers take the other PSNs
    const uint32_t psns = work.work == Work::read ? answers_of(qp, plan) : 1;
    const Psn next = psn_plus(plan.psn, psns);
    if (psn_before(r.sent_end, next)) r.sent_end = next;
    if ((asks || one_request) && psn_before(r.asked_end, next)) r.asked_end = next;
    if (plan.is_repair) return on_repair_sent(qp, plan);
    r.send_psn = next;
    if (next == work.end_psn())
        r.current = plan.number + 1;
    else if (one_request && (!r.cut_end || psn_before(*r.cut_end, next)))
        r.cut_end = next;
}

// The peer had no receive, and asked for time.
bool waits_for_receiver(Core& core, QueuePair& qp, Instant now) {
    if (qp.requester.wait_until <= now) return false;
    core.look_again(qp, qp.requester.wait_until);
    return true;
}

// Congestion control lets the next packet go later.
bool waits_for_turn_of_pace(Core& core, QueuePair& qp, Instant now) {
    if (qp.requester.next_allowed <= now) return false;
    core.wait_for_pace(qp);
    return true;
}

// The answer of an atomic is a word.
bool has_room_for_answer(const SendWork& work) {
    const bool is_atomic = work.work == Work::compare_swap || work.work == Work::fetch_add;
    return !is_atomic || work.length >= sizeof(uint64_t);
}

}  // namespace

uint32_t packets_of(const SendWork& work, uint32_t mtu) {
    if (work.work == Work::compare_swap || work.work == Work::fetch_add ||
        work.work == Work::flush || work.work == Work::atomic_write)
        return 1;
    return std::max(1u, work.length / mtu + (work.length % mtu != 0 ? 1 : 0));
}

uint32_t answers_of(const QueuePair& qp, const RequestPlan& plan) {
    return std::max(1u, plan.asked / qp.mtu + (plan.asked % qp.mtu != 0 ? 1 : 0));
}

RequestPlan plan_packet(const QueuePair& qp, uint32_t number, Psn psn) {
    const SendWork& work = (*qp.send_queue)[number];
    const uint32_t index = psn_distance(work.first_psn, psn);
    RequestPlan plan;
    plan.number = number;
    plan.psn = psn;
    plan.offset = index * qp.mtu;
    plan.asked = work.length - plan.offset;
    // The peer may have carried out the part before: what asks for more is no duplicate of it.
    const auto& cut_end = qp.requester.cut_end;
    if (work.work == Work::read && cut_end && psn_before(psn, *cut_end))
        plan.asked = static_cast<uint32_t>(
            std::min<uint64_t>(plan.asked, uint64_t{psn_distance(psn, *cut_end)} * qp.mtu));
    const bool has_payload = work.work <= Work::send_with_immediate ||
                             work.work == Work::send_with_invalidate ||
                             work.work == Work::atomic_write;
    plan.length = has_payload ? std::min(qp.mtu, work.length - plan.offset) : 0;
    plan.operation = operation_of(work, index == 0, index + 1 == work.packets);
    return plan;
}

std::optional<RequestPlan> plan_request(Core& core, QueuePair& qp, Instant now) {
    RequesterState& r = qp.requester;
    if (qp.type == QpType::ee_requester) load_message(core, qp);
    if (!qp.send_queue || (qp.state != QpState::rts && qp.state != QpState::sqd))
        return std::nullopt;
    if (waits_for_receiver(core, qp, now) || waits_for_turn_of_pace(core, qp, now))
        return std::nullopt;
    if (qp.type == QpType::rd) {
        offer_request(core, qp);
        return std::nullopt;
    }
    if (qp.spread && waits_for_credit(core, qp, now)) return std::nullopt;
    if (r.repairs_due != 0) {
        const uint32_t room = room_for_repairs(core, qp);
        if (room == 0) return std::nullopt;
        return plan_repair(qp, room);
    }
    while (r.current != r.end) {
        const uint32_t number = r.current;
        if (number != r.begun) {
            if (!may_go_on(core, qp)) return std::nullopt;
            // Work within the adapter that has begun needs nothing more.
            if ((*qp.send_queue)[number].packets == 0) {
                ++r.current;
                continue;
            }
            RequestPlan plan = plan_packet(qp, number, r.send_psn);
            limit_to_window(core, qp, plan);
            return plan;
        }
        if (qp.state == QpState::sqd || !begin(core, qp, now, number)) return std::nullopt;
        if (qp.state == QpState::error) return std::nullopt;
    }
    return std::nullopt;
}

// Same order as plan_request(); longer waits are checked first.
Standing standing_of(const Core& core, const QueuePair& qp, Instant now) {
    const RequesterState& r = qp.requester;
    if (!qp.send_queue || (qp.state != QpState::rts && qp.state != QpState::sqd))
        return Standing::idle;
    if (r.wait_until > now) return Standing::not_ready;
    if (r.current == r.end && r.repairs_due == 0)
        return r.oldest == r.end ? Standing::idle : Standing::answers;
    if (r.next_allowed > now) return Standing::paced;
    if (lacks_credit(qp, now)) return Standing::congestion_window;
    if (r.repairs_due != 0)
        return room_for_repairs(core, qp) != 0 ? Standing::ready : Standing::congestion_window;
    if (r.current != r.begun) {
        if (may_go_on(core, qp)) return Standing::ready;
        const bool is_controlled =
            qp.congestion.window_packets < core.config.max_packets_outstanding;
        return is_controlled ? Standing::congestion_window : Standing::window;
    }
    return may_begin(qp, (*qp.send_queue)[r.current]) ? Standing::ready : Standing::window;
}

bool make_request(Core& core, QueuePair& qp, Instant now, const RequestPlan& plan, Packet& packet) {
    const SendWork& work = (*qp.send_queue)[plan.number];
    if (!has_room_for_answer(work))
        return fail_in_turn(core, qp, plan.number, Status::local_length_error);
    packet = qp.prototype;
    if (qp.type == QpType::ud) set_target(qp, work.datagram, packet);
    packet.set_psn(plan.psn);
    packet.opcode = wire::opcode_of(qp.service(), plan.operation);
    packet.payload_length = plan.length;
    if (plan.length != 0) {
        const auto payload = payload_of(core, qp, work, plan);
        if (!payload) return fail_in_turn(core, qp, plan.number, Status::local_protection_error);
        packet.payload = *payload;
    }
    set_extended(qp, work, plan, packet);
    packet.ack_request = asks_for_ack(core, qp, work, plan.psn) || qp.requester.asks_next;
    if (qp.spread) spread_request(core, qp, now, work, plan, packet);
    packet.solicited_event = (work.flags & kSolicited) != 0 && takes_receive(work.work) &&
                             psn_plus(plan.psn, 1) == work.end_psn();

    RequesterState& r = qp.requester;
    r.asks_next = false;
    time_round_trip(qp, now, packet);
    if (psn_before(plan.psn, r.sent_end)) core.counters.count_again(plan.length);
    move_on(qp, plan, packet.ack_request);
    if (!plan.is_repair && !work.awaits_data()) keep_stream(qp, work, plan, packet);
    const uint32_t bytes = core.config.envelope_bytes + plan.length +
                           wire::opcode_info(static_cast<uint8_t>(packet.opcode)).header_size;
    r.next_allowed = on_sent(qp.congestion, now, bytes);
    if (!qp.is_reliable())
        complete_sent(core, qp);
    else if (packet.ack_request || work.awaits_data())
        expect_answer(core, qp, now);
    return true;
}

bool continue_message(Core& core, QueuePair& qp, Instant now, uint32_t room, Packet& packet) {
    RequesterState& r = qp.requester;
    if (r.middles_left == 0 || r.send_psn != r.stream_psn || r.granted_number != r.current)
        return false;
    const uint32_t bytes = core.config.envelope_bytes + wire::Bth::kSize + qp.mtu;
    if (qp.state != QpState::rts || r.wait_until > now || r.next_allowed > now ||
        r.repairs_due != 0 || !window_allows(core, qp, r.send_psn) || bytes > room ||
        !core.memory.stands(r.grant))
        return false;
    if (!r.stream.payload.is_modelled())
        r.stream.payload = wire::Payload::memory(r.stream.payload.address() + qp.mtu);
    packet = r.stream;
    packet.set_psn(r.send_psn);
    packet.ack_request = asks_for_ack(core, qp, (*qp.send_queue)[r.current], r.send_psn);
    packet.payload_length = qp.mtu;

    time_round_trip(qp, now, packet);
    const Psn next = psn_plus(r.send_psn, 1);
    if (psn_before(r.send_psn, r.sent_end))
        core.counters.count_again(qp.mtu);
    else
        r.sent_end = next;
    r.send_psn = r.stream_psn = next;
    --r.middles_left;
    r.next_allowed = on_sent(qp.congestion, now, bytes);
    if (!qp.is_reliable())
        complete_sent(core, qp);
    else if (packet.ack_request)
        r.asked_end = next, expect_answer(core, qp, now);
    return true;
}

}  // namespace tulle::transport
