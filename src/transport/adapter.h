// An RDMA adapter without I/O: the public face of this room.
//
// Feed it, then drain it:
//     in :  post_send, post_receive, on_packet(now, packet), on_timer(now)
//     out:  poll_transmit(now, lanes), poll_completion, poll_event, next_deadline
// After each call of the first kind the owner drains those of the second kind, in the order
// written. `now` never goes backwards. Nothing is called back, nothing allocates on the way of a
// packet, and queue pairs that have nothing to do cost nothing.
//
// Payload of a packet that was polled may point into registered memory or into the adapter; it is
// valid until the next call.
#pragma once

#include "base/hot.h"
#include "transport/core.h"

namespace tulle::transport {

// How many bytes each lane (virtual lane, or priority) takes now. A packet goes only where it fits
// whole, and a lane that is closed holds up no other.
struct Lanes {
    std::array<uint32_t, kLanes> room_bytes{};

    static Lanes open() {
        Lanes lanes;
        lanes.room_bytes.fill(UINT32_MAX);
        return lanes;
    }
};

struct MulticastGroup {
    uint32_t value = 0;  // the owner's index of the group, as datagrams name it as their target
    auto operator<=>(const MulticastGroup&) const = default;
};

class Adapter {
public:
    explicit Adapter(const AdapterConfig& config);

    // Memory.
    Memory& memory() { return core_.memory; }

    // Completion queues.
    CqId create_cq(uint32_t capacity);
    Refusal destroy_cq(CqId cq);
    Refusal resize_cq(CqId cq, uint32_t capacity);
    Refusal arm_cq(CqId cq, CompletionQueue::Wish wish);
    size_t poll_completion(CqId cq, std::span<Completion> into);
    bool has_completion(CqId cq) {
        const CompletionQueue* queue = core_.completion_queue(cq);
        return queue != nullptr && queue->size() != 0;
    }

    // Shared receive queues.
    std::optional<SrqId> create_srq(PdId pd, uint32_t requests, uint32_t sges);
    // One of an XRC domain, with a completion queue of its own. Its name is its number on the wire.
    std::optional<SrqId> create_xrc_srq(XrcDomainId domain, PdId pd, CqId cq, uint32_t requests,
                                        uint32_t sges);
    Refusal set_srq_limit(SrqId srq, uint32_t limit);
    Refusal resize_srq(SrqId srq, uint32_t requests);
    Refusal destroy_srq(SrqId srq);
    Refusal post_srq_receive(SrqId srq, const ReceiveRequest& request);
    uint32_t waiting_receives(SrqId srq);
    // For owners who have receives completed by another adapter: takes out the one that was posted
    // first. It keeps its place, and counts as one that waits, until one of the calls below.
    struct TakenReceive {
        uint32_t place = 0;
        uint64_t id = 0;
        std::span<const Sge> sges;  // as long as it keeps its place
    };
    std::optional<TakenReceive> take_receive(SrqId srq);
    // It was not used, and goes back to the front.
    void give_back_receive(SrqId srq, uint32_t place);
    // It goes without a completion.
    void drop_receive(SrqId srq, uint32_t place);
    // It completes where the queue's receives do. `completion` says all but the request's id.
    void complete_taken(SrqId srq, uint32_t place, Completion completion, bool solicited);

    // Domains of the extended reliable connection; busy while SRQs or targets are in them.
    XrcDomainId create_xrc_domain() { return core_.xrc_domains.create(); }
    Refusal destroy_xrc_domain(XrcDomainId domain) { return core_.xrc_domains.destroy(domain); }

    // Reliable datagrams: domains, which are busy while queue pairs or EE contexts are in them, and
    // EE contexts, which go through the states of a connection. EE contexts take attributes as
    // queue pairs do, with kDestEe for kDestQpn.
    RdDomainId create_rd_domain() { return core_.rd_domains.create(); }
    Refusal destroy_rd_domain(RdDomainId domain) { return core_.rd_domains.destroy(domain); }
    std::optional<wire::EeContext> create_ee(RdDomainId domain);
    Refusal modify_ee(wire::EeContext ee, const QpAttributes& attributes, uint32_t mask);
    Refusal destroy_ee(wire::EeContext ee);
    const EndToEnd* query_ee(wire::EeContext ee) { return core_.end_to_end(ee); }

    // Queue pairs.
    std::optional<Qpn> create_qp(const QpSetup& setup);
    Refusal modify_qp(Qpn qpn, const QpAttributes& attributes, uint32_t mask);
    Refusal destroy_qp(Qpn qpn);
    // Takes what the queue pair has completed out of its completion queues: for owners whose
    // programs expect none of it after a reset, or once the queue pair is destroyed.
    void forget_completions(Qpn qpn);
    const QueuePair* query_qp(Qpn qpn) { return core_.find(qpn); }
    // What its next request packet waits for, as far as the adapter knows (requester.h).
    Standing standing(const QueuePair& qp, Instant now) const;
    void set_congestion_control(Qpn qpn, const CongestionControl& control);
    // The flow whose plug-in did first what it must not; none: all is well. Looks at all of them.
    const PluginFlow* failed_plugin();
    // What this one does about loss, where that is not as the adapter's configuration says: its
    // peer has to understand it. Any time will do to begin selective repeat.
    void set_loss_policy(Qpn qpn, LossPolicy policy);
    // Its READs share the room for answers (answer_budget.h), from its next reset on or from the
    // beginning; or no longer do.
    void set_counting_answers(Qpn qpn, bool is_on);

    // What breaks by itself; only the owner knows. The oldest request under way of a queue pair
    // ends with general_error, those of a device that fails with fatal, and the rest is flushed. A
    // broken SRQ gives no receives: a message that needs one ends its queue pair. There is no way
    // back but to destroy them.
    Refusal fail_qp(Qpn qpn);
    Refusal fail_srq(SrqId srq);
    void fail_device();

    Refusal attach_multicast(Qpn qpn, MulticastGroup group);
    Refusal detach_multicast(Qpn qpn, MulticastGroup group);

    // In.
    Refusal post_send(Qpn qpn, const SendRequest& request);
    Refusal post_receive(Qpn qpn, const ReceiveRequest& request);
    void on_packet(Instant now, const Packet& packet, wire::Bytes grh = {});
    // One that its responder shall refuse with this syndrome (responder.h). What nobody refuses, a
    // datagram or an answer, is taken as usual.
    void refuse_packet(Instant now, const Packet& packet, uint8_t syndrome);
    // One that came damaged and was dropped by whoever checks CRCs: counted, nothing else.
    void on_damaged_packet() { ++core_.counters.port_rcv_errors; }
    void on_timer(Instant now);

    // Out.
    bool poll_transmit(Instant now, const Lanes& lanes, Packet& packet);
    std::optional<AdapterEvent> poll_event();
    // Why the responder has refused the newest request that it did, since this was last asked.
    bool has_objection() const { return core_.objection.cause != Objection::Cause::none; }
    Objection take_objection() { return std::exchange(core_.objection, {}); }
    Instant next_deadline() const { return core_.next_deadline(); }

    const Counters& counters() const { return core_.counters; }
    size_t queue_pairs() const;

    bool has_sends(Qpn qpn);
    // Whether some queue pair may have something to send.
    bool has_work() const {
        return (core_.ready.filled() | core_.answering.filled()) != 0 ||
               !core_.notifications.empty();
    }
    // A WRITE, READ or bind that the owner does by itself, without packets, and that was posted
    // before all that this queue pair has under way: it completes as if it had gone the usual way.
    void complete_elsewhere(Qpn qpn, const SendRequest& request, uint32_t byte_count,
                            Status status = Status::success);
    // Another time until silence counts as loss, whatever the state; 0 waits for ever. For owners
    // who know by other means that a peer is alive.
    void set_ack_timeout(Instant now, Qpn qpn, uint8_t code);

    // Asks the cache for what is likely to be used next: for owners of many adapters, who know
    // whose turn comes. First what the adapter points to, then what that points to.
    void prefetch(uint32_t depth) const;

private:
    // `failed`: what would have been sent cannot be; something else may go in its place.
    enum class Turn : uint8_t { sent, does_not_fit, nothing, failed };

    std::optional<Qpn> set_up(QueuePair* qp, const QpSetup& setup);
    bool is_sane(const QpSetup& setup);
    bool has_queues(const QpSetup& setup);
    void release(const QueuePair& qp);
    void apply(QueuePair& qp, const QpAttributes& attributes, uint32_t mask);
    void begin_plugin(QueuePair& qp);
    void change_state(QueuePair& qp, const QpAttributes& attributes);
    void reset(QueuePair& qp);

    void deliver_rd(Instant now, const Packet& packet);
    void deliver(Instant now, QueuePair& qp, const Packet& packet, wire::Bytes grh);
    bool passes_checks(QueuePair& qp, const Packet& packet);
    void deliver_multicast(Instant now, const Packet& packet, wire::Bytes grh);

    bool send_notification(const Lanes& lanes, Packet& packet);
    TULLE_HOT bool send_answer(Instant now, const Lanes& lanes, Packet& packet);
    TULLE_HOT Turn take_turn(QueuePair& qp, Instant now, uint32_t room, Packet& packet);

    Core core_;
    uint8_t next_lane_ = 0;
    struct Member {
        MulticastGroup group;
        Qpn qpn;
    };
    std::vector<Member> members_;
};

}  // namespace tulle::transport
