#include "transport/adapter.h"

#include <algorithm>
#include <bit>

#include "transport/completer.h"
#include "transport/credit/credit.h"
#include "transport/failure.h"
#include "transport/migration.h"
#include "transport/notify.h"
#include "transport/rd.h"
#include "transport/requester.h"
#include "transport/responder.h"
#include "transport/responses.h"
#include "transport/retry.h"
#include "transport/room_budget.h"
#include "transport/unreliable.h"
#include "transport/xrc.h"
#include "wire/partition_keys.h"

namespace tulle::transport {
namespace {

constexpr uint32_t kMulticastQpn = 0xff'ffff;
constexpr uint32_t kMaxEeContext = 0xff'ffff;  // 24 bits in the RDETH

// A packet of a reliable connection that passes all checks of passes_checks() and deliver().
bool is_usual(const QueuePair& qp, ShortWay way, const Packet& packet) {
    return qp.type_for(way) == QpType::rc && qp.state == QpState::rts && packet.pkey == qp.pkey &&
           qp.migration == Migration::migrated && wire::is_full_member(qp.pkey) &&
           packet.source == qp.address.endpoint.value && !packet.becn && !is_marked(packet);
}

// Fast paths for the most common packets: the middle of a WRITE, and an ACK in the middle of any
// message. Queue pairs that spread packets tell congestion control of each answer (unordered.h).
bool goes_short_way(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    switch (packet.opcode) {
        case wire::opcode_of(Service::rc, wire::Operation::write_middle):
            return is_usual(qp, ShortWay::continue_write, packet) &&
                   continue_write(core, qp, packet);
        case wire::opcode_of(Service::rc, wire::Operation::acknowledge):
            return is_usual(qp, ShortWay::acknowledge_middle, packet) && !qp.spread &&
                   acknowledge_middle(core, qp, now, packet);
        default: return false;
    }
}

bool response_fits(const Core& core, const QueuePair& qp, uint32_t payload, uint32_t room) {
    const uint32_t envelope = core.config.envelope_bytes + wire::Bth::kSize;
    const uint32_t longest = qp.early ? wire::SelectiveAck::kBytes : wire::AtomicAckEth::kSize;
    return envelope + wire::Aeth::kSize + longest + payload <= room;
}

// Verbs and the wire's negotiation allow only powers of two; modelled fabrics may have other MTUs.
bool is_mtu(uint32_t bytes, uint32_t most) {
    return bytes >= 256 && bytes % 4 == 0 && bytes <= most;
}

bool is_legal(const Core& core, const QueuePair& qp, const QpAttributes& attributes,
              uint32_t mask) {
    const QpState to = (mask & kState) != 0 ? attributes.state : qp.state;
    if (!is_legal_change(qp.type, qp.state, to, mask)) return false;
    if ((mask & kCurrentState) != 0 && attributes.current_state != qp.state) return false;
    if ((mask & kPathMtu) != 0 && !is_mtu(attributes.path_mtu, core.config.max_payload))
        return false;
    if ((mask & kMigrationState) != 0 && !may_order(qp, attributes.migration)) return false;
    if ((mask & kTimeout) != 0 && attributes.address.ack_timeout > 31) return false;
    if ((mask & kAlternatePath) != 0 && attributes.alternate.ack_timeout > 31) return false;
    if ((mask & (kRetryCount | kRnrRetry)) != 0 &&
        (attributes.retry_count > 7 || attributes.rnr_retry > 7))
        return false;
    return (mask & kMinRnrTimer) == 0 || attributes.min_rnr_timer <= 31;
}

}  // namespace

Adapter::Adapter(const AdapterConfig& config) : core_(config) {}

CqId Adapter::create_cq(uint32_t capacity) {
    // Each queue may have one pending event. Reserving its place here avoids a later allocation.
    while (core_.events.capacity() < core_.completion_queues.size() + 1) core_.events.grow();
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
    if (queue->arm(wish)) core_.raise(EventKind::completion, cq.value);
    return Refusal::none;
}

size_t Adapter::poll_completion(CqId cq, std::span<Completion> into) {
    CompletionQueue* queue = core_.completion_queue(cq);
    return queue == nullptr ? 0 : queue->poll(into);
}

// An XRC target needs neither completion queues nor a protection domain: SRQs have them. An
// initiator receives nothing.
bool Adapter::has_queues(const QpSetup& setup) {
    if (setup.type == QpType::xrc_target) return true;
    if (core_.completion_queue(setup.send_cq) == nullptr) return false;
    return setup.type == QpType::xrc_initiator ||
           core_.completion_queue(setup.receive_cq) != nullptr;
}

bool Adapter::is_sane(const QpSetup& setup) {
    if (core_.is_broken || setup.type > QpType::xrc_target) return false;  // not for users
    if ((setup.type == QpType::rd) != core_.rd_domains.knows(setup.rd_domain)) return false;
    const bool is_target = setup.type == QpType::xrc_target;
    if (is_target != core_.xrc_domains.knows(setup.xrc_domain)) return false;
    if (!core_.memory.knows(setup.pd) && (!is_target || setup.pd.value != 0)) return false;
    if (!has_queues(setup)) return false;
    if (setup.srq.value == 0) return true;
    const SharedReceiveQueue* shared = core_.shared_queue(setup.srq);
    return service_of(setup.type) != Service::xrc && shared != nullptr &&
           shared->xrc_domain.value == 0;
}

std::optional<Qpn> Adapter::set_up(QueuePair* qp, const QpSetup& setup) {
    if (qp == nullptr) return std::nullopt;
    qp->pd = setup.pd;
    qp->send_cq = setup.send_cq;
    qp->receive_cq = setup.receive_cq;
    qp->srq = setup.srq;
    qp->xrc_domain = setup.xrc_domain;
    qp->rd_domain = setup.rd_domain;
    qp->send_size = setup.send;
    qp->receive_requests = setup.receive_requests;
    qp->receive_sges = setup.receive_sges;
    qp->signal_all = setup.signal_all;
    if (setup.pd.value != 0) core_.memory.hold(setup.pd);
    if (CompletionQueue* queue = core_.completion_queue(setup.send_cq)) ++queue->users;
    if (CompletionQueue* queue = core_.completion_queue(setup.receive_cq)) ++queue->users;
    if (setup.xrc_domain.value != 0) core_.xrc_domains.hold(setup.xrc_domain);
    if (setup.rd_domain.value != 0) core_.rd_domains.hold(setup.rd_domain);
    if (SharedReceiveQueue* shared = core_.shared_queue(setup.srq)) ++shared->users;
    return qp->number;
}

std::optional<Qpn> Adapter::create_qp(const QpSetup& setup) {
    if (!is_sane(setup)) return std::nullopt;
    return set_up(core_.add(setup.type), setup);
}

std::optional<Qpn> Adapter::create_gsi(QpSetup setup) {
    setup.type = QpType::ud;
    if (!is_sane(setup)) return std::nullopt;
    return set_up(core_.add_special(kGeneralServices, QpType::ud), setup);
}

// Releases everything that set_up() took.
void Adapter::release(const QueuePair& qp) {
    if (qp.pd.value != 0) core_.memory.release(qp.pd);
    if (CompletionQueue* queue = core_.completion_queue(qp.send_cq)) --queue->users;
    if (CompletionQueue* queue = core_.completion_queue(qp.receive_cq)) --queue->users;
    if (qp.xrc_domain.value != 0) core_.xrc_domains.release(qp.xrc_domain);
    if (qp.rd_domain.value != 0) core_.rd_domains.release(qp.rd_domain);
    if (SharedReceiveQueue* shared = core_.shared_queue(qp.srq)) --shared->users;
}

Refusal Adapter::destroy_qp(Qpn qpn) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr) return Refusal::invalid_argument;
    for (const Member& member : members_)
        if (member.qpn == qpn) return Refusal::busy;
    reset(*qp);
    release(*qp);
    core_.remove(*qp);
    return Refusal::none;
}

void Adapter::forget_completions(Qpn qpn) {
    const QueuePair* qp = core_.find(qpn);
    if (qp == nullptr) return;
    const auto forget = [&](CompletionQueue* queue) {
        if (queue != nullptr) queue->remove(qpn);
    };
    if (qp->type != QpType::xrc_target) {
        forget(core_.completion_queue(qp->send_cq));
        return forget(core_.completion_queue(qp->receive_cq));
    }
    // Its receives complete on the queues of their shared receive queues.
    for (auto& queue : core_.completion_queues) forget(queue.get());
}

Duration Adapter::silence_time(const QueuePair& qp) const {
    return transport::silence_time(core_, qp);
}

Standing Adapter::standing(const QueuePair& qp, Instant now) const {
    return standing_of(core_, qp, now);
}

void Adapter::set_congestion_control(Qpn qpn, const CongestionControl& control) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr) return;
    qp->congestion = control;
    core_.on_new_path(*qp);
    if (control.algorithm == Algorithm::plugin) begin_plugin(*qp);
}

// A flow's number is the same in every run: the end point and the queue pair number.
void Adapter::begin_plugin(QueuePair& qp) {
    const uint64_t number = uint64_t{core_.config.endpoint.value} << 24 | qp.number.value;
    qp.plugin_flow =
        qp.congestion.plugin.begin(number, {&qp.prototype.entropy, &qp.requester.middles_left});
    qp.congestion.take_window(qp.congestion.plugin);
}

const PluginFlow* Adapter::failed_plugin() {
    const PluginFlow* first = nullptr;
    core_.for_each([&](const QueuePair& qp) {
        const PluginFlow* flow = qp.plugin_flow.get();
        if (flow == nullptr || flow->fault() == nullptr) return;
        if (first == nullptr || flow->fault()->at < first->fault()->at) first = flow;
    });
    return first;
}

void Adapter::set_loss_policy(Qpn qpn, LossPolicy policy) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr || qp->type >= QpType::ee_requester) return;
    // A queue pair with go-back-N may start selective repeat at any time. One with selective repeat
    // must keep its state.
    const bool has_books = qp->early || qp->scoreboard;
    if (policy == LossPolicy::selective_repeat || !has_books) qp->loss = policy;
}

void Adapter::set_sharing_rooms(Qpn qpn, bool is_on) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr || qp->shares_rooms == is_on) return;
    forget_rooms(core_, *qp);
    const bool is_connection = qp->type == QpType::rc || qp->type == QpType::xrc_initiator;
    qp->shares_rooms = is_on && is_connection && core_.config.room_packets != 0;
}

Refusal Adapter::modify_qp(Qpn qpn, const QpAttributes& attributes, uint32_t mask) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr || !is_legal(core_, *qp, attributes, mask)) return Refusal::invalid_argument;
    const QpState to = (mask & kState) != 0 ? attributes.state : qp->state;
    if (core_.is_broken && to != QpState::reset && to != QpState::error)
        return Refusal::invalid_argument;
    apply(*qp, attributes, mask);
    if (to != qp->state) change_state(*qp, attributes);
    // A queue pair with nothing to send must not be in line before those that have something.
    const bool is_idle = qp->requester.oldest == qp->requester.end && !qp->may_answer();
    if (!is_idle || (qp->type != QpType::rc && qp->type != QpType::uc)) core_.wake(*qp);
    return Refusal::none;
}

Refusal Adapter::fail_qp(Qpn qpn) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr || qp->state == QpState::reset || qp->state == QpState::error)
        return Refusal::invalid_argument;
    core_.raise(EventKind::qp_fatal, qpn.value);
    break_queue_pair(core_, *qp, Status::general_error);
    return Refusal::none;
}

Refusal Adapter::fail_srq(SrqId srq) {
    SharedReceiveQueue* shared = core_.shared_queue(srq);
    if (shared == nullptr || shared->is_broken) return Refusal::invalid_argument;
    shared->is_broken = true;
    core_.raise(EventKind::srq_error, srq.value);
    return Refusal::none;
}

void Adapter::fail_device() {
    if (!core_.is_broken) break_adapter(core_);
}

std::optional<wire::EeContext> Adapter::create_ee(RdDomainId domain) {
    if (!core_.rd_domains.knows(domain) || core_.ee_contexts.size() >= kMaxEeContext)
        return std::nullopt;
    const EndToEnd* ee = create_end_to_end(core_, domain);
    if (ee == nullptr) return std::nullopt;
    return ee->number;
}

Refusal Adapter::modify_ee(wire::EeContext number, const QpAttributes& attributes, uint32_t mask) {
    EndToEnd* ee = core_.end_to_end(number);
    if (ee == nullptr || !is_legal(core_, *ee->requester, attributes, mask))
        return Refusal::invalid_argument;
    apply(*ee->requester, attributes, mask);
    apply(*ee->responder, attributes, mask);
    if ((mask & kState) != 0) change_end_to_end(core_, *ee, attributes.state);
    return Refusal::none;
}

Refusal Adapter::destroy_ee(wire::EeContext number) {
    EndToEnd* ee = core_.end_to_end(number);
    if (ee == nullptr) return Refusal::invalid_argument;
    destroy_end_to_end(core_, *ee);
    return Refusal::none;
}

size_t Adapter::queue_pairs() const {
    const auto live = std::count_if(core_.ee_contexts.begin(), core_.ee_contexts.end(),
                                    [](const auto& ee) { return ee != nullptr; });
    return core_.queue_pairs() - 2 * static_cast<size_t>(live);
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
        // Without an alternate path, the peer's only address is this one.
        if (qp.state == QpState::init) qp.alternate = qp.address;
    }
    if (has(kTimeout)) qp.address.ack_timeout = attributes.address.ack_timeout;
    if (has(kAlternatePath)) qp.alternate = attributes.alternate;
    if (has(kMigrationState)) change_migration(core_, qp, attributes.migration);
    if (has(kPathMtu)) qp.mtu = attributes.path_mtu;
    if (has(kRetryCount)) qp.retry_count = qp.requester.retries_left = attributes.retry_count;
    if (has(kRnrRetry)) qp.rnr_retry = qp.requester.rnr_retries_left = attributes.rnr_retry;
    if (has(kMaxReads)) qp.max_reads = attributes.max_reads;
    if (has(kMaxIncomingReads)) qp.max_incoming_reads = attributes.max_incoming_reads;
    if (has(kMinRnrTimer)) qp.min_rnr_timer = attributes.min_rnr_timer;
    if (has(kDestQpn)) qp.dest_qpn = attributes.dest_qpn;
    if (has(kDestEe)) qp.dest_ee = attributes.dest_ee;
    core_.on_new_path(qp);
    if (has(kDrainNotify)) qp.drain_notify = attributes.drain_notify;
    if (has(kReceivePsn)) qp.responder.expected = wire::psn_plus(attributes.receive_psn, 0);
    if (has(kSendPsn)) {
        RequesterState& r = qp.requester;
        r.next_psn = r.send_psn = r.unacknowledged = r.sent_end = r.asked_end =
            wire::psn_plus(attributes.send_psn, 0);
    }
}

void Adapter::change_state(QueuePair& qp, const QpAttributes& attributes) {
    switch (attributes.state) {
        case QpState::reset: return reset(qp);
        case QpState::error: return enter_error(core_, qp);
        default: break;
    }
    qp.state = attributes.state;
    if (qp.state == QpState::sqd) complete_done(core_, qp);  // nothing in progress: drained at once
}

// Back to the initial state: posted requests are dropped without a completion (10.3.1). A message
// in progress returns its receive to a shared queue.
void Adapter::reset(QueuePair& qp) {
    ResponderState& responder = qp.responder;
    if (SharedReceiveQueue* shared = core_.shared_queue(qp.srq);
        shared != nullptr && responder.receive_place != ReceiveQueue::kNone)
        shared->queue.give_back(responder.receive_place);
    if (SharedReceiveQueue* shared = core_.shared_queue(qp.srq); shared != nullptr && qp.spread)
        for (const uint32_t place : qp.spread->messages.take_receives())
            shared->queue.give_back(place);
    if (qp.type == QpType::xrc_target) qp.srq = SrqId{};
    if (qp.type == QpType::rd) {
        withdraw_request(core_, qp);
        for (const uint32_t place : take_back_receives(core_, qp))
            core_.receive_queue_of(qp).give_back(place);
    }
    forget_rooms(core_, qp);
    qp.state = QpState::reset;
    qp.migration = Migration::migrated;
    qp.requester = RequesterState{};
    qp.responder = ResponderState{};
    qp.send_queue.reset();
    qp.receive_queue.reset();
    qp.early.reset();
    qp.scoreboard.reset();
    qp.spread.reset();
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
    qp->send_queue->make_room(r.oldest, r.end);
    if (!qp->send_queue->put(r.end, request)) return Refusal::invalid_argument;
    const SendWork& work = (*qp->send_queue)[r.end];
    if (qp->type == QpType::ud && work.length > qp->mtu) return Refusal::invalid_argument;
    ++r.end;
    if (qp->state == QpState::error || qp->state == QpState::sqe)
        flush_sends(core_, *qp);
    else
        core_.wake(*qp);
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

void Adapter::on_packet(Instant now, const Packet& packet, wire::Bytes grh) {
    if (packet.kind != wire::PacketKind::transport) [[unlikely]] {
        if (packet.kind == wire::PacketKind::back_pressure)
            on_back_pressure(core_, now, {packet.source}, packet.extended.send.immediate_or_rkey);
        return;
    }
    ++core_.counters.port_rcv_packets;
    core_.counters.port_rcv_data_bytes += packet.payload_length;
    QueuePair* qp = core_.find(packet.dest_qp());
    if (qp != nullptr && goes_short_way(core_, *qp, now, packet)) return;
    if (packet.payload_length > core_.config.max_payload) return on_damaged_packet();
    if (wire::service_of(static_cast<uint8_t>(packet.opcode)) == Service::rd)
        return deliver_rd(now, packet);
    if (packet.dest_qp().value == kMulticastQpn) {
        ++core_.counters.multicast_rcv_packets;
        return deliver_multicast(now, packet, grh);
    }
    if (qp == nullptr) {
        ++core_.counters.dropped_no_qp;
        return;
    }
    deliver(now, *qp, packet, grh);
}

void Adapter::refuse_packet(Instant now, const Packet& packet, uint8_t syndrome) {
    QueuePair* qp = core_.find(packet.dest_qp());
    const bool is_request = !wire::opcode_info(static_cast<uint8_t>(packet.opcode)).response;
    if (qp == nullptr || (qp->type != QpType::rc && qp->type != QpType::xrc_target) || !is_request)
        return on_packet(now, packet);
    ++core_.counters.port_rcv_packets;
    core_.counters.port_rcv_data_bytes += packet.payload_length;
    if (passes_checks(*qp, packet)) refuse_request(core_, *qp, now, packet, syndrome);
}

// The connection of a reliable datagram is its EE context.
void Adapter::deliver_rd(Instant now, const Packet& packet) {
    QueuePair* half = half_for(core_, packet);
    if (half == nullptr) {
        ++core_.counters.dropped_no_qp;
        return;
    }
    if (!passes_checks(*half, packet)) return;
    if (is_marked(packet)) on_marked(core_, *half, now, packet);
    on_rd_packet(core_, *half, now, packet);
    if (!half->responder.answers.empty()) fetch_answers(core_, *half, now);
}

void Adapter::deliver_multicast(Instant now, const Packet& packet, wire::Bytes grh) {
    for (const Member& member : members_)
        if (member.group.value == packet.destination)
            deliver(now, *core_.find(member.qpn), packet, grh);
}

// The checks of every packet, whatever its operation (9.6.1): the service fits the queue pair, the
// queue pair receives, and the keys match. Packets that fail are dropped and counted.
bool Adapter::passes_checks(QueuePair& qp, const Packet& packet) {
    const auto opcode = static_cast<uint8_t>(packet.opcode);
    if (packet.opcode != wire::kCnpOpcode &&
        (wire::service_of(opcode) != qp.service() ||
         !takes_direction(qp, wire::opcode_info(opcode).response))) {
        ++core_.counters.dropped_silently;
        return false;
    }
    if (!qp.receives()) {
        ++core_.counters.dropped_bad_state;
        return false;
    }
    if (!wire::partitions_match(packet.pkey, qp.pkey)) {
        ++core_.counters.pkey_violations;
        return false;
    }
    // The Q_Key of a reliable datagram is checked when its turn comes, and answered (rd.cc).
    const bool has_qkey =
        qp.type == QpType::ud && (wire::opcode_info(opcode).headers & wire::kDeth) != 0;
    if (has_qkey && packet.extended.send.qkey != qp.qkey) {
        ++core_.counters.qkey_violations;
        return false;
    }
    // On a connection, packets come only from the peer (9.6.1.4).
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
        if (packet.becn || !qp.spread || !qp.spread->credit.is_used())
            return on_notified(core_, qp, now, Signal::Kind::cnp);
        return on_grant(core_, qp, now, packet);
    }
    if (is_marked(packet)) on_marked(core_, qp, now, packet);
    if (packet.becn) on_notified(core_, qp, now, Signal::Kind::becn);
    if (packet.trimmed && !qp.is_reliable()) {
        ++core_.counters.dropped_silently;  // a gap, as if it were lost
        return;
    }
    if (qp.type == QpType::ud) return on_datagram(core_, qp, packet, grh);
    if (qp.state == QpState::rtr && !qp.responder.established) {
        qp.responder.established = true;
        core_.raise(EventKind::communication_established, qp.number.value);
    }
    heed_migration(core_, qp, packet);
    const wire::OpcodeInfo& info = wire::opcode_info(static_cast<uint8_t>(packet.opcode));
    if (qp.type == QpType::uc)
        on_uc_request(core_, qp, packet);
    else if (info.response)
        on_response(core_, qp, now, packet);
    else
        on_request(core_, qp, now, packet);
    if (!qp.responder.answers.empty()) fetch_answers(core_, qp, now);
}

void Adapter::on_timer(Instant now) {
    if (core_.next_pace() <= now) core_.wake_paced(now);
    while (QueuePair* qp = core_.pop_due(now)) on_time(core_, *qp, now);
}

Adapter::Turn Adapter::take_turn(QueuePair& qp, Instant now, uint32_t room, Packet& packet) {
    const auto payload = qp.may_answer() ? plan_response(core_, qp, now) : std::nullopt;
    // An acknowledgement of another lane goes when that lane accepts it (send_answer()).
    const bool is_of_other_lane = payload == 0u && qp.in_answer_list && qp.answer_lane != qp.lane;
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
            deliver_multicast(now, packet, {});
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
    if (standing(qp, now) == Standing::ready) return true;
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

void Adapter::set_ack_timeout(Instant now, Qpn qpn, uint8_t code) {
    QueuePair* qp = core_.find(qpn);
    if (qp == nullptr) return;
    qp->address.ack_timeout = code;
    start_timer(core_, *qp, now);
}

}  // namespace tulle::transport
