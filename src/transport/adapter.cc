#include "transport/adapter.h"

#include <algorithm>
#include <bit>

#include "transport/completer.h"
#include "transport/failure.h"
#include "transport/notify.h"
#include "transport/responses.h"

namespace tulle::transport {
namespace {

bool response_fits(const Core& core, const QueuePair& qp, uint32_t payload, uint32_t room) {
    const uint32_t envelope = core.config.envelope_bytes + wire::Bth::kSize;
    const uint32_t longest = qp.early ? wire::SelectiveAck::kBytes : wire::AtomicAckEth::kSize;
    return envelope + wire::Aeth::kSize + longest + payload <= room;
}

}  // namespace

Adapter::Adapter(const AdapterConfig& config) : core_(config) {}

void Adapter::fail_device() {
    if (!core_.is_broken) break_adapter(core_);
}

Refusal Adapter::post_send(Qpn qpn, const SendRequest& request) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr || qp->state == QpState::reset || qp->state == QpState::init ||
        qp->state == QpState::rtr)
        return Refusal::invalid_argument;
    if (!offers(qp->type, request.work)) return Refusal::invalid_argument;
    if (!qp->send_queue) qp->send_queue = std::make_unique<SendQueue>(qp->send_size);
    RequesterState& r = qp->requester;
    if (qp->send_queue->is_full(r.oldest, r.end)) return Refusal::queue_full;
    qp->send_queue->make_room(r.oldest, r.end);
    if (!qp->send_queue->put(r.end, request)) return Refusal::invalid_argument;
    const SendWork& work = (*qp->send_queue)[r.end];
    if (qp->type == QpType::ud && work.length > qp->mtu) return Refusal::invalid_argument;
    ++r.end;
    if (qp->state == QpState::error || qp->state == QpState::sqe)
        flush_sends(core_, *qp);
    else
        core_.wake_on_its_lane(*qp);
    return Refusal::none;
}

Refusal Adapter::post_receive(Qpn qpn, const ReceiveRequest& request) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr || qp->state == QpState::reset || qp->srq.value != 0 ||
        qp->service() == Service::xrc)
        return Refusal::invalid_argument;
    const Refusal refusal = core_.receive_queue_of(*qp).post(request);
    if (refusal == Refusal::none && qp->state == QpState::error) flush_receives(core_, *qp);
    return refusal;
}

void Adapter::on_timer(Instant now) {
    if (core_.next_pace() <= now) core_.wake_paced(now);
    while (QueuePair* qp = core_.pop_due(now)) on_time(core_, *qp, now);
}

Adapter::Turn Adapter::take_turn(QueuePair& qp, Instant now, uint32_t room, Packet& packet) {
    const auto payload = qp.may_answer() ? plan_response(core_, qp, now) : std::nullopt;
    // An acknowledgement of another lane goes when that lane accepts it (send_answer()). Behind the
    // data of a READ, it is in the list of that lane no more.
    const bool is_of_other_lane = payload == 0u && core_.answer_lane_of(qp) != qp.lane;
    if (is_of_other_lane) core_.wake_to_answer(qp);
    if (payload && !is_of_other_lane) {
        if (!response_fits(core_, qp, *payload, room)) return Turn::does_not_fit;
        if (*payload != 0 && qp.requester.next_allowed > now) {
            core_.wait_for_pace(qp);
            return Turn::nothing;
        }
        make_response(core_, qp, packet);
        if (packet.has_selective_ack()) {
            core_.counters.port_xmit_data_bytes -= packet.payload_length;  // not user data
        } else if (packet.payload_length != 0) {  // data is paced, whoever requested it
            const auto opcode = static_cast<uint8_t>(packet.opcode);
            const uint32_t size = core_.config.envelope_bytes + packet.payload_length +
                                  wire::opcode_info(opcode).header_size;
            qp.requester.next_allowed = on_sent(qp.congestion, now, size);
        }
        return Turn::sent;
    }
    if (continue_message(core_, qp, now, room, packet)) return Turn::sent;
    const auto plan = plan_request(core_, qp, now);
    if (!plan) return Turn::nothing;
    const uint8_t opcode = wire::opcode_of(qp.service(), plan->operation);
    const uint32_t size = core_.config.envelope_bytes + wire::opcode_info(opcode).header_size;
    if (size + plan->length > room) return Turn::does_not_fit;
    const uint32_t oldest = qp.requester.oldest;
    if (make_request(core_, qp, now, *plan, packet)) {
        // The fabric delivers it to all members except those behind its own port (10.5).
        if (packet.dest_qp().value == kMulticastQpn) {
            ++core_.counters.multicast_xmit_packets;
            deliver_multicast(core_, now, packet, {});
        }
        return Turn::sent;
    }
    const bool is_gone = qp.requester.oldest != oldest;
    return is_gone ? Turn::failed : Turn::nothing;
}

bool Adapter::send_notification(const Lanes& lanes, Packet& packet) {
    const uint8_t level = core_.config.notifications.service_level & 0xf;
    const uint8_t lane = core_.config.lane_of_level[level];
    if (!make_notification(core_, lanes.room_bytes[lane], packet)) return false;
    ++core_.counters.port_xmit_packets;
    return true;
}

// Acknowledgements and results of atomics do not wait for data of other queue pairs. The answer to
// a READ is data, and waits for its turn; so do all answers behind it.
bool Adapter::send_answer(Instant now, const Lanes& lanes, Packet& packet) {
    uint16_t waiting = core_.answering.filled();
    while (waiting != 0) {
        const auto lane = static_cast<uint8_t>(std::countr_zero(waiting));
        QueuePair& qp = core_.at(core_.answering.front(lane));
        const auto payload = plan_response(core_, qp, now);
        const bool is_small = payload == 0u;
        if (is_small && !response_fits(core_, qp, 0, lanes.room_bytes[lane])) {
            waiting = static_cast<uint16_t>(waiting & ~(1u << lane));
            continue;
        }
        if (is_small) make_response(core_, qp, packet);
        if (is_small && qp.may_answer()) {
            core_.answering.rotate(lane, core_.queue_pairs_);
        } else {
            core_.answering.pop(lane, core_.queue_pairs_);
            qp.in_answer_list = false;
            if (payload && !is_small) core_.wake(qp);
        }
        if (is_small) {
            ++core_.counters.port_xmit_packets;
            return true;
        }
        waiting = static_cast<uint16_t>(waiting & core_.answering.filled());
    }
    return false;
}

bool Adapter::poll_transmit(Instant now, const Lanes& lanes, Packet& packet) {
    if (!core_.losers.empty()) end_losers(core_);
    if (!core_.notifications.empty()) [[unlikely]]
        if (send_notification(lanes, packet)) return true;
    if (core_.answering.filled() != 0 && send_answer(now, lanes, packet)) return true;
    uint16_t waiting = core_.ready.filled();
    while (waiting != 0) {
        // The lanes take turns, starting behind the one that sent last.
        const auto rotated = std::rotr(waiting, next_lane_);
        const auto lane = static_cast<uint8_t>((std::countr_zero(rotated) + next_lane_) % kLanes);
        const uint32_t index = core_.ready.front(lane);
        QueuePair& qp = core_.at(index);
        if (core_.lane_of(qp) != lane) {  // its level has changed since it was queued
            core_.ready.pop(lane, core_.queue_pairs_);
            qp.in_ready_list = false;
            core_.wake(qp);
            waiting = core_.ready.filled();
            continue;
        }
        const Turn turn = lanes.room_bytes[lane] == 0
                              ? Turn::does_not_fit
                              : take_turn(qp, now, lanes.room_bytes[lane], packet);
        if (turn == Turn::does_not_fit) {
            waiting = static_cast<uint16_t>(waiting & ~(1u << lane));
            continue;
        }
        if (turn == Turn::sent) {
            if (qp.requester.next_allowed > now && !qp.may_answer()) {
                core_.ready.pop(lane, core_.queue_pairs_);
                qp.in_ready_list = false;
                core_.wait_for_pace(qp);
            } else {
                core_.ready.rotate(lane, core_.queue_pairs_);
            }
            next_lane_ = static_cast<uint8_t>((lane + 1) % kLanes);
            ++core_.counters.port_xmit_packets;
            core_.counters.port_xmit_data_bytes += packet.payload_length;
            return true;
        }
        core_.ready.pop(lane, core_.queue_pairs_);
        qp.in_ready_list = false;
        if (turn == Turn::failed) core_.wake(qp);
        waiting = core_.ready.filled();
    }
    return false;
}

bool Adapter::lacks_only_room(QueuePair& qp, Instant now) {
    if (standing_of(core_, qp, now) == Standing::ready) return true;
    const auto payload = qp.may_answer() ? plan_response(core_, qp, now) : std::nullopt;
    return payload && (*payload == 0 || qp.requester.next_allowed <= now);
}

// poll_transmit() does not look at the queue pairs of a lane without any room.
uint16_t Adapter::waiting_lanes(Instant now) {
    uint16_t waiting = core_.answering.filled();
    for (uint16_t left = core_.ready.filled() & ~waiting; left != 0; left &= left - 1) {
        const auto lane = static_cast<uint8_t>(std::countr_zero(left));
        const auto waits = [&](QueuePair& qp) { return lacks_only_room(qp, now); };
        if (core_.ready.any_of(lane, core_.queue_pairs_, waits)) waiting |= left & -left;
    }
    return waiting;
}

void Adapter::prefetch(uint32_t depth) const {
    constexpr size_t kFew = 4;
    const auto& table = core_.queue_pairs_;
    const size_t first = std::min<size_t>(Core::kSpecialQps, table.size());
    if (depth == 1) {
        base::prefetch(table.data() + first);
        base::prefetch(core_.timers_.data());
        base::prefetch(core_.paced_.data());
        base::prefetch(core_.completion_queues.data());
    } else if (depth == 2) {
        for (size_t i = first; i < std::min(first + kFew, table.size()); ++i)
            base::prefetch(table[i].get(), sizeof(QueuePair));
        if (!core_.completion_queues.empty()) base::prefetch(core_.completion_queues[0].get());
    }
}

std::optional<AdapterEvent> Adapter::poll_event() {
    if (!core_.losers.empty()) end_losers(core_);
    if (core_.events.empty()) return std::nullopt;
    return core_.events.pop_front();
}

bool Adapter::has_sends(Qpn qpn) {
    const QueuePair* qp = core_.find(qpn);
    return qp != nullptr && qp->requester.oldest != qp->requester.end;
}

void Adapter::complete_elsewhere(Qpn qpn, const SendRequest& request, uint32_t byte_count,
                                 Status status) {
    const QueuePair* qp = core_.find(qpn);
    TULLE_CHECK(qp != nullptr);
    const bool is_told = qp->signal_all || (request.flags & kSignalled) != 0;
    if (!is_told && status == Status::success) return;
    Completion completion;
    completion.id = request.id;
    completion.status = status;
    completion.vendor_error = vendor_error_of(status);
    completion.kind = CompletionKind::write;
    if (request.work == Work::read) completion.kind = CompletionKind::read;
    if (request.work == Work::bind_window) completion.kind = CompletionKind::bind_window;
    completion.byte_count = byte_count;
    completion.qpn = qpn;
    core_.complete(qp->send_cq, completion);
}

}  // namespace tulle::transport
