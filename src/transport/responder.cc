#include "transport/responder.h"

#include <algorithm>
#include <cstring>

#include "base/guarded_copy.h"
#include "transport/completer.h"
#include "transport/rd.h"
#include "transport/responses.h"
#include "transport/selective.h"
#include "transport/transfer.h"
#include "transport/unordered.h"
#include "transport/xrc.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using Message = ResponderState::Message;
using wire::Operation;
using wire::Position;
using wire::psn_before;
using wire::psn_distance;
using wire::psn_plus;

constexpr uint32_t kAtomicSize = 8;

bool is_atomic(Operation operation) {
    return operation == Operation::compare_swap || operation == Operation::fetch_add;
}

bool awaits_answer(Operation operation) {
    return operation == Operation::read_request || is_atomic(operation) ||
           operation == Operation::flush || operation == Operation::atomic_write;
}

bool begins(Position position) {
    return position == Position::first || position == Position::only;
}

bool ends(Position position) {
    return position == Position::last || position == Position::only;
}

// Whether the packet needs a posted receive: the first of a SEND, the last of a WRITE with
// immediate data.
bool needs_receive(const Packet& packet) {
    const Operation operation = operation_of(packet);
    if (is_send(operation)) return begins(info_of(packet).position);
    return operation == Operation::write_last_with_immediate ||
           operation == Operation::write_only_with_immediate;
}

// Services whose packets carry more of a destination than the queue pair.
Ruling check_destination(Core& core, QueuePair& qp, const Packet& packet) {
    if (qp.type == QpType::xrc_target) return check_xrc_srq(core, qp, packet);
    if (qp.type == QpType::ee_responder) return check_rd_destination(core, qp, packet);
    return Ruling::accept;
}

// C9-60: within a message only its own middle and last packets may come; outside, neither.
Ruling check_opcode_order(const QueuePair& qp, const Packet& packet) {
    const Operation operation = operation_of(packet);
    const Message message = qp.responder.message;
    const bool fits_under_way = (message == Message::send && is_send(operation)) ||
                                (message == Message::write && is_write(operation));
    if (begins(info_of(packet).position))
        return message == Message::none ? Ruling::accept : Ruling::invalid_request;
    return fits_under_way ? Ruling::accept : Ruling::invalid_request;
}

// C9-62: the queue pair allows its peer the operation.
Ruling check_operation_allowed(const QueuePair& qp, const Packet& packet) {
    if (!info_of(packet).known) return Ruling::invalid_request;
    const Operation operation = operation_of(packet);
    uint32_t needed = 0;
    if (is_write(operation) || operation == Operation::atomic_write) needed = kRemoteWrite;
    if (operation == Operation::read_request) needed = kRemoteRead;
    if (is_atomic(operation)) needed = kRemoteAtomic;
    if (operation == Operation::flush)
        needed = packet.extended.rdma.immediate_or_flush == 0 ? 0u : kFlushGlobal;
    const bool allowed = (qp.access & needed) == needed ||
                         (operation == Operation::flush && (qp.access & kFlushPersistent) != 0);
    return allowed ? Ruling::accept : Ruling::invalid_request;
}

// C9-75, C9-76: no more READs and atomics than negotiated. Requests already answered do not count,
// even while a late copy is answered again.
Ruling check_answers(const QueuePair& qp, const Packet& packet) {
    if (!awaits_answer(operation_of(packet))) return Ruling::accept;
    const auto& answers = qp.responder.answers;
    const auto waiting = std::count_if(answers.begin(), answers.end(),
                                       [](const Answer& answer) { return !answer.was_given; });
    return waiting < qp.max_incoming_reads ? Ruling::accept : Ruling::invalid_request;
}

// C9-65 to C9-70: all packets but the last are full MTUs, and a WRITE has its announced length.
Ruling check_length(const QueuePair& qp, const Packet& packet) {
    const Position position = info_of(packet).position;
    const uint32_t length = packet.payload_length;
    if (!ends(position) && length != qp.mtu) return Ruling::invalid_request;
    if (position == Position::last && (length == 0 || length > qp.mtu))
        return Ruling::invalid_request;
    if (position == Position::only && length > qp.mtu) return Ruling::invalid_request;
    const Operation operation = operation_of(packet);
    const ResponderState& r = qp.responder;
    const uint64_t received = uint64_t{begins(position) ? 0 : r.received} + length;
    if (is_write(operation)) {
        const uint32_t announced =
            begins(position) ? packet.extended.rdma.dma_length : r.write_length;
        if (announced > kMaxMessage || received > announced) return Ruling::invalid_request;
        if (ends(position) && received != announced) return Ruling::invalid_request;
    }
    if (operation == Operation::read_request && packet.extended.rdma.dma_length > kMaxMessage)
        return Ruling::invalid_request;
    if (operation == Operation::atomic_write &&
        (length != kAtomicSize || packet.extended.rdma.virtual_address % kAtomicSize != 0))
        return Ruling::invalid_request;
    if (is_atomic(operation) && packet.extended.atomic.virtual_address % kAtomicSize != 0)
        return Ruling::invalid_request;  // C9-86
    return received <= kMaxMessage ? Ruling::accept : Ruling::invalid_request;
}

// C9-77: a receive is available.
Ruling check_receive(Core& core, QueuePair& qp, const Packet& packet) {
    if (!needs_receive(packet) || qp.responder.receive_place != ReceiveQueue::kNone)
        return Ruling::accept;
    if (core.has_broken_receives(qp)) return Ruling::receives_broken;
    qp.responder.receive_place = core.receive_queue_of(qp).take();
    return qp.responder.receive_place != ReceiveQueue::kNone ? Ruling::accept
                                                             : Ruling::receiver_not_ready;
}

Asker asker_for(Core& core, const QueuePair& qp, const Packet& packet) {
    return qp.type == QpType::xrc_target ? xrc_asker(core, qp, packet) : qp.asker();
}

// The memory access that a request needs.
struct KeyUse {
    uint32_t rkey = 0;
    uint64_t address = 0;
    uint64_t length = 0;
    uint32_t access = 0;
};

KeyUse key_use_of(const Packet& packet) {
    const Operation operation = operation_of(packet);
    if (is_atomic(operation))
        return {packet.extended.atomic.rkey.value, packet.extended.atomic.virtual_address,
                kAtomicSize, kRemoteAtomic};
    const Packet::Rdma& rdma = packet.extended.rdma;
    KeyUse use{rdma.rkey.value, rdma.virtual_address, rdma.dma_length, kRemoteWrite};
    if (operation == Operation::atomic_write) use.length = kAtomicSize;
    if (operation == Operation::read_request) use.access = kRemoteRead;
    if (operation == Operation::flush)
        use.access = (rdma.immediate_or_flush & 2) != 0 ? kFlushPersistent : kFlushGlobal;
    return use;
}

std::optional<Grant> grant_for(Core& core, QueuePair& qp, const Packet& packet) {
    const KeyUse use = key_use_of(packet);
    // C9-88: without data the key is not checked.
    if (use.length == 0) return Grant{};
    return core.memory.check(use.rkey, asker_for(core, qp, packet), use.address, use.length,
                             use.access);
}

// C9-79 to C9-85: the key, its rights and its range. The first packet of a WRITE is checked for the
// whole message; its other packets only check that the grant stands.
Ruling check_remote_key(Core& core, QueuePair& qp, const Packet& packet) {
    ResponderState& r = qp.responder;
    const Operation operation = operation_of(packet);
    const bool names_memory = awaits_answer(operation) || is_write(operation);
    if (!names_memory) return Ruling::accept;
    if (is_write(operation) && !begins(info_of(packet).position)) {
        const bool stands = r.write_length == 0 || core.memory.stands(r.write_grant);
        return stands ? Ruling::accept : Ruling::remote_access_error;
    }
    const auto grant = grant_for(core, qp, packet);
    if (!grant) return Ruling::remote_access_error;
    // A zero-based window may begin anywhere: the address is aligned, but the memory may not be.
    const bool is_word = is_atomic(operation) || operation == Operation::atomic_write;
    if (is_word && reinterpret_cast<uintptr_t>(grant->host) % kAtomicSize != 0)
        return Ruling::invalid_request;
    r.write_grant = *grant;
    return Ruling::accept;
}

void complete_receive(Core& core, QueuePair& qp, const Packet& packet, Status status) {
    ResponderState& r = qp.responder;
    const uint16_t headers = info_of(packet).headers;
    ReceiveQueue& queue = core.receive_queue_of(qp);
    Completion completion;
    completion.id = queue.id(r.receive_place);
    completion.status = status;
    completion.kind = is_send(operation_of(packet)) ? CompletionKind::receive
                                                    : CompletionKind::receive_write_with_immediate;
    completion.byte_count = r.received;
    completion.qpn = qp.owner;
    if (qp.type == QpType::ee_responder) completion.source_qp = qp.dest_qpn;
    if (qp.type == QpType::xrc_target && packet.solicited_event) completion.flags |= kWasSolicited;
    completion.source = EndpointIndex{packet.source};
    completion.service_level = static_cast<uint8_t>(packet.service_level);
    if ((headers & wire::kImmDt) != 0) {
        completion.flags |= kWithImmediate;
        completion.immediate_or_rkey = (headers & wire::kReth) != 0
                                           ? packet.extended.rdma.immediate_or_flush
                                           : packet.extended.send.immediate_or_rkey;
    }
    if ((headers & wire::kIeth) != 0) {
        completion.flags |= kWithInvalidate;
        completion.immediate_or_rkey = packet.extended.send.immediate_or_rkey;
    }
    queue.release(r.receive_place);
    r.receive_place = ReceiveQueue::kNone;
    if (status == Status::local_length_error) ++core.counters.resp_local_length_error;
    if (status != Status::success) ++core.counters.resp_cqe_error;
    core.complete(core.receive_cq_of(qp), completion, packet.solicited_event);
    core.watch_limit(qp.srq);
}

void end_message(Core& core, QueuePair& qp, const Packet& packet) {
    ResponderState& r = qp.responder;
    r.message = Message::none;
    r.msn = (r.msn + 1) & 0xff'ffff;
    if (r.receive_place != ReceiveQueue::kNone) complete_receive(core, qp, packet, Status::success);
}

Ruling carry_out_send(Core& core, QueuePair& qp, const Packet& packet) {
    ResponderState& r = qp.responder;
    const Position position = info_of(packet).position;
    if (begins(position)) r.received = 0;
    const auto sges = core.receive_queue_of(qp).sges(r.receive_place);
    const Scatter result = scatter(core, sges, core.receive_pd_of(qp), r.received, packet);
    r.received += packet.payload_length;
    if (result == Scatter::too_long) {
        complete_receive(core, qp, packet, Status::local_length_error);
        return Ruling::receive_too_short;
    }
    if (result == Scatter::not_allowed) {
        complete_receive(core, qp, packet, Status::local_protection_error);
        return Ruling::remote_operational_error;
    }
    r.message = Message::send;
    if (!ends(position)) return Ruling::accept;
    // C9-91: the key is invalidated before the receive completes.
    if ((info_of(packet).headers & wire::kIeth) != 0 &&
        !core.memory.invalidate(packet.extended.send.immediate_or_rkey,
                                asker_for(core, qp, packet))) {
        return Ruling::remote_access_error;
    }
    end_message(core, qp, packet);
    return Ruling::accept;
}

Ruling carry_out_write(Core& core, QueuePair& qp, const Packet& packet) {
    ResponderState& r = qp.responder;
    const Position position = info_of(packet).position;
    if (begins(position)) {
        ++core.counters.rx_write_requests;
        r.received = 0;
        r.write_length = packet.extended.rdma.dma_length;
    }
    if (!store(r.write_grant, r.received, packet)) return Ruling::remote_access_error;
    r.received += packet.payload_length;
    r.message = Message::write;
    if (ends(position)) end_message(core, qp, packet);
    return Ruling::accept;
}

// C9-87: one atomic operation, on memory that others may use at the same time.
uint64_t carry_out_atomic(std::byte* host, const Packet& packet) {
    if (host == nullptr) return 0;
    auto* word = reinterpret_cast<uint64_t*>(host);
    const Packet::Atomic& atomic = packet.extended.atomic;
    if (operation_of(packet) == Operation::fetch_add)
        return __atomic_fetch_add(word, atomic.swap_or_add, __ATOMIC_SEQ_CST);
    uint64_t expected = atomic.compare;
    __atomic_compare_exchange_n(word, &expected, atomic.swap_or_add, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    return expected;
}

void store_atomic_write(std::byte* host, const Packet& packet) {
    if (host == nullptr || packet.payload.is_modelled()) return;
    uint64_t value = 0;
    std::memcpy(&value, packet.payload.address(), sizeof value);
    if (base::is_foreign(host)) return (void)base::guarded_copy(host, &value, sizeof value);
    __atomic_store_n(reinterpret_cast<uint64_t*>(host), value, __ATOMIC_SEQ_CST);
}

void carry_out_with_answer(Core& core, QueuePair& qp, const Packet& packet) {
    ResponderState& r = qp.responder;
    const Operation operation = operation_of(packet);
    Answer answer;
    answer.first_psn = answer.next_psn = answer.burst_psn = packet.psn();
    answer.sent_end = answer.first_psn;
    answer.end_psn = psn_plus(packet.psn(), psns_of(qp, packet));
    answer.grant = r.write_grant;
    answer.is_atomic = is_atomic(operation);
    answer.is_empty = operation == Operation::flush || operation == Operation::atomic_write;
    if (answer.is_atomic) {
        ++core.counters.rx_atomic_requests;
        answer.original = carry_out_atomic(answer.grant.host, packet);
    } else {
        answer.address = packet.extended.rdma.virtual_address;
        answer.rkey = packet.extended.rdma.rkey.value;
        answer.length = answer.is_empty ? 0 : packet.extended.rdma.dma_length;
        if (operation == Operation::read_request) ++core.counters.rx_read_requests;
        if (operation == Operation::atomic_write) store_atomic_write(answer.grant.host, packet);
    }
    r.msn = (r.msn + 1) & 0xff'ffff;
    answer.msn = r.msn;
    if (r.answers.size() >= qp.max_incoming_reads) r.answers.erase(r.answers.begin());
    r.answers.push_back(answer);
    if (core.config.answers_apart && !answers_go_apart(core, qp))
        core.change_answer_level(qp, qp.address.service_level);
}

// 11.6.2: the receive of a WRITE with immediate data that may not write has a local access error.
// It was named to be told of the data, and there is none.
void end_receive_of_write(Core& core, QueuePair& qp, const Packet& packet) {
    if (!is_write(operation_of(packet)) || !needs_receive(packet)) return;
    if (check_receive(core, qp, packet) == Ruling::accept)
        complete_receive(core, qp, packet, Status::local_access_error);
}

Work work_of(Operation operation) {
    if (is_write(operation)) return Work::write;
    if (operation == Operation::read_request) return Work::read;
    if (operation == Operation::compare_swap) return Work::compare_swap;
    if (operation == Operation::fetch_add) return Work::fetch_add;
    if (operation == Operation::flush) return Work::flush;
    return operation == Operation::atomic_write ? Work::atomic_write : Work::send;
}

Objection::Cause cause_of(Denial denial) {
    using Cause = Objection::Cause;
    switch (denial) {
        case Denial::none: return Cause::key_gone;
        case Denial::unknown_key: return Cause::unknown_key;
        case Denial::other_domain: return Cause::other_domain;
        case Denial::other_queue_pair: return Cause::other_queue_pair;
        case Denial::missing_right: return Cause::missing_right;
        case Denial::out_of_bounds: return Cause::out_of_bounds;
    }
    return Cause::none;
}

// The key that the packet named, and what was wrong with it.
void note_key(Core& core, const QueuePair& qp, const Packet& packet, Objection& objection) {
    const uint16_t headers = info_of(packet).headers;
    if ((headers & (wire::kReth | wire::kAtomicEth)) == 0) {
        const bool is_to_invalidate = (headers & wire::kIeth) != 0;
        if (is_to_invalidate) objection.rkey = packet.extended.send.immediate_or_rkey;
        objection.cause =
            is_to_invalidate ? Objection::Cause::unknown_key : Objection::Cause::key_gone;
        return;
    }
    const KeyUse use = key_use_of(packet);
    objection.rkey = use.rkey;
    objection.address = use.address;
    objection.length = use.length;
    objection.cause = cause_of(core.memory.denial(use.rkey, asker_for(core, qp, packet),
                                                  use.address, use.length, use.access));
}

Objection::Cause cause_of(const QueuePair& qp, const Packet& packet, Ruling verdict) {
    using Cause = Objection::Cause;
    switch (verdict) {
        case Ruling::receive_too_short: return Cause::receive_too_short;
        case Ruling::remote_operational_error: return Cause::receive_wrong;
        case Ruling::receives_broken: return Cause::receives_broken;
        default: break;
    }
    if (check_opcode_order(qp, packet) != Ruling::accept) return Cause::malformed;
    if (check_operation_allowed(qp, packet) != Ruling::accept) return Cause::not_offered;
    if (check_answers(qp, packet) != Ruling::accept) return Cause::too_many_reads;
    return Cause::malformed;
}

void note_objection(Core& core, QueuePair& qp, const Packet& packet, Ruling verdict) {
    if (verdict == Ruling::receiver_not_ready) return;
    core.objection = {};
    core.objection.qpn = qp.number;
    core.objection.work = work_of(operation_of(packet));
    core.objection.length = qp.responder.received;
    if (verdict == Ruling::remote_access_error)
        note_key(core, qp, packet, core.objection);
    else
        core.objection.cause = cause_of(qp, packet, verdict);
}

// C9-111: the objection goes back; but for a receiver that is not ready the connection ends.
void object(Core& core, QueuePair& qp, const Packet& packet, Ruling verdict) {
    using wire::NakCode;
    note_objection(core, qp, packet, verdict);
    switch (verdict) {
        case Ruling::accept: return;
        case Ruling::receiver_not_ready:
            ++core.counters.out_of_buffer;
            qp.responder.nak_sent = true;
            return answer_with(core, qp, packet.psn(),
                               wire::syndrome_of(wire::AckKind::rnr_nak, qp.min_rnr_timer));
        // Table 58: a SEND longer than its receive is a length error, like those of WRITEs.
        case Ruling::receive_too_short:
        case Ruling::invalid_request:
            answer_with(core, qp, packet.psn(), wire::syndrome_of(NakCode::invalid_request));
            break;
        case Ruling::invalid_rd_request:
            answer_with(core, qp, packet.psn(), wire::syndrome_of(NakCode::invalid_rd_request));
            break;
        case Ruling::remote_access_error:
            ++core.counters.resp_remote_access_errors;
            answer_with(core, qp, packet.psn(), wire::syndrome_of(NakCode::remote_access_error));
            break;
        case Ruling::receives_broken:
        case Ruling::remote_operational_error:
            answer_with(core, qp, packet.psn(),
                        wire::syndrome_of(NakCode::remote_operational_error));
            break;
    }
    if (qp.type == QpType::ee_responder) return refuse_message(core, qp, verdict);
    if (verdict == Ruling::invalid_request)
        core.raise(EventKind::qp_request_error, qp.number.value);
    if (verdict == Ruling::receives_broken) core.raise(EventKind::qp_fatal, qp.number.value);
    if (verdict == Ruling::remote_access_error) {
        core.raise(EventKind::qp_access_error, qp.number.value);
        end_receive_of_write(core, qp, packet);
    }
    enter_error(core, qp);
}

// Repeats the acknowledgement of the newest request. A pending NAK says as much and more: it stays.
void acknowledge_again(Core& core, QueuePair& qp) {
    const ResponderState& r = qp.responder;
    if (r.ack_pending && wire::ack_kind(r.ack_syndrome) != wire::AckKind::ack) return;
    answer_with(core, qp, psn_plus(r.expected, wire::kPsnMask), ack_syndrome(core, qp));
}

// Queues a part of a READ again: selective repeat asks for several parts at a time. Go-back-N asks
// for the rest of a READ, and the original answer continues from there.
void read_again(Core& core, QueuePair& qp, const Answer& answer, const Packet& packet) {
    Answer again = answer;
    again.next_psn = again.burst_psn = packet.psn();
    again.end_psn = psn_plus(packet.psn(), psns_of(qp, packet));
    again.was_given = true;
    qp.responder.again.push_back(again);
    core.wake(qp);
}

// Whether a READ requests the rest of an earlier one, or whole packets of it.
bool is_part_of(const QueuePair& qp, const Answer& answer, const Packet& packet) {
    const Packet::Rdma& rdma = packet.extended.rdma;
    const uint64_t skipped = uint64_t{psn_distance(answer.first_psn, packet.psn())} * qp.mtu;
    if (rdma.virtual_address != answer.address + skipped) return false;
    const uint64_t end = skipped + rdma.dma_length;
    const bool is_inside = rdma.dma_length != 0 && rdma.dma_length % qp.mtu == 0;
    return end == answer.length || (end < answer.length && is_inside);
}

// C9-105: a duplicate request. A READ is executed again, an atomic's answer was kept, everything
// else is acknowledged again.
void on_duplicate(Core& core, QueuePair& qp, const Packet& packet) {
    ++core.counters.duplicate_request;
    const Operation operation = operation_of(packet);
    if (!awaits_answer(operation)) return acknowledge_again(core, qp);
    for (Answer& answer : qp.responder.answers) {
        const bool within =
            !psn_before(packet.psn(), answer.first_psn) && psn_before(packet.psn(), answer.end_psn);
        if (!within || answer.is_atomic != is_atomic(operation)) continue;
        if (operation == Operation::read_request) {
            const uint32_t skipped = psn_distance(answer.first_psn, packet.psn()) * qp.mtu;
            const auto grant = grant_for(core, qp, packet);
            if (!grant || !is_part_of(qp, answer, packet)) break;
            answer.grant = *grant;
            if (grant->host != nullptr) answer.grant.host -= skipped;
            const Psn end = psn_plus(packet.psn(), psns_of(qp, packet));
            if (end != answer.end_psn || psn_before(answer.next_psn, packet.psn()))
                return read_again(core, qp, answer, packet);
        }
        answer.next_psn = answer.burst_psn = packet.psn();
        return core.wake(qp);
    }
    ++core.counters.dropped_silently;
}

// Reports the missing PSN, once for each gap.
void ask_again(Core& core, QueuePair& qp) {
    if (qp.responder.nak_sent) return;
    qp.responder.nak_sent = true;
    answer_with(core, qp, qp.responder.expected,
                wire::syndrome_of(wire::NakCode::psn_sequence_error));
}

// With several paths, a missing packet may just be late. It must be lost once a packet far enough
// behind it has arrived.
bool may_be_late(const Core& core, const QueuePair& qp) {
    if (!qp.early || qp.early->empty()) return false;
    const Psn furthest = qp.early->bitmap.furthest();
    return psn_distance(qp.responder.expected, furthest) <= core.config.reorder_tolerance;
}

ReorderBuffer& early_packets(Core& core, QueuePair& qp) {
    if (!qp.early) qp.early = std::make_unique<ReorderBuffer>(core.config.reorder_packets);
    return *qp.early;
}

// Keeps the packet for its turn. If the missing packet must be lost, each early packet causes an
// answer that reports what was received; if it may be late, only packets that ask for an answer do.
void keep_early(Core& core, QueuePair& qp, const Packet& packet) {
    ResponderState& r = qp.responder;
    if (early_packets(core, qp).keep(packet, r.expected) == Arrival::too_far)
        ++core.counters.dropped_too_early;
    const bool is_late = may_be_late(core, qp);
    if (!is_late) ask_again(core, qp);
    if (!is_late || packet.ack_request) acknowledge_again(core, qp);
}

// C9-66: a gap. It is reported once; with selective repeat the packet is kept for its turn.
void on_gap(Core& core, QueuePair& qp, const Packet& packet) {
    ++core.counters.out_of_sequence;
    if (repeats_selectively(core, qp)) return keep_early(core, qp, packet);
    ask_again(core, qp);
}

void on_expected(Core& core, QueuePair& qp, const Packet& packet) {
    ResponderState& r = qp.responder;
    r.nak_sent = false;
    Ruling verdict = judge(core, qp, packet);
    if (verdict == Ruling::accept) verdict = carry_out(core, qp, packet);
    if (verdict != Ruling::accept) return object(core, qp, packet, verdict);
    r.expected = psn_plus(r.expected, psns_of(qp, packet));
    if (awaits_answer(operation_of(packet)))
        core.wake(qp);
    else if (packet.ack_request)
        answer_with(core, qp, packet.psn(), ack_syndrome(core, qp));
}

// Processes early packets whose turn has come, and reports the next gap, if there is one.
void on_early(Core& core, QueuePair& qp) {
    ResponderState& r = qp.responder;
    while (qp.early && qp.receives() && !r.nak_sent) {
        const auto packet = qp.early->take(r.expected);
        if (!packet) break;
        on_expected(core, qp, *packet);
    }
    const bool has_more = qp.early && !qp.early->empty() && qp.receives();
    if (has_more && !may_be_late(core, qp)) ask_again(core, qp);
}

// The turn of a packet known to be lost: the gap is visible without a later packet.
void on_trimmed_turn(Core& core, QueuePair& qp) {
    ResponderState& r = qp.responder;
    std::erase_if(r.trimmed, [&](Psn psn) { return psn_before(psn, r.expected); });
    if (r.trimmed.empty() || r.trimmed.front() != r.expected || !qp.receives()) return;
    ask_again(core, qp);
    // Go-back-N retransmits everything from here on; selective repeat only this packet.
    if (core.config.loss == LossPolicy::go_back_n) r.trimmed.clear();
}

// Selective repeat retransmits it at once, whatever its turn.
void tell_trimmed(Core& core, QueuePair& qp, Psn psn) {
    ReceiveBitmap& bitmap = early_packets(core, qp).bitmap;
    if (!bitmap.has(psn)) bitmap.note_trimmed(psn);
    acknowledge_again(core, qp);
}

// A switch had no room for the payload and forwarded the headers. The PSN is lost. But the headers
// may have overtaken packets that are not lost, so go-back-N is told when its turn comes.
void on_trimmed(Core& core, QueuePair& qp, const Packet& packet) {
    ResponderState& r = qp.responder;
    if (psn_before(packet.psn(), r.expected)) return acknowledge_again(core, qp);
    const auto place = std::ranges::lower_bound(r.trimmed, packet.psn(), psn_before);
    if (place == r.trimmed.end() || *place != packet.psn()) r.trimmed.insert(place, packet.psn());
    if (packet.psn() == r.expected) r.nak_sent = false;  // it was retransmitted, and is lost again
    if (repeats_selectively(core, qp)) tell_trimmed(core, qp, packet.psn());
    on_trimmed_turn(core, qp);
}

// The verdict that leads to this syndrome.
Ruling verdict_of(uint8_t syndrome) {
    if (wire::ack_kind(syndrome) == wire::AckKind::rnr_nak) return Ruling::receiver_not_ready;
    switch (static_cast<wire::NakCode>(wire::ack_code(syndrome))) {
        case wire::NakCode::remote_access_error: return Ruling::remote_access_error;
        case wire::NakCode::remote_operational_error: return Ruling::remote_operational_error;
        default: return Ruling::invalid_request;
    }
}

}  // namespace

uint32_t psns_of(const QueuePair& qp, const Packet& packet) {
    if (operation_of(packet) != Operation::read_request) return 1;
    const uint32_t length = packet.extended.rdma.dma_length;
    return std::max(1u, length / qp.mtu + (length % qp.mtu != 0 ? 1 : 0));
}

Ruling judge(Core& core, QueuePair& qp, const Packet& packet) {
    if (Ruling v = check_destination(core, qp, packet); v != Ruling::accept) return v;
    if (Ruling v = check_opcode_order(qp, packet); v != Ruling::accept) return v;
    if (Ruling v = check_operation_allowed(qp, packet); v != Ruling::accept) return v;
    if (Ruling v = check_answers(qp, packet); v != Ruling::accept) return v;
    if (Ruling v = check_length(qp, packet); v != Ruling::accept) return v;
    if (Ruling v = check_remote_key(core, qp, packet); v != Ruling::accept) return v;
    return check_receive(core, qp, packet);
}

Ruling carry_out(Core& core, QueuePair& qp, const Packet& packet) {
    const Operation operation = operation_of(packet);
    if (is_send(operation)) return carry_out_send(core, qp, packet);
    if (is_write(operation)) return carry_out_write(core, qp, packet);
    carry_out_with_answer(core, qp, packet);
    return Ruling::accept;
}

bool continue_write(Core& core, QueuePair& qp, const Packet& packet) {
    ResponderState& r = qp.responder;
    // The first packet was judged for the whole message; only this can still be wrong.
    const bool in_turn = packet.psn() == r.expected && r.message == Message::write &&
                         (qp.access & kRemoteWrite) != 0 && packet.payload_length == qp.mtu &&
                         r.received + qp.mtu < r.write_length && core.memory.stands(r.write_grant);
    if (!in_turn || (qp.early && !qp.early->empty()) || !r.trimmed.empty()) return false;
    if (!store(r.write_grant, r.received, packet)) return false;
    r.received += qp.mtu;
    r.nak_sent = false;
    r.expected = psn_plus(r.expected, 1);
    if (packet.ack_request) answer_with(core, qp, packet.psn(), ack_syndrome(core, qp));
    return true;
}

void on_request(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    ResponderState& r = qp.responder;
    if (qp.spread) return on_unordered_request(core, qp, now, packet);
    if (packet.trimmed) return on_trimmed(core, qp, packet);
    if (packet.psn() == r.expected) {
        on_expected(core, qp, packet);
        on_early(core, qp);
        if (!r.trimmed.empty()) on_trimmed_turn(core, qp);
    } else if (psn_before(packet.psn(), r.expected)) {
        on_duplicate(core, qp, packet);
    } else {
        on_gap(core, qp, packet);
    }
}

namespace steps {

void carry_out_in_turn(Core& core, QueuePair& qp, const Packet& packet) {
    on_expected(core, qp, packet);
}

void refuse(Core& core, QueuePair& qp, const Packet& packet, Ruling verdict) {
    object(core, qp, packet, verdict);
}

void answer_duplicate(Core& core, QueuePair& qp, const Packet& packet) {
    on_duplicate(core, qp, packet);
}

void acknowledge_newest(Core& core, QueuePair& qp) {
    acknowledge_again(core, qp);
}

void end_receive(Core& core, QueuePair& qp, const Packet& packet, Status status) {
    complete_receive(core, qp, packet, status);
}

ReorderBuffer& reorder_buffer(Core& core, QueuePair& qp) {
    return early_packets(core, qp);
}

}  // namespace steps

void refuse_request(Core& core, QueuePair& qp, Instant now, const Packet& packet,
                    uint8_t syndrome) {
    if (packet.psn() != qp.responder.expected) return on_request(core, qp, now, packet);
    qp.responder.nak_sent = false;
    if (syndrome == wire::syndrome_of(wire::NakCode::psn_sequence_error))
        return ask_again(core, qp);
    const Ruling verdict = verdict_of(syndrome);
    object(core, qp, packet, verdict);
    if (verdict != Ruling::receiver_not_ready) core.objection.cause = Objection::Cause::ordered;
}

}  // namespace tulle::transport
