#include "transport/unreliable.h"

#include <algorithm>

#include "transport/completer.h"
#include "transport/responder.h"
#include "transport/transfer.h"

namespace tulle::transport {
namespace {

using wire::Position;

// The message in progress is lost. Its receive is kept for the next one (9.8.2.2.2).
void lose_message(Core& core, QueuePair& qp) {
    ResponderState& r = qp.responder;
    r.message = ResponderState::Message::none;
    if (r.receive_place == ReceiveQueue::kNone) return;
    core.receive_queue_of(qp).give_back(r.receive_place);
    r.receive_place = ReceiveQueue::kNone;
}

void complete_datagram(Core& core, QueuePair& qp, const Packet& packet, uint32_t place,
                       Status status, bool has_grh) {
    ReceiveQueue& queue = core.receive_queue_of(qp);
    Completion completion;
    completion.id = queue.id(place);
    completion.status = status;
    completion.kind = CompletionKind::receive;
    completion.byte_count = packet.payload_length + kGrhBytes;
    completion.qpn = qp.number;
    completion.source_qp = packet.extended.send.source_qp;
    completion.source = EndpointIndex{packet.source};
    completion.service_level = static_cast<uint8_t>(packet.service_level);
    if (has_grh) completion.flags |= kHasGrh;
    if ((wire::opcode_info(static_cast<uint8_t>(packet.opcode)).headers & wire::kImmDt) != 0) {
        completion.flags |= kWithImmediate;
        completion.immediate_or_rkey = packet.extended.send.immediate_or_rkey;
    }
    queue.release(place);
    if (status != Status::success) ++core.counters.resp_cqe_error;
    core.complete(qp.receive_cq, completion, packet.solicited_event);
    core.watch_limit(qp.srq);
}

// The peer is told nothing, and the queue pair fails: the error is in the user's own receive
// (10.10.2.2). All other errors of a message are its sender's, and the next one may be valid.
void on_bad_receive(Core& core, QueuePair& qp, Ruling verdict) {
    if (verdict == Ruling::receives_broken) core.raise(EventKind::qp_fatal, qp.number.value);
    enter_error(core, qp);
}

}  // namespace

void on_uc_request(Core& core, QueuePair& qp, const Packet& packet) {
    ResponderState& r = qp.responder;
    const Position position = wire::opcode_info(static_cast<uint8_t>(packet.opcode)).position;
    const bool begins = position == Position::first || position == Position::only;
    if (packet.psn() != r.expected || begins) lose_message(core, qp);
    const bool in_order = packet.psn() == r.expected;
    r.expected = wire::psn_plus(packet.psn(), 1);
    if (!in_order && !begins) {
        ++core.counters.out_of_sequence;
        return;
    }
    Ruling verdict = judge(core, qp, packet);
    if (verdict == Ruling::accept) verdict = carry_out(core, qp, packet);
    if (verdict == Ruling::accept) return;
    if (is_of_receive(verdict)) return on_bad_receive(core, qp, verdict);
    if (verdict == Ruling::receiver_not_ready) ++core.counters.out_of_buffer;
    ++core.counters.dropped_silently;
    lose_message(core, qp);
}

void on_datagram(Core& core, QueuePair& qp, const Packet& packet, wire::Bytes grh) {
    if (!wire::opcode_info(static_cast<uint8_t>(packet.opcode)).known ||
        packet.payload_length > qp.mtu) {
        ++core.counters.dropped_silently;
        return;
    }
    ReceiveQueue& queue = core.receive_queue_of(qp);
    if (core.has_broken_receives(qp)) return on_bad_receive(core, qp, Ruling::receives_broken);
    const uint32_t place = queue.take();
    if (place == ReceiveQueue::kNone) {
        ++core.counters.out_of_buffer;  // C9-140: dropped silently
        return;
    }
    const auto sges = queue.sges(place);
    Scatter result = Scatter::done;
    const std::byte* header = grh.size() == kGrhBytes ? grh.data() : nullptr;
    if (total_length(sges) < uint64_t{packet.payload_length} + kGrhBytes)
        result = Scatter::too_long;
    const PdId pd = core.receive_pd_of(qp);
    if (result == Scatter::done) result = scatter_bytes(core, sges, pd, 0, header, kGrhBytes);
    if (result == Scatter::done) result = scatter(core, sges, pd, kGrhBytes, packet);
    Status status = Status::success;
    if (result == Scatter::too_long) status = Status::local_length_error;
    if (result == Scatter::not_allowed) status = Status::local_protection_error;
    complete_datagram(core, qp, packet, place, status, header != nullptr);
    if (status != Status::success) enter_error(core, qp);
}

}  // namespace tulle::transport
