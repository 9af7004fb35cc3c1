#include "transport/adapter.h"

#include <algorithm>
#include <bit>

#include "transport/completer.h"
#include "transport/requester.h"
#include "transport/responder.h"
#include "transport/responses.h"
#include "transport/retry.h"
#include "transport/unreliable.h"

namespace tulle::transport {
namespace {

constexpr uint32_t kMulticastQpn = 0xff'ffff;
constexpr wire::PKey kMembershipBit{0x8000};

// Partitions match if their numbers do and one end at least is a full member (IBTA vol 1, 10.9.3).
bool partitions_match(wire::PKey a, wire::PKey b) {
    const uint32_t number = 0x7fff;
    return (a.value & number) == (b.value & number) &&
           ((a.value | b.value) & kMembershipBit.value) != 0;
}

bool is_mtu(uint32_t bytes) {
    return bytes >= 256 && std::has_single_bit(bytes);
}

}  // namespace

Adapter::Adapter(const AdapterConfig& config) : core_(config) {}

CqId Adapter::create_cq(uint32_t capacity) {
    core_.completion_queues.push_back(std::make_unique<CompletionQueue>(capacity));
    return CqId{static_cast<uint32_t>(core_.completion_queues.size())};
}

Refusal Adapter::destroy_cq(CqId cq) {
    CompletionQueue* queue = core_.completion_queue(cq);
    if (queue == nullptr) return Refusal::invalid_argument;
    if (queue->users != 0) return Refusal::busy;
    core_.completion_queues[cq.value - 1].reset();
    return Refusal::none;
}

Refusal Adapter::resize_cq(CqId cq, uint32_t capacity) {
    CompletionQueue* queue = core_.completion_queue(cq);
    if (queue == nullptr || !queue->resize(capacity)) return Refusal::invalid_argument;
    return Refusal::none;
}

Refusal Adapter::arm_cq(CqId cq, CompletionQueue::Wish wish) {
    CompletionQueue* queue = core_.completion_queue(cq);
    if (queue == nullptr) return Refusal::invalid_argument;
    queue->arm(wish);
    return Refusal::none;
}

size_t Adapter::poll_completion(CqId cq, std::span<Completion> into) {
    CompletionQueue* queue = core_.completion_queue(cq);
    return queue == nullptr ? 0 : queue->poll(into);
}

std::optional<SrqId> Adapter::create_srq(PdId pd, uint32_t requests, uint32_t sges) {
    if (!core_.memory.knows(pd) || requests == 0) return std::nullopt;
    core_.memory.hold(pd);
    core_.shared_queues.push_back(std::make_unique<SharedReceiveQueue>(pd, requests, sges));
    return SrqId{static_cast<uint32_t>(core_.shared_queues.size())};
}

Refusal Adapter::set_srq_limit(SrqId srq, uint32_t limit) {
    SharedReceiveQueue* shared = core_.shared_queue(srq);
    if (shared == nullptr || limit > shared->queue.capacity()) return Refusal::invalid_argument;
    shared->limit = limit;
    return Refusal::none;
}

Refusal Adapter::destroy_srq(SrqId srq) {
    SharedReceiveQueue* shared = core_.shared_queue(srq);
    if (shared == nullptr) return Refusal::invalid_argument;
    if (shared->users != 0) return Refusal::busy;
    core_.memory.release(shared->pd);
    core_.shared_queues[srq.value - 1].reset();
    return Refusal::none;
}

Refusal Adapter::post_srq_receive(SrqId srq, const ReceiveRequest& request) {
    SharedReceiveQueue* shared = core_.shared_queue(srq);
    return shared == nullptr ? Refusal::invalid_argument : shared->queue.post(request);
}

bool Adapter::is_sane(const QpSetup& setup) {
    if (!core_.memory.knows(setup.pd)) return false;
    if (core_.completion_queue(setup.send_cq) == nullptr) return false;
    if (core_.completion_queue(setup.receive_cq) == nullptr) return false;
    return setup.srq.value == 0 || core_.shared_queue(setup.srq) != nullptr;
}

std::optional<Qpn> Adapter::set_up(QueuePair* qp, const QpSetup& setup) {
    if (qp == nullptr) return std::nullopt;
    qp->pd = setup.pd;
    qp->send_cq = setup.send_cq;
    qp->receive_cq = setup.receive_cq;
    qp->srq = setup.srq;
    qp->send_size = setup.send;
    qp->receive_requests = setup.receive_requests;
    qp->receive_sges = setup.receive_sges;
    qp->signal_all = setup.signal_all;
    core_.memory.hold(setup.pd);
    ++core_.completion_queue(setup.send_cq)->users;
    ++core_.completion_queue(setup.receive_cq)->users;
    if (SharedReceiveQueue* shared = core_.shared_queue(setup.srq)) ++shared->users;
    return qp->number;
}

std::optional<Qpn> Adapter::create_qp(const QpSetup& setup) {
    if (!is_sane(setup)) return std::nullopt;
    return set_up(core_.add(setup.type), setup);
}

std::optional<Qpn> Adapter::create_special_qp(Qpn qpn, const QpSetup& setup) {
    if (!is_sane(setup) || qpn.value > 1) return std::nullopt;
    return set_up(core_.add_special(qpn), setup);
}

Refusal Adapter::destroy_qp(Qpn qpn) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr) return Refusal::invalid_argument;
    for (const Member& member : members_)
        if (member.qpn == qpn) return Refusal::busy;
    ResponderState& responder = qp->responder;
    if (SharedReceiveQueue* shared = core_.shared_queue(qp->srq)) {
        --shared->users;
        // What a message under way had taken is not lost to the others.
        if (responder.receive_place != ReceiveQueue::kNone)
            shared->queue.give_back(responder.receive_place);
    }
    --core_.completion_queue(qp->send_cq)->users;
    --core_.completion_queue(qp->receive_cq)->users;
    core_.memory.release(qp->pd);
    core_.remove(*qp);
    return Refusal::none;
}

void Adapter::set_congestion_control(Qpn qpn, const CongestionControl& control) {
    if (QueuePair* qp = core_.find(qpn)) qp->congestion = control;
}

Refusal Adapter::modify_qp(Qpn qpn, const QpAttributes& attributes, uint32_t mask) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr) return Refusal::invalid_argument;
    const QpState to = (mask & kState) != 0 ? attributes.state : qp->state;
    if (!is_legal_change(qp->type, qp->state, to, mask)) return Refusal::invalid_argument;
    if ((mask & kCurrentState) != 0 && attributes.current_state != qp->state)
        return Refusal::invalid_argument;
    if ((mask & kPathMtu) != 0 && !is_mtu(attributes.path_mtu)) return Refusal::invalid_argument;
    if ((mask & kAddress) != 0 && attributes.address.ack_timeout > 31)
        return Refusal::invalid_argument;
    if ((mask & (kRetryCount | kRnrRetry)) != 0 &&
        (attributes.retry_count > 7 || attributes.rnr_retry > 7))
        return Refusal::invalid_argument;
    if ((mask & kMinRnrTimer) != 0 && attributes.min_rnr_timer > 31)
        return Refusal::invalid_argument;
    apply(*qp, attributes, mask);
    if (to != qp->state) change_state(*qp, attributes);
    core_.wake(*qp);
    return Refusal::none;
}

void Adapter::apply(QueuePair& qp, const QpAttributes& attributes, uint32_t mask) {
    const auto has = [&](Attribute attribute) { return (mask & attribute) != 0; };
    if (has(kAccessFlags)) qp.access = attributes.access;
    if (has(kPkeyIndex)) qp.pkey = attributes.pkey;
    if (has(kQkey)) qp.qkey = attributes.qkey;
    if (has(kAddress)) {
        const uint8_t timeout = qp.address.ack_timeout;
        qp.address = attributes.address;
        qp.address.ack_timeout = timeout;
        if (!qp.in_ready_list) qp.lane = core_.config.lane_of_level[qp.address.service_level & 0xf];
    }
    if (has(kTimeout)) qp.address.ack_timeout = attributes.address.ack_timeout;
    if (has(kAlternatePath)) qp.alternate = attributes.alternate;
    if (has(kMigrationState)) qp.migration = attributes.migration;
    if (has(kPathMtu)) qp.mtu = attributes.path_mtu;
    if (has(kRetryCount)) qp.retry_count = qp.requester.retries_left = attributes.retry_count;
    if (has(kRnrRetry)) qp.rnr_retry = qp.requester.rnr_retries_left = attributes.rnr_retry;
    if (has(kMaxReads)) qp.max_reads = attributes.max_reads;
    if (has(kMaxIncomingReads)) qp.max_incoming_reads = attributes.max_incoming_reads;
    if (has(kMinRnrTimer)) qp.min_rnr_timer = attributes.min_rnr_timer;
    if (has(kDestQpn)) qp.dest_qpn = attributes.dest_qpn;
    if (has(kDrainNotify)) qp.drain_notify = attributes.drain_notify;
    if (has(kReceivePsn)) qp.responder.expected = attributes.receive_psn;
    if (has(kSendPsn)) {
        RequesterState& r = qp.requester;
        r.next_psn = r.send_psn = r.unacknowledged = r.sent_end = attributes.send_psn;
    }
}

void Adapter::change_state(QueuePair& qp, const QpAttributes& attributes) {
    switch (attributes.state) {
        case QpState::reset: return reset(qp);
        case QpState::error: return enter_error(core_, qp);
        default: break;
    }
    qp.state = attributes.state;
    if (qp.state == QpState::sqd) complete_done(core_, qp);  // nothing under way: drained at once
}

// Back to the beginning: what was posted is forgotten without a completion (10.3.1).
void Adapter::reset(QueuePair& qp) {
    ResponderState& responder = qp.responder;
    if (SharedReceiveQueue* shared = core_.shared_queue(qp.srq);
        shared != nullptr && responder.receive_place != ReceiveQueue::kNone)
        shared->queue.give_back(responder.receive_place);
    qp.state = QpState::reset;
    qp.requester = {};
    qp.responder = {};
    qp.send_queue.reset();
    qp.receive_queue.reset();
    qp.early.reset();
}

Refusal Adapter::attach_multicast(Qpn qpn, MulticastGroup group) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr || qp->type != QpType::ud) return Refusal::invalid_argument;
    for (const Member& member : members_)
        if (member.qpn == qpn && member.group == group) return Refusal::none;
    members_.push_back({group, qpn});
    return Refusal::none;
}

Refusal Adapter::detach_multicast(Qpn qpn, MulticastGroup group) {
    const auto removed = std::erase_if(
        members_, [&](const Member& member) { return member.qpn == qpn && member.group == group; });
    return removed == 0 ? Refusal::invalid_argument : Refusal::none;
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
    if (!qp->send_queue->put(r.end, request)) return Refusal::invalid_argument;
    const SendWork& work = (*qp->send_queue)[r.end];
    if (qp->type == QpType::ud) {
        if (work.length > qp->mtu) return Refusal::invalid_argument;
        if (!qp->in_ready_list)
            qp->lane = core_.config.lane_of_level[work.datagram.service_level & 0xf];
    }
    ++r.end;
    if (qp->state == QpState::error || qp->state == QpState::sqe)
        flush_sends(core_, *qp);
    else
        core_.wake(*qp);
    return Refusal::none;
}

Refusal Adapter::post_receive(Qpn qpn, const ReceiveRequest& request) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr || qp->state == QpState::reset || qp->srq.value != 0)
        return Refusal::invalid_argument;
    const Refusal refusal = core_.receive_queue_of(*qp).post(request);
    if (refusal == Refusal::none && qp->state == QpState::error) flush_receives(core_, *qp);
    return refusal;
}

void Adapter::on_packet(Instant now, const Packet& packet, wire::Bytes grh) {
    if (packet.kind != wire::PacketKind::transport) return;
    ++core_.counters.port_rcv_packets;
    core_.counters.port_rcv_data_bytes += packet.payload_length;
    if (packet.dest_qp().value == kMulticastQpn) return deliver_multicast(now, packet, grh);
    QueuePair* qp = core_.find(packet.dest_qp());
    if (qp == nullptr) {
        ++core_.counters.dropped_no_qp;
        return;
    }
    deliver(now, *qp, packet, grh);
}

void Adapter::deliver_multicast(Instant now, const Packet& packet, wire::Bytes grh) {
    for (const Member& member : members_)
        if (member.group.value == packet.destination)
            deliver(now, *core_.find(member.qpn), packet, grh);
}

// What every packet has to pass, whatever it asks for (9.6.1): the service fits the queue pair, it
// receives, and the keys are right. What does not is dropped and counted.
bool Adapter::passes_checks(QueuePair& qp, const Packet& packet) {
    const auto opcode = static_cast<uint8_t>(packet.opcode);
    if (packet.opcode != wire::kCnpOpcode && wire::service_of(opcode) != qp.service()) {
        ++core_.counters.dropped_silently;
        return false;
    }
    if (!qp.receives()) {
        ++core_.counters.dropped_bad_state;
        return false;
    }
    if (!partitions_match(packet.pkey, qp.pkey)) {
        ++core_.counters.pkey_violations;
        return false;
    }
    const bool has_qkey = (wire::opcode_info(opcode).headers & wire::kDeth) != 0;
    if (has_qkey && packet.extended.send.qkey != qp.qkey) {
        ++core_.counters.qkey_violations;
        return false;
    }
    // Of a connection only the peer speaks (9.6.1.4).
    if (qp.type != QpType::ud && packet.source != qp.address.endpoint.value &&
        packet.source != qp.alternate.endpoint.value) {
        ++core_.counters.dropped_silently;
        return false;
    }
    return true;
}

void Adapter::deliver(Instant now, QueuePair& qp, const Packet& packet, wire::Bytes grh) {
    if (!passes_checks(qp, packet)) return;
    if (packet.opcode == wire::kCnpOpcode) {
        ++core_.counters.rp_cnp_handled;
        return on_signal(qp.congestion, now, {.kind = Signal::Kind::cnp});
    }
    if ((packet.traffic_class & 3) == 3) ++core_.counters.np_ecn_marked_roce_packets;
    if (packet.becn) on_signal(qp.congestion, now, {.kind = Signal::Kind::becn});
    if (qp.type == QpType::ud) return on_datagram(core_, qp, packet, grh);
    if (qp.state == QpState::rtr && !qp.responder.established) {
        qp.responder.established = true;
        core_.raise(EventKind::communication_established, qp.number.value);
    }
    const wire::OpcodeInfo& info = wire::opcode_info(static_cast<uint8_t>(packet.opcode));
    if (qp.type == QpType::uc)
        on_uc_request(core_, qp, packet);
    else if (info.response)
        on_response(core_, qp, now, packet);
    else
        on_request(core_, qp, now, packet);
}

void Adapter::on_timer(Instant now) {
    while (QueuePair* qp = core_.pop_due(now)) on_time(core_, *qp, now);
}

Adapter::Turn Adapter::take_turn(QueuePair& qp, Instant now, uint32_t room, Packet& packet) {
    const uint32_t envelope = core_.config.envelope_bytes + wire::Bth::kSize;
    if (const auto payload = plan_response(core_, qp)) {
        const uint32_t headers = wire::Aeth::kSize + wire::AtomicAckEth::kSize;
        if (envelope + headers + *payload > room) return Turn::does_not_fit;
        make_response(core_, qp, packet);
        return Turn::sent;
    }
    const auto plan = plan_request(core_, qp, now);
    if (!plan) return Turn::nothing;
    const uint8_t opcode = wire::opcode_of(qp.service(), plan->operation);
    const uint32_t size = core_.config.envelope_bytes + wire::opcode_info(opcode).header_size;
    if (size + plan->length > room) return Turn::does_not_fit;
    return make_request(core_, qp, now, *plan, packet) ? Turn::sent : Turn::nothing;
}

bool Adapter::poll_transmit(Instant now, const Lanes& lanes, Packet& packet) {
    uint16_t waiting = core_.ready.filled();
    while (waiting != 0) {
        // The lanes take turns, beginning behind the one that sent last.
        const auto rotated = std::rotr(waiting, next_lane_);
        const auto lane = static_cast<uint8_t>((std::countr_zero(rotated) + next_lane_) % kLanes);
        const uint32_t index = core_.ready.front(lane);
        QueuePair& qp = core_.at(index);
        const Turn turn = lanes.room_bytes[lane] == 0
                              ? Turn::does_not_fit
                              : take_turn(qp, now, lanes.room_bytes[lane], packet);
        if (turn == Turn::does_not_fit) {
            waiting = static_cast<uint16_t>(waiting & ~(1u << lane));
            continue;
        }
        core_.ready.pop(lane, core_.queue_pairs_);
        qp.in_ready_list = false;
        if (turn == Turn::sent) {
            core_.wake(qp);
            next_lane_ = static_cast<uint8_t>((lane + 1) % kLanes);
            ++core_.counters.port_xmit_packets;
            core_.counters.port_xmit_data_bytes += packet.payload_length;
            return true;
        }
        waiting = core_.ready.filled();
    }
    return false;
}

std::optional<AdapterEvent> Adapter::poll_event() {
    if (core_.events.empty()) return std::nullopt;
    const AdapterEvent event = core_.events.front();
    core_.events.pop_front();
    return event;
}

}  // namespace tulle::transport
