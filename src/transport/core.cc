#include "transport/core.h"

#include <algorithm>

#include "transport/credit/credit.h"
#include "transport/responses.h"
#include "transport/retry.h"

namespace tulle::transport {
namespace {

// Owners of the random streams (base/random.h).
constexpr uint32_t kStreamKeys = 0x7261'6e01;
constexpr uint32_t kStreamNumbers = 0x7261'6e02;
constexpr uint32_t kStreamPaths = 0x7261'6e03;

// A freed place of the table is reused only when more than this many are free.
constexpr size_t kFreePlacesKept = 64;

constexpr uint32_t kMostOutstanding = (1 << 23) - 1;  // beyond it PSNs are ambiguous

}  // namespace

Core::Core(const AdapterConfig& adapter_config)
    : config(adapter_config),
      random({adapter_config.seed, kStreamNumbers, adapter_config.endpoint.value}),
      memory(base::RandomStream({adapter_config.seed, kStreamKeys, adapter_config.endpoint.value})),
      queue_pairs_(kSpecialQps),
      uses_(kSpecialQps) {
    for (RoomBudget& room : rooms) room.most = config.room_packets;
    if (config.max_packets_outstanding == 0) config.max_packets_outstanding = kMostOutstanding;
    // The peer keeps no packet further ahead.
    if (config.loss == LossPolicy::selective_repeat)
        config.max_packets_outstanding =
            std::min(config.max_packets_outstanding, config.reorder_packets);
}

QueuePair* Core::add(QpType type) {
    uint32_t index = 0;
    if (free_.size() > kFreePlacesKept || queue_pairs_.size() > kIndexMask) {
        if (free_.empty()) return nullptr;
        index = free_.pop_front();
    } else {
        index = static_cast<uint32_t>(queue_pairs_.size());
        queue_pairs_.emplace_back();
        uses_.push_back(config.first_use);
    }
    return put(index, Qpn{(uses_[index] % kUses) << kIndexBits | index}, type);
}

QueuePair* Core::add_special(Qpn number, QpType type) {
    return queue_pairs_[number.value] ? nullptr : put(number.value, number, type);
}

QueuePair* Core::put(uint32_t index, Qpn number, QpType type) {
    auto qp = std::make_unique<QueuePair>();
    qp->number = qp->owner = number;
    qp->type = type;
    for (size_t way = 0; way < kShortWays; ++way)
        qp->short_types[way] = (config.short_ways >> way & 1) != 0 ? type : QpType::ee_responder;
    if (type < QpType::ee_requester) qp->loss = config.loss;
    queue_pairs_[index] = std::move(qp);
    ++live_;
    return queue_pairs_[index].get();
}

QueuePair* Core::add_half(QpType type) {
    QueuePair* half = add(type);
    if (half == nullptr) return nullptr;
    half->number.value |= kHidden;
    half->owner = Qpn{};
    return half;
}

void Core::remove(QueuePair& qp) {
    const uint32_t index = index_of(qp.number);
    if (qp.in_ready_list) ready.remove(qp.lane, index, queue_pairs_);
    if (qp.in_answer_list) answering.remove(qp.answer_lane, index, queue_pairs_);
    queue_pairs_[index].reset();
    --live_;
    if (index < kSpecialQps) return;
    ++uses_[index];
    if (free_.full()) free_.grow();
    free_.push_back(index);
}

void Core::on_new_path(QueuePair& qp) {
    Packet packet;
    packet.source = config.endpoint.value & 0xff'ffff;
    packet.destination = qp.address.endpoint.value & 0xff'ffff;
    packet.hop_limit = qp.address.hop_limit;
    packet.traffic_class = qp.class_for(qp.address.traffic_class);
    packet.service_level = qp.address.service_level & 0xf;
    packet.entropy = qp.address.entropy;
    packet.migrated = qp.migration == Migration::migrated;
    packet.pkey = qp.pkey;
    packet.set_dest_qp(qp.dest_qpn);
    qp.prototype = packet;
    qp.answer_level = qp.address.service_level;
    qp.requester.middles_left = 0;  // they have the old prototype
    const bool is_spread = config.delivery != Delivery::ordered && qp.type == QpType::rc &&
                           qp.loss == LossPolicy::selective_repeat;
    if (is_spread && !qp.spread)
        qp.spread = std::make_unique<Spread>(
            config.delivery, config.paths, qp.address.entropy,
            base::StreamOwner{config.seed, kStreamPaths,
                              uint64_t{config.endpoint.value} << 32 | qp.number.value});
    if (answers_go_apart(*this, qp)) qp.answer_level = config.notifications.service_level;
    if (is_spread && config.receiver_credit != nullptr && !qp.spread->credit.is_used())
        qp.spread->credit = SenderCredit(*config.receiver_credit);
}

void Core::change_answer_level(QueuePair& qp, uint8_t level) {
    qp.answer_level = level;
    if (!qp.in_answer_list) return;
    answering.remove(qp.answer_lane, index_of(qp.number), queue_pairs_);
    qp.in_answer_list = false;
    wake_to_answer(qp);
}

// Takes the queue pair out of a ready list that is not that of its lane.
void Core::leave_line(QueuePair& qp) {
    if (lane_of(qp) == qp.lane) return;
    ready.remove(qp.lane, index_of(qp.number), queue_pairs_);
    qp.in_ready_list = false;
}

// A reliable datagram waits in the lane of the context that will carry it.
uint8_t Core::level_of_datagram(const QueuePair& qp) const {
    const RequesterState& r = qp.requester;
    if (qp.type == QpType::rd) {
        const EndToEnd* ee =
            r.oldest != r.end ? end_to_end((*qp.send_queue)[r.oldest].ee_context) : nullptr;
        return ee != nullptr ? ee->requester->address.service_level : qp.address.service_level;
    }
    const bool waits = qp.type == QpType::ud && qp.send_queue && r.current != r.end;
    return waits ? (*qp.send_queue)[r.current].datagram.service_level : qp.address.service_level;
}

// A queue pair has one valid timer, the earliest requested. Later ones, requested before, stay in
// the heap and do nothing when they expire.
void Core::look_again(QueuePair& qp, Instant at) {
    if (at >= qp.timer_at) return;
    qp.timer_at = at;
    timers_.push_back({at, index_of(qp.number)});
    std::push_heap(timers_.begin(), timers_.end());
}

// Each packet of a slow queue pair asks for an answer. Otherwise the next packet that asks might
// come too late for the timer: slowness is not loss.
void Core::wait_for_pace(QueuePair& qp) {
    if (qp.waits_for_pace) return;
    RequesterState& r = qp.requester;
    const Duration since_asked = r.next_allowed - r.timed_at;
    if (qp.is_reliable() && !r.timed) {
        const Duration silence = silence_time(*this, qp);
        if (silence.ps != 0 && since_asked >= silence / 8) {
            r.asks_next = true;
            r.middles_left = 0;
        }
    }
    qp.waits_for_pace = true;
    paced_.push_back({qp.requester.next_allowed, index_of(qp.number)});
    std::push_heap(paced_.begin(), paced_.end());
}

void Core::wake_paced(Instant now) {
    while (next_pace() <= now) {
        const uint32_t index = paced_.front().index;
        std::pop_heap(paced_.begin(), paced_.end());
        paced_.pop_back();
        if (index == kPacerIndex) {
            pacer->is_armed = false;
            grant_credit(*this, now);
            continue;
        }
        QueuePair* qp = queue_pairs_[index].get();
        if (qp == nullptr || !qp->waits_for_pace) continue;
        qp->waits_for_pace = false;
        wake(*qp);
    }
}

void Core::arm_pacer(Instant now) {
    if (pacer->is_armed || !pacer->has_clients()) return;
    pacer->is_armed = true;
    paced_.push_back({std::max(now, pacer->next_at()), kPacerIndex});
    std::push_heap(paced_.begin(), paced_.end());
}

QueuePair* Core::pop_due(Instant now) {
    while (!timers_.empty() && timers_.front().at <= now) {
        const Timer timer = timers_.front();
        std::pop_heap(timers_.begin(), timers_.end());
        timers_.pop_back();
        QueuePair* qp = queue_pairs_[timer.index].get();
        if (qp == nullptr || qp->timer_at != timer.at) continue;
        qp->timer_at = Instant::never();
        return qp;
    }
    return nullptr;
}

SharedReceiveQueue* Core::shared_queue(SrqId srq) {
    if (srq.value == 0 || srq.value > shared_queues.size()) return nullptr;
    return shared_queues[srq.value - 1].get();
}

EndToEnd* Core::end_to_end(wire::EeContext ee) const {
    if (ee.value == 0 || ee.value > ee_contexts.size()) return nullptr;
    return ee_contexts[ee.value - 1].get();
}

void Core::watch_limit(SrqId srq) {
    SharedReceiveQueue* shared = shared_queue(srq);
    if (shared == nullptr || shared->queue.waiting() + shared->lent >= shared->limit) return;
    shared->limit = 0;
    raise(EventKind::srq_limit_reached, srq.value);
}

bool Core::has_broken_receives(const QueuePair& qp) {
    const SharedReceiveQueue* shared = shared_queue(qp.srq);
    return shared != nullptr && shared->is_broken;
}

ReceiveQueue& Core::receive_queue_of(QueuePair& qp) {
    if (SharedReceiveQueue* shared = shared_queue(qp.srq)) return shared->queue;
    if (qp.owner != qp.number) {
        QueuePair* owner = find(qp.owner);
        TULLE_CHECK(owner != nullptr);
        return receive_queue_of(*owner);
    }
    if (!qp.receive_queue)
        qp.receive_queue = std::make_unique<ReceiveQueue>(qp.receive_requests, qp.receive_sges);
    return *qp.receive_queue;
}

PdId Core::receive_pd_of(const QueuePair& qp) {
    const SharedReceiveQueue* shared = shared_queue(qp.srq);
    return shared != nullptr ? shared->pd : qp.pd;
}

CqId Core::receive_cq_of(const QueuePair& qp) {
    const SharedReceiveQueue* shared = shared_queue(qp.srq);
    return shared != nullptr && shared->cq.value != 0 ? shared->cq : qp.receive_cq;
}

void Core::complete(CqId cq, const Completion& completion, bool solicited) {
    CompletionQueue* queue = completion_queue(cq);
    TULLE_CHECK(queue != nullptr);
    if (!queue->push(completion)) {
        if (queue->begins_overrun()) raise(EventKind::cq_error, cq.value);
        const QueuePair* qp = find(completion.qpn);
        if (qp != nullptr && qp->state != QpState::error) losers.push_back(qp->number);
        return;
    }
    if (queue->fulfils(completion, solicited)) raise(EventKind::completion, cq.value);
}

}  // namespace tulle::transport
