// What the roles of all queue pairs share: tables, queues, counters, and the lists of who may send
// and whose time has come. Internal to the room; the public face is adapter.h.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/rate.h"
#include "transport/answer_budget.h"
#include "transport/completion_queue.h"
#include "transport/counters.h"
#include "transport/domains.h"
#include "transport/loss/loss.h"
#include "transport/memory.h"
#include "transport/paths/path_settings.h"
#include "transport/queue_pair.h"
#include "wire/packet.h"

namespace tulle::transport {

using base::Duration;
using base::Instant;
using wire::Packet;

inline constexpr size_t kLanes = 16;

// What goes back to the sender of a packet that the network has marked (notify.h).
struct NotificationSettings {
    enum class Way : uint8_t {
        packet,  // a notification packet of its own
        answer,  // the BECN bit of the next answer, where there are answers
    };
    Way way = Way::packet;
    uint8_t service_level = 6;            // of notification packets: their lane, or priority
    uint8_t traffic_class = 48 << 2;      // DSCP 48
    base::Duration interval{50'000'000};  // from one to the next for a queue pair; 0: none
};

// What lies between an adapter and memory. Before it can send a message it fetches the first
// packet: a latency, and the packet's bytes at the rate of the bus; the packets behind it are
// fetched while that one is on the line. A packet that it receives is written once it is whole, for
// its CRC comes last. Latencies, not occupancy: those of different messages overlap.
struct MemoryAccess {
    base::Duration latency{};        // of a read: to memory and back
    std::optional<base::Rate> rate;  // none: bytes cost nothing
    uint32_t max_inline = 0;         // a message that is no longer comes with the doorbell

    bool is_free() const { return latency.ps == 0 && !rate; }
    base::Duration store(uint64_t bytes) const {
        return rate ? rate->time_for(bytes) : base::Duration{};
    }
    base::Duration fetch(uint64_t bytes) const { return latency + store(bytes); }
};

struct AdapterConfig {
    EndpointIndex endpoint{};
    uint64_t seed = 0;
    // The upper four bits of queue pairs' numbers count how often a place was used, from here on.
    // An adapter whose predecessor's packets may still be under way begins elsewhere.
    uint8_t first_use = 0;
    LossPolicy loss = LossPolicy::go_back_n;
    uint32_t max_packets_outstanding = 1 << 15;  // of one queue pair, below 2^23; 0: no bound
    // Packets that READs may ask for at a time, of queue pairs that count them together; 0: no
    // bound (answer_budget.h).
    uint32_t max_answers_due = 0;
    // Selective repeat: PSNs from the oldest that is missing on, of which a receiver keeps packets
    // and a sender sends them. A window counts what is in flight, without what is known to be here.
    uint32_t reorder_packets = 4096;
    uint32_t reorder_tolerance = 0;  // so many packets may overtake one before it counts as lost
    // With selective repeat; queue pairs of RC alone, and both ends alike (unordered.h).
    Delivery delivery = Delivery::ordered;
    PathSettings paths{};  // of a sender, unless delivery is ordered
    TimeoutSettings timeouts{};
    // Packets in the middle of messages have short ways. Without them a run finds the same, later:
    // for tests that compare.
    bool takes_short_ways = true;
    uint32_t ack_every = 16;       // packets of a long message between ACK requests
    bool coalesces_acks = true;    // an ACK that waits is replaced by the next
    bool grants_credits = true;    // end-to-end credits in ACKs
    uint32_t envelope_bytes = 46;  // around BTH, extended headers and payload, on the wire
    std::array<uint8_t, 16> lane_of_level = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    NotificationSettings notifications{};
    // The longest payload of a packet, and so the largest MTU: more than the wire's where packets
    // travel through shared memory.
    uint32_t max_payload = wire::kMaxPayload;
    // For so long a receiver that is not ready is asked again, however few retries a queue pair was
    // given: a process waits for its CPU now and then, and adapters do not. Zero in virtual time.
    base::Duration rnr_patience{};
    MemoryAccess
        memory{};  // in virtual time: of what READs ask for; the user's fetches are its own
};

struct SharedReceiveQueue {
    SharedReceiveQueue(PdId domain, uint32_t requests, uint32_t sges)
        : pd(domain), queue(requests, sges) {}
    PdId pd{};
    XrcDomainId xrc_domain{};  // of XRC only, and then
    CqId cq{};                 // it has a completion queue of its own
    uint32_t limit = 0;        // an event when fewer wait; 0 is none
    uint32_t users = 0;
    bool is_broken = false;
    ReceiveQueue queue;
    uint32_t lent = 0;  // receives that were taken out to be completed elsewhere (Adapter)
};

// A congestion notification packet that waits to go.
struct Notification {
    EndpointIndex to{};
    Qpn qpn{};
    wire::PKey pkey{};
    uint16_t entropy = 0;
};

// An end-to-end context: the connection of the reliable datagram service (rd.h).
struct EndToEnd {
    wire::EeContext number{};
    RdDomainId domain{};
    QueuePair* requester = nullptr;
    QueuePair* responder = nullptr;
    base::Ring<Qpn> waiting{4};  // queue pairs whose oldest request goes this way, in turn
    Qpn carried{};               // the one whose message is under way; none: RESYNC, or nothing
    bool resync_due = false;
    Qpn suspended{};           // whose message RESYNC gives up until its receiver is ready
    uint32_t settled_msn = 0;  // the peer's, when the latest message or RESYNC was acknowledged
    std::optional<uint8_t> refused{};  // the NAK that the peer's message got, until RESYNC
};

// Queue pairs lane by lane, first come first served. They are linked by a member of their own.
template <uint32_t QueuePair::*kNext>
class LaneLists {
public:
    static constexpr uint32_t kNone = UINT32_MAX;
    using Table = std::vector<std::unique_ptr<QueuePair>>;

    bool empty(uint8_t lane) const { return lists_[lane].first == kNone; }
    uint16_t filled() const { return filled_; }
    uint32_t front(uint8_t lane) const { return lists_[lane].first; }
    void push(uint8_t lane, uint32_t index, Table& table) {
        List& list = lists_[lane];
        (*table[index]).*kNext = kNone;
        if (list.first == kNone)
            list.first = index;
        else
            (*table[list.last]).*kNext = index;
        list.last = index;
        filled_ = static_cast<uint16_t>(filled_ | 1u << lane);
    }
    void pop(uint8_t lane, Table& table) {
        List& list = lists_[lane];
        list.first = (*table[list.first]).*kNext;
        if (list.first != kNone) return;
        list.last = kNone;
        filled_ = static_cast<uint16_t>(filled_ & ~(1u << lane));
    }
    // The first goes behind the last.
    void rotate(uint8_t lane, Table& table) {
        List& list = lists_[lane];
        if (list.last == list.first) return;
        const uint32_t second = std::exchange((*table[list.first]).*kNext, kNone);
        (*table[list.last]).*kNext = list.first;
        list.last = std::exchange(list.first, second);
    }
    // Lists are short, and a queue pair is seldom destroyed amid its work: the list is made anew.
    void remove(uint8_t lane, uint32_t index, Table& table) {
        std::vector<uint32_t> others;
        for (; !empty(lane); pop(lane, table))
            if (front(lane) != index) others.push_back(front(lane));
        for (const uint32_t other : others) push(lane, other, table);
    }

private:
    struct List {
        uint32_t first = kNone;
        uint32_t last = kNone;
    };
    std::array<List, kLanes> lists_{};
    uint16_t filled_ = 0;
};

class Core {
public:
    explicit Core(const AdapterConfig& adapter_config);

    // Queue pairs, by number in constant time. A number of the past does not find the queue pair
    // that has its place now.
    QueuePair* find(Qpn qpn) {
        const uint32_t index = index_of(qpn);
        if (index >= queue_pairs_.size()) return nullptr;
        QueuePair* qp = queue_pairs_[index].get();
        return qp != nullptr && qp->number == qpn ? qp : nullptr;
    }
    QueuePair& at(uint32_t index) { return *queue_pairs_[index]; }
    static uint32_t index_of(Qpn qpn) { return qpn.value & kIndexMask; }
    QueuePair* add(QpType type);
    // Half of an EE context. Its number has more than 24 bits, so that no call and no packet finds
    // it as a queue pair.
    QueuePair* add_half(QpType type);
    void remove(QueuePair& qp);
    size_t queue_pairs() const { return live_; }
    template <class Visitor>
    void for_each(Visitor&& visit) {
        for (auto& qp : queue_pairs_)
            if (qp) visit(*qp);
    }

    // The way to the peer has changed, or what packets say of it: their prototype follows.
    void on_new_path(QueuePair& qp);

    // It may have something to send: onto the ready list of its lane.
    void wake(QueuePair& qp) {
        if (qp.in_ready_list) return;
        qp.in_ready_list = true;
        qp.lane = lane_of(qp);
        ready.push(qp.lane, index_of(qp.number), queue_pairs_);
    }
    // It has an answer to give, which goes before all data: onto the list of answers of its lane.
    void wake_to_answer(QueuePair& qp) {
        if (qp.in_answer_list) return;
        qp.in_answer_list = true;
        qp.answer_lane = config.lane_of_level[qp.address.service_level & 0xf];
        answering.push(qp.answer_lane, index_of(qp.number), queue_pairs_);
    }
    // The lane of the packet that goes next.
    uint8_t lane_of(const QueuePair& qp) const {
        const uint8_t level =
            qp.type == QpType::ud ? level_of_datagram(qp) : qp.address.service_level;
        return config.lane_of_level[level & 0xf];
    }
    // Looks at this queue pair again, at this time at the latest.
    void look_again(QueuePair& qp, Instant at);
    // It has something to send that pacing allows later; wakes it then. Apart from the other times,
    // which are long and seldom come: here each packet brings one, and it always comes.
    void wait_for_pace(QueuePair& qp);
    Instant next_pace() const { return paced_.empty() ? Instant::never() : paced_.front().at; }
    void wake_paced(Instant now);
    // A queue pair whose time has come; nothing if there is none.
    QueuePair* pop_due(Instant now);
    Instant next_deadline() const {
        return std::min(timers_.empty() ? Instant::never() : timers_.front().at, next_pace());
    }

    void complete(CqId cq, const Completion& completion, bool solicited = false);
    void raise(EventKind kind, uint32_t subject) {
        if (events.full()) events.grow();
        events.push_back({kind, subject});
    }
    // Whether the shared queue that this queue pair takes its receives from has broken.
    bool has_broken_receives(const QueuePair& qp);
    CompletionQueue* completion_queue(CqId cq) {
        if (cq.value == 0 || cq.value > completion_queues.size()) return nullptr;
        return completion_queues[cq.value - 1].get();
    }
    SharedReceiveQueue* shared_queue(SrqId srq);
    EndToEnd* end_to_end(wire::EeContext ee);
    // A receive was taken: tells, once, if fewer wait than the user wants to know of.
    void watch_limit(SrqId srq);
    // Where this queue pair takes its receives from; made on first use.
    ReceiveQueue& receive_queue_of(QueuePair& qp);
    // Whose protection domain the pieces of those receives are in, and where they complete.
    PdId receive_pd_of(const QueuePair& qp);
    CqId receive_cq_of(const QueuePair& qp);

    AdapterConfig config;
    base::RandomStream random;
    Memory memory;
    Counters counters;
    LaneLists<&QueuePair::next_ready> ready;       // those that may have something to send
    LaneLists<&QueuePair::next_answer> answering;  // those that may have an answer to give
    AnswerBudget answers;
    base::Ring<Notification> notifications{1};
    base::Ring<AdapterEvent> events{2};
    Objection objection;      // the newest, until its owner takes it
    std::vector<Qpn> losers;  // queue pairs that a completion was lost of, until end_losers()
    bool is_broken = false;   // the whole adapter
    std::vector<std::unique_ptr<CompletionQueue>> completion_queues;  // CqId counts from 1
    std::vector<std::unique_ptr<SharedReceiveQueue>> shared_queues;   // SrqId too
    Domains<XrcDomainId> xrc_domains;
    Domains<RdDomainId> rd_domains;
    std::vector<std::unique_ptr<EndToEnd>> ee_contexts;  // numbers count from 1
    std::vector<std::byte> gathered;  // payload of the packet that was polled last, if from pieces

private:
    // A number is an index of the table and, above it, how often the place was used.
    static constexpr uint32_t kIndexBits = 20;
    static constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;
    static constexpr uint32_t kUses = 1u << (24 - kIndexBits);
    static constexpr uint32_t kSpecialQps = 2;
    static constexpr uint32_t kHidden = 1u << 24;

    struct Timer {
        Instant at;
        uint32_t index;
        // The earliest in front, as the standard heap has the greatest.
        bool operator<(const Timer& other) const {
            return at != other.at ? at > other.at : index > other.index;
        }
    };

    static uint8_t level_of_datagram(const QueuePair& qp);

    friend class Adapter;
    std::vector<std::unique_ptr<QueuePair>> queue_pairs_;
    std::vector<uint8_t> uses_;
    base::Ring<uint32_t> free_{2};
    std::vector<Timer> timers_;
    std::vector<Timer> paced_;
    size_t live_ = 0;
};

}  // namespace tulle::transport
