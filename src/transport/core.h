// State shared by the roles of all queue pairs: tables, queues, counters, and the lists of queue
// pairs that may send or whose timer expires. Internal to the room; the public interface is
// adapter.h.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/rate.h"
#include "transport/completion_queue.h"
#include "transport/counters.h"
#include "transport/credit/credit_pacer.h"
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

// How a receiver tells the sender of a packet that the network marked it (notify.h).
struct NotificationSettings {
    enum class Way : uint8_t {
        packet,  // a notification packet of its own
        answer,  // the BECN bit of the next answer, if the service has answers
    };
    Way way = Way::packet;
    uint8_t service_level = 6;            // of notification packets: selects their lane or priority
    uint8_t traffic_class = 48 << 2;      // DSCP 48
    base::Duration interval{50'000'000};  // minimum between two of a queue pair; 0: none
};

// The bus between an adapter and memory. To send a message, the adapter first fetches the first
// packet: this takes a latency, plus the packet's bytes at the rate of the bus. Later packets are
// fetched while the first is on the line. A received packet is written once it is complete, because
// its CRC comes last. These are latencies, not occupancy: those of different messages overlap.
struct MemoryAccess {
    base::Duration latency{};        // of a read: round trip to memory
    std::optional<base::Rate> rate;  // none: bytes take no time
    uint32_t max_inline = 0;         // messages up to this size come with the doorbell

    bool is_free() const { return latency.ps == 0 && !rate; }
    base::Duration store(uint64_t bytes) const {
        return rate ? rate->time_for(bytes) : base::Duration{};
    }
    base::Duration fetch(uint64_t bytes) const { return latency + store(bytes); }
};

struct AdapterConfig {
    EndpointIndex endpoint{};
    uint64_t seed = 0;
    // The upper four bits of a queue pair number count how often its table slot was used, starting
    // here. An adapter starts elsewhere if packets to its predecessor may still be in flight.
    uint8_t first_use = 0;
    LossPolicy loss = LossPolicy::go_back_n;
    uint32_t max_packets_outstanding = 1 << 15;  // per queue pair, below 2^23; 0: no limit
    // For queue pairs that share rooms: packets that a room holds (room_budget.h); 0: no limit.
    uint32_t room_packets = 0;
    // Selective repeat: the range of PSNs, from the oldest missing one, in which a receiver keeps
    // packets and a sender sends them. A window counts packets in flight, without those known to
    // have arrived.
    uint32_t reorder_packets = 4096;
    uint32_t reorder_tolerance = 0;  // packets that may overtake one before it counts as lost
    // Needs selective repeat. For RC queue pairs only; both ends use the same (unordered.h).
    Delivery delivery = Delivery::ordered;
    PathSettings paths{};  // of a sender, unless delivery is ordered
    // Receivers grant credit, unless delivery is ordered (credit/credit.h). The settings must
    // outlive the adapter.
    const RcccSettings* receiver_credit = nullptr;
    TimeoutSettings timeouts{};
    uint8_t short_ways = kAllShortWays;  // a bit for each ShortWay
    uint32_t ack_every = 16;             // packets of a long message between ACK requests
    bool coalesces_acks = true;          // a newer ACK replaces one that waits
    bool grants_credits = true;          // end-to-end credits in ACKs
    uint32_t envelope_bytes = 46;        // around BTH, extended headers and payload, on the wire
    std::array<uint8_t, 16> lane_of_level = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    NotificationSettings notifications{};
    // Acknowledgements of RC queue pairs travel as notifications do, ahead of data (responses.h).
    bool answers_apart = false;
    // The longest payload of a packet, and so the largest MTU. It exceeds the wire's maximum where
    // packets travel through shared memory.
    uint32_t max_payload = wire::kMaxPayload;
    // How long to keep retrying after RNR NAKs, whatever the queue pair's retry count. A process
    // sometimes waits for its CPU; an adapter does not. Zero in virtual time.
    base::Duration rnr_patience{};
    MemoryAccess
        memory{};  // in virtual time: for the data of READs; the user models its own fetches
};

struct MulticastGroup {
    uint32_t value = 0;  // the owner's index of the group; datagrams use it as their target
    auto operator<=>(const MulticastGroup&) const = default;
};
struct MulticastMember {
    MulticastGroup group;
    Qpn qpn;
    bool operator==(const MulticastMember&) const = default;
};

struct SharedReceiveQueue {
    SharedReceiveQueue(PdId domain, uint32_t requests, uint32_t sges)
        : pd(domain), queue(requests, sges) {}
    PdId pd{};
    XrcDomainId xrc_domain{};  // set for XRC only ...
    CqId cq{};                 // ... which has its own completion queue
    uint32_t limit = 0;        // raises an event when fewer receives wait; 0: none
    uint32_t users = 0;
    bool is_broken = false;
    ReceiveQueue queue;
    uint32_t lent = 0;  // receives taken out to be completed elsewhere (SharedReceives)
};

// A pending congestion notification packet, or a pending grant of credit. A grant has the same
// opcode without the congestion bit (BECN).
struct Notification {
    EndpointIndex to{};
    Qpn qpn{};
    wire::PKey pkey{};
    uint16_t entropy = 0;
    uint32_t credit = 0;  // of a grant: the new credit limit
    bool is_grant = false;
};

// An end-to-end context: the connection of the reliable datagram service (rd.h).
struct EndToEnd {
    wire::EeContext number{};
    RdDomainId domain{};
    QueuePair* requester = nullptr;
    QueuePair* responder = nullptr;
    base::Ring<Qpn> waiting{4};  // queue pairs whose oldest request uses this context, in turn
    Qpn carried{};  // the queue pair whose message is in progress; none: RESYNC, or idle
    bool resync_due = false;
    Qpn suspended{};  // the queue pair whose message RESYNC abandons until its receiver is ready
    uint32_t settled_msn = 0;  // the peer's MSN when the latest message or RESYNC was acknowledged
    std::optional<uint8_t> refused{};  // the NAK sent for the peer's message, until RESYNC
};

// Queue pairs per lane, first come first served. The lists are linked through a member of
// QueuePair.
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
    template <class Predicate>
    bool any_of(uint8_t lane, Table& table, Predicate&& holds) const {
        uint32_t index = lists_[lane].first;
        while (index != kNone && !holds(*table[index])) index = (*table[index]).*kNext;
        return index != kNone;
    }
    // Moves the first behind the last.
    void rotate(uint8_t lane, Table& table) {
        List& list = lists_[lane];
        if (list.last == list.first) return;
        const uint32_t second = std::exchange((*table[list.first]).*kNext, kNone);
        (*table[list.last]).*kNext = list.first;
        list.last = std::exchange(list.first, second);
    }
    // Rebuilds the list: lists are short, and a queue pair is seldom destroyed during its work.
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

    // Finds a queue pair by number in constant time. The number of a destroyed queue pair does not
    // find the one that has its slot now.
    QueuePair* find(Qpn qpn) {
        const uint32_t index = index_of(qpn);
        if (index >= queue_pairs_.size()) return nullptr;
        QueuePair* qp = queue_pairs_[index].get();
        return qp != nullptr && qp->number == qpn ? qp : nullptr;
    }
    QueuePair& at(uint32_t index) { return *queue_pairs_[index]; }
    QueuePair* find_at(uint32_t index) {
        return index < queue_pairs_.size() ? queue_pairs_[index].get() : nullptr;
    }
    static uint32_t index_of(Qpn qpn) { return qpn.value & kIndexMask; }
    QueuePair* add(QpType type);
    // The queue pair with a number below kSpecialQps; nullptr if it exists.
    QueuePair* add_special(Qpn number, QpType type);
    // Half of an EE context. Its number exceeds 24 bits, so no call and no packet can name it as a
    // queue pair.
    QueuePair* add_half(QpType type);
    void remove(QueuePair& qp);
    size_t queue_pairs() const { return live_; }
    template <class Visitor>
    void for_each(Visitor&& visit) {
        for (auto& qp : queue_pairs_)
            if (qp) visit(*qp);
    }

    // The path to the peer has changed, or its packet headers: rebuilds the prototype of packets.
    void on_new_path(QueuePair& qp);

    // The queue pair may have something to send: adds it to the ready list of its lane.
    void wake(QueuePair& qp) {
        if (qp.in_ready_list) return;
        qp.in_ready_list = true;
        qp.lane = lane_of(qp);
        ready.push(qp.lane, index_of(qp.number), queue_pairs_);
    }
    // The same after something was posted: the queue pair may be in line for a lane that its next
    // packet does not take.
    void wake_on_its_lane(QueuePair& qp) {
        if (qp.type >= QpType::ud && qp.in_ready_list) leave_line(qp);
        wake(qp);
    }
    // The queue pair has an answer to send, which goes ahead of all data: adds it to the answer
    // list of its lane.
    void wake_to_answer(QueuePair& qp) {
        if (qp.in_answer_list) return;
        qp.in_answer_list = true;
        qp.answer_lane = answer_lane_of(qp);
        answering.push(qp.answer_lane, index_of(qp.number), queue_pairs_);
    }
    uint8_t answer_lane_of(const QueuePair& qp) const {
        return config.lane_of_level[qp.answer_level & 0xf];
    }
    // Answers travel on this level from now on, also one that waits.
    void change_answer_level(QueuePair& qp, uint8_t level);
    // The lane of the next packet. Queue pairs of RC and UC have one; for others core.cc looks.
    uint8_t lane_of(const QueuePair& qp) const {
        const uint8_t level =
            qp.type >= QpType::ud ? level_of_datagram(qp) : qp.address.service_level;
        return config.lane_of_level[level & 0xf];
    }
    // Sets a timer for this queue pair, at this time at the latest.
    void look_again(QueuePair& qp, Instant at);
    // The queue pair has something to send that pacing allows later: wakes it then. These timers
    // are kept apart from the others, which are long and seldom expire: here each packet sets one,
    // and it always expires.
    void wait_for_pace(QueuePair& qp);
    // Sets a timer for the next grant of the pacer, if any queue pair waits for one.
    void arm_pacer(Instant now);
    Instant next_pace() const { return paced_.empty() ? Instant::never() : paced_.front().at; }
    void wake_paced(Instant now);
    // A queue pair whose timer has expired; nullptr if there is none.
    QueuePair* pop_due(Instant now);
    Instant next_deadline() const {
        return std::min(timers_.empty() ? Instant::never() : timers_.front().at, next_pace());
    }

    void complete(CqId cq, const Completion& completion, bool solicited = false);
    void raise(EventKind kind, uint32_t subject) {
        if (events.full()) events.grow();
        events.push_back({kind, subject});
    }
    // Whether the shared queue that this queue pair takes its receives from is broken.
    bool has_broken_receives(const QueuePair& qp);
    CompletionQueue* completion_queue(CqId cq) {
        if (cq.value == 0 || cq.value > completion_queues.size()) return nullptr;
        return completion_queues[cq.value - 1].get();
    }
    SharedReceiveQueue* shared_queue(SrqId srq);
    EndToEnd* end_to_end(wire::EeContext ee) const;
    // A receive was taken: raises the limit event, once, if fewer wait than the user's limit.
    void watch_limit(SrqId srq);
    // The queue that this queue pair takes its receives from; created on first use.
    ReceiveQueue& receive_queue_of(QueuePair& qp);
    // The protection domain of those receives, and the queue where they complete.
    PdId receive_pd_of(const QueuePair& qp);
    CqId receive_cq_of(const QueuePair& qp);

    AdapterConfig config;
    base::RandomStream random;
    Memory memory;
    Counters counters;
    LaneLists<&QueuePair::next_ready> ready;       // queue pairs that may have something to send
    LaneLists<&QueuePair::next_answer> answering;  // queue pairs that may have an answer to send
    std::array<RoomBudget, kRooms> rooms;
    base::Ring<Notification> notifications{1};
    std::unique_ptr<CreditPacer> pacer;  // of grants; created at the first demand
    base::Ring<AdapterEvent> events{2};
    const wire::Telemetry* telemetry = nullptr;  // of the packet being processed; mostly none
    Objection objection;                         // the newest, until the owner takes it
    std::vector<Qpn> losers;  // queue pairs that lost a completion, until end_losers()
    bool is_broken = false;   // the whole adapter
    std::vector<std::unique_ptr<CompletionQueue>> completion_queues;  // CqId counts from 1
    std::vector<std::unique_ptr<SharedReceiveQueue>> shared_queues;   // SrqId too
    Domains<XrcDomainId> xrc_domains;
    Domains<RdDomainId> rd_domains;
    std::vector<std::unique_ptr<EndToEnd>> ee_contexts;  // numbers count from 1
    std::vector<MulticastMember> members;                // of groups, in the order of joining
    std::vector<std::byte> gathered;  // payload of the last polled packet, if gathered from pieces

private:
    // A number is a table index, with the use count of that slot above it.
    static constexpr uint32_t kIndexBits = 20;
    static constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;
    static constexpr uint32_t kUses = 1u << (24 - kIndexBits);
    static constexpr uint32_t kSpecialQps = 2;
    static constexpr uint32_t kPacerIndex = UINT32_MAX;  // the pacer's, in `paced_`
    static constexpr uint32_t kHidden = 1u << 24;

    struct Timer {
        Instant at;
        uint32_t index;
        // The earliest in front: the standard heap has the greatest there.
        bool operator<(const Timer& other) const {
            return at != other.at ? at > other.at : index > other.index;
        }
    };

    uint8_t level_of_datagram(const QueuePair& qp) const;
    void leave_line(QueuePair& qp);
    QueuePair* put(uint32_t index, Qpn number, QpType type);

    friend class Adapter;
    std::vector<std::unique_ptr<QueuePair>> queue_pairs_;
    std::vector<uint8_t> uses_;
    base::Ring<uint32_t> free_{2};
    std::vector<Timer> timers_;
    std::vector<Timer> paced_;
    size_t live_ = 0;
};

}  // namespace tulle::transport
