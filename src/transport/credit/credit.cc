#include "transport/credit/credit.h"

#include <algorithm>

#include "transport/notify.h"
#include "transport/responder.h"

namespace tulle::transport {
namespace {

// How many requests in the queue, and queue pairs of the adapter, a sender checks to compute its
// demand. Chosen: more than these exceed a window, or are enough to share it.
constexpr uint32_t kRequestsSeen = 64;
constexpr uint32_t kSharersSeen = 64;

bool has_outstanding(const QueuePair& qp) {
    return qp.requester.unacknowledged != qp.requester.sent_end;
}

uint32_t overhead(const Core& core) {
    return core.config.envelope_bytes + wire::Bth::kSize;
}

// Bytes waiting behind the packet of this plan, headers included.
uint64_t backlog_behind(const Core& core, const QueuePair& qp, const RequestPlan& plan) {
    const RequesterState& r = qp.requester;
    const uint64_t most = core.config.receiver_credit->most_bytes();
    const uint32_t around = overhead(core);
    const uint32_t repairs = r.repairs_due - (plan.is_repair && r.repairs_due != 0 ? 1 : 0);
    uint64_t bytes = uint64_t{repairs} * (qp.mtu + around);
    for (uint32_t i = 0; i < kRequestsSeen && r.current + i != r.end && bytes < most; ++i) {
        const uint32_t number = r.current + i;
        const SendWork& work = (*qp.send_queue)[number];
        uint32_t packets = work.awaits_data() ? 1 : packets_of(work, qp.mtu);
        uint64_t payload = work.awaits_data() ? 0 : work.length;
        if (number == r.current && number != r.begun && !work.awaits_data()) {
            const uint32_t sent = wire::psn_distance(work.first_psn, r.send_psn);
            packets -= std::min(packets, sent);
            payload -= std::min<uint64_t>(payload, uint64_t{sent} * qp.mtu);
        }
        bytes += payload + uint64_t{packets} * around;
    }
    const bool is_next = !plan.is_repair && plan.number == r.current;
    const uint64_t own = is_next ? uint64_t{plan.length} + around : 0;
    return bytes - std::min(bytes, own);
}

// Queue pairs that have something to send, including this one.
uint32_t sharers(Core& core, const QueuePair& qp) {
    uint32_t count = 0;
    uint32_t index = core.ready.front(qp.lane);
    for (; index != decltype(core.ready)::kNone && count < kSharersSeen; ++count)
        index = core.at(index).next_ready;
    return std::max(1u, count);
}

// The word of a packet for its demand, which a connection's requests leave empty. Atomics have
// none.
template <class AnyPacket>
auto* word_of(AnyPacket& packet) {
    if ((info_of(packet).headers & wire::kAtomicEth) != 0)
        return decltype(&packet.extended.send.qkey.value){};
    return is_send(operation_of(packet)) ? &packet.extended.send.qkey.value
                                         : &packet.extended.rdma.qkey.value;
}

CreditPacer& pacer_of(Core& core) {
    if (!core.pacer) core.pacer = std::make_unique<CreditPacer>(*core.config.receiver_credit);
    return *core.pacer;
}

void send_grant(Core& core, const QueuePair& qp) {
    if (core.notifications.full()) core.notifications.grow();
    core.notifications.push_back({.to = qp.address.endpoint,
                                  .qpn = qp.dest_qpn,
                                  .pkey = qp.pkey,
                                  .entropy = qp.address.entropy,
                                  .credit = qp.spread->client.granted,
                                  .is_grant = true});
}

}  // namespace

bool lacks_credit(const QueuePair& qp, Instant now) {
    return qp.spread && qp.spread->credit.is_used() &&
           !qp.spread->credit.may_send(now, has_outstanding(qp));
}

bool waits_for_credit(Core& core, QueuePair& qp, Instant now) {
    if (!lacks_credit(qp, now)) return false;
    core.look_again(qp, qp.spread->credit.asks_at());
    return true;
}

void spend_credit(Core& core, QueuePair& qp, Instant now, const RequestPlan& plan, Packet& packet) {
    const uint32_t bytes = overhead(core) + plan.length;
    const uint64_t backlog = backlog_behind(core, qp, plan);
    const CreditDemand demand = qp.spread->credit.spend(now, bytes, backlog, sharers(core, qp));
    if (uint32_t* word = word_of(packet)) *word = demand.word();
    // Nothing more can be sent until credit comes, so the receiver must report what it has.
    if (qp.spread->credit.bytes() <= 0) packet.ack_request = true;
}

void on_grant(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    qp.spread->credit.on_grant(now, packet.extended.ack.msn);
    core.wake(qp);
}

void hear_demand(Core& core, QueuePair& qp, Instant now, const Packet& packet) {
    CreditPacer& pacer = pacer_of(core);
    pacer.watch(now, is_marked(packet), packet.trimmed);
    const uint32_t* word = word_of(packet);
    if (word == nullptr) return;
    pacer.on_packet(qp.spread->client, Core::index_of(qp.number), CreditDemand::of_word(*word),
                    packet.trimmed);
    core.arm_pacer(now);
}

void grant_credit(Core& core, Instant now) {
    CreditPacer& pacer = *core.pacer;
    const auto place = pacer.next(now, [&](uint32_t index) -> CreditClient* {
        QueuePair* qp = core.find_at(index);
        return qp != nullptr && qp->spread ? &qp->spread->client : nullptr;
    });
    if (place) send_grant(core, core.at(*place));
    core.arm_pacer(now);
}

}  // namespace tulle::transport
