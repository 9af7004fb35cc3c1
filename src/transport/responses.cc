#include "transport/responses.h"

#include <algorithm>

#include "base/hot.h"
#include "transport/completer.h"
#include "transport/rd.h"
#include "transport/selective.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using wire::Operation;
using wire::psn_distance;
using wire::psn_plus;

// Answers are sent while the queue pair receives. If a NAK has ended the connection, answers to
// requests before it are still sent, because the NAK says that they were carried out.
bool answers_go(const QueuePair& qp) {
    if (qp.receives()) return true;
    const ResponderState& r = qp.responder;
    return qp.state == QpState::error && r.ack_pending &&
           wire::ack_kind(r.ack_syndrome) == wire::AckKind::nak;
}

uint32_t offset_of(const QueuePair& qp, const Answer& answer) {
    return psn_distance(answer.first_psn, answer.next_psn) * qp.mtu;
}

uint32_t payload_of(const QueuePair& qp, const Answer& answer) {
    if (answer.is_atomic || answer.is_empty) return 0;
    return std::min(qp.mtu, answer.length - offset_of(qp, answer));
}

bool may_be_read(const Core& core, const QueuePair& qp, const Answer& answer) {
    return payload_of(qp, answer) == 0 || core.memory.stands(answer.grant);
}

// The first part that selective repeat has requested again.
Answer* waiting_again(const Core& core, QueuePair& qp) {
    auto& again = qp.responder.again;
    const auto is_done = [&](const Answer& answer) {
        return answer.next_psn == answer.end_psn || !may_be_read(core, qp, answer);
    };
    again.erase(again.begin(), std::ranges::find_if_not(again, is_done));
    return again.empty() ? nullptr : &again.front();
}

// An answer repeated for a late copy of its request is dropped if its memory is gone: the requester
// has the first answer, for otherwise the memory could not have been revoked.
TULLE_HOT Answer* waiting_answer(const Core& core, QueuePair& qp) {
    if (!qp.responder.again.empty()) [[unlikely]]
        if (Answer* answer = waiting_again(core, qp)) return answer;
    for (Answer& answer : qp.responder.answers) {
        if (answer.next_psn == answer.end_psn) continue;
        if (!answer.was_given || may_be_read(core, qp, answer)) return &answer;
        answer.next_psn = answer.end_psn;
    }
    return nullptr;
}

Operation operation_of(const Answer& answer) {
    if (answer.is_atomic) return Operation::atomic_acknowledge;
    const bool first = answer.next_psn == answer.burst_psn;
    const bool last = psn_plus(answer.next_psn, 1) == answer.end_psn;
    if (first) return last ? Operation::read_response_only : Operation::read_response_first;
    return last ? Operation::read_response_last : Operation::read_response_middle;
}

void begin_packet(QueuePair& qp, Psn psn, Operation operation, Packet& packet) {
    packet = qp.prototype;
    packet.set_psn(psn);
    packet.opcode = wire::opcode_of(qp.service(), operation);
    // An EE context answers the requesting queue pair.
    if (qp.type == QpType::ee_responder) packet.set_dest_qp(qp.dest_qpn);
    packet.srq_or_ee = qp.dest_ee.value;
    packet.becn = qp.responder.echoes_mark;
    qp.responder.echoes_mark = false;
}

// A NAK that causes retransmission: the requester wants to know what it need not retransmit.
bool asks_for_more(uint8_t syndrome) {
    return wire::ack_kind(syndrome) == wire::AckKind::rnr_nak ||
           syndrome == wire::syndrome_of(wire::NakCode::psn_sequence_error);
}

// Adds which packets behind a gap were received. One answer may not be enough for all.
void add_selective_ack(Core& core, QueuePair& qp, Packet& packet) {
    ResponderState& r = qp.responder;
    ReceiveBitmap& bitmap = qp.early->bitmap;
    packet.extended.ack.selective = bitmap.tell(r.expected);
    packet.payload_length = wire::SelectiveAck::kBytes;
    if (!bitmap.has_more()) return;
    r.ack_pending = true;
    r.ack_psn = psn_plus(r.expected, wire::kPsnMask);
    r.ack_syndrome = ack_syndrome(core, qp);
}

void choose_answer_lane(const Core& core, const QueuePair& qp, Packet& packet) {
    if (!answers_go_apart(core, qp)) return;
    packet.service_level = qp.answer_level & 0xf;
    packet.traffic_class = core.config.notifications.traffic_class;
}

void make_ack(Core& core, QueuePair& qp, Packet& packet) {
    ResponderState& r = qp.responder;
    const Psn psn = psn_plus(r.ack_psn, wire::kPsnMask + 1 - r.acks_before);
    begin_packet(qp, psn, Operation::acknowledge, packet);
    packet.extended.ack = {0, r.msn, r.ack_syndrome, {}};
    r.ack_pending = r.acks_before != 0;
    if (r.ack_pending) --r.acks_before;
    const bool tells = qp.early && !r.ack_pending &&
                       (qp.spread || !qp.early->empty() || qp.early->bitmap.has_more() ||
                        asks_for_more(r.ack_syndrome));
    if (tells) [[unlikely]] {
        add_selective_ack(core, qp, packet);
        if (qp.spread) qp.spread->echo(packet);  // over the path of the packet that it answers
    }
}

}  // namespace

bool answers_go_apart(const Core& core, const QueuePair& qp) {
    return core.config.answers_apart && qp.type == QpType::rc &&
           (qp.spread || qp.responder.answers.empty());
}

void answer_with(Core& core, QueuePair& qp, Psn psn, uint8_t syndrome) {
    ResponderState& r = qp.responder;
    const bool follows = r.ack_pending && psn == psn_plus(r.ack_psn, 1) &&
                         wire::ack_kind(syndrome) == wire::AckKind::ack;
    r.acks_before = follows && !core.config.coalesces_acks ? r.acks_before + 1 : 0;
    r.ack_pending = true;
    r.ack_psn = psn;
    r.ack_syndrome = syndrome;
    core.wake_to_answer(qp);
}

uint8_t ack_syndrome(Core& core, QueuePair& qp) {
    // End-to-end credits are for RC queue pairs with their own receives (9.7.7.2).
    const bool tells = core.config.grants_credits && qp.type == QpType::rc && qp.srq.value == 0;
    if (!tells) return wire::syndrome_of(wire::AckKind::ack, wire::kNoCredits);
    const uint32_t waiting = qp.receive_queue ? qp.receive_queue->waiting() : 0;
    const uint8_t code = wire::credit_code_of(waiting);
    return wire::syndrome_of(wire::AckKind::ack, code);
}

void fetch_answers(const Core& core, QueuePair& qp, Instant now) {
    for (Answer& answer : qp.responder.answers) {
        if (answer.is_fetched) continue;
        answer.is_fetched = true;
        const uint32_t bytes = payload_of(qp, answer);
        if (bytes != 0) answer.ready_at = now + core.config.memory.fetch(bytes);
    }
}

std::optional<uint32_t> plan_response(Core& core, QueuePair& qp, Instant now) {
    if (!answers_go(qp)) return std::nullopt;
    if (const Answer* answer = waiting_answer(core, qp)) {
        if (answer->ready_at <= now) return payload_of(qp, *answer);
        core.look_again(qp, answer->ready_at);
        return std::nullopt;
    }
    if (qp.responder.ack_pending) return 0;
    return std::nullopt;
}

void make_response(Core& core, QueuePair& qp, Packet& packet) {
    ResponderState& r = qp.responder;
    Answer* waiting = waiting_answer(core, qp);
    if (waiting == nullptr) {
        make_ack(core, qp, packet);
        return choose_answer_lane(core, qp, packet);
    }
    Answer& answer = *waiting;
    const uint32_t length = payload_of(qp, answer);
    if (!may_be_read(core, qp, answer)) {
        ++core.counters.resp_remote_access_errors;
        answer_with(core, qp, answer.next_psn,
                    wire::syndrome_of(wire::NakCode::remote_access_error));
        answer.next_psn = answer.end_psn;
        if (qp.type == QpType::ee_responder) {
            refuse_message(core, qp, Ruling::remote_access_error);
        } else {
            core.raise(EventKind::qp_access_error, qp.number.value);
            r.answers.clear();  // those before it have been sent
            r.again.clear();
            enter_error(core, qp);
        }
        return make_ack(core, qp, packet);  // in the lane of the data, which has room
    }
    begin_packet(qp, answer.next_psn, operation_of(answer), packet);
    if (length == 0) choose_answer_lane(core, qp, packet);  // small, as an acknowledgement
    packet.payload_length = length;
    if (length != 0 && answer.grant.host != nullptr)
        packet.payload = wire::Payload::memory(answer.grant.host + offset_of(qp, answer));
    packet.extended.ack = {answer.original, answer.msn, ack_syndrome(core, qp), {}};
    if (qp.spread) packet.entropy = qp.spread->paths.next({});
    if (psn_before(answer.next_psn, answer.sent_end)) core.counters.count_again(length);
    answer.next_psn = psn_plus(answer.next_psn, 1);
    if (psn_before(answer.sent_end, answer.next_psn)) answer.sent_end = answer.next_psn;
    if (answer.next_psn == answer.end_psn) answer.was_given = true;
}

}  // namespace tulle::transport
