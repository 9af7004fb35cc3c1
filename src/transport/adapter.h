// An RDMA adapter without I/O: the public interface of this room.
//
// Feed it, then drain it:
//     in :  post_send, post_receive, on_packet(now, packet), on_timer(now)
//     out:  poll_transmit(now, lanes), poll_completion, poll_event, next_deadline
// After each call of the first kind the owner drains those of the second kind, in the order
// written. `now` never goes backwards. There are no callbacks, the path of a packet does not
// allocate, and idle queue pairs cost nothing.
//
// The payload of a polled packet may point into registered memory or into the adapter; it is valid
// until the next call.
#pragma once

#include "base/hot.h"
#include "transport/core.h"

namespace tulle::transport {

// How many bytes each lane (virtual lane, or priority) accepts now. A packet is sent only if it
// fits whole. A full lane does not block the others.
struct Lanes {
    std::array<uint32_t, kLanes> room_bytes{};

    static Lanes open() {
        Lanes lanes;
        lanes.room_bytes.fill(UINT32_MAX);
        return lanes;
    }
};

struct MulticastGroup {
    uint32_t value = 0;  // the owner's index of the group; datagrams use it as their target
    auto operator<=>(const MulticastGroup&) const = default;
};

// The queue pair of general services (GSI), through which connection managers speak.
inline constexpr Qpn kGeneralServices{1};

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
    // One of an XRC domain, with its own completion queue. Its id is its number on the wire.
    std::optional<SrqId> create_xrc_srq(XrcDomainId domain, PdId pd, CqId cq, uint32_t requests,
                                        uint32_t sges);
    Refusal set_srq_limit(SrqId srq, uint32_t limit);
    Refusal resize_srq(SrqId srq, uint32_t requests);
    Refusal destroy_srq(SrqId srq);
    Refusal post_srq_receive(SrqId srq, const ReceiveRequest& request);
    uint32_t waiting_receives(SrqId srq);
    // For owners that complete receives on another adapter: takes out the oldest one. It keeps its
    // place, and counts as waiting, until one of the calls below.
    struct TakenReceive {
        uint32_t place = 0;
        uint64_t id = 0;
        std::span<const Sge> sges;  // valid while it keeps its place
    };
    std::optional<TakenReceive> take_receive(SrqId srq);
    // It was not used: puts it back to the front.
    void give_back_receive(SrqId srq, uint32_t place);
    // Drops it without a completion.
    void drop_receive(SrqId srq, uint32_t place);
    // Completes it where the queue's receives do. `completion` has everything except the request's
    // id.
    void complete_taken(SrqId srq, uint32_t place, Completion completion, bool solicited);

    // Domains of the extended reliable connection; busy while they have SRQs or targets.
    XrcDomainId create_xrc_domain() { return core_.xrc_domains.create(); }
    Refusal destroy_xrc_domain(XrcDomainId domain) { return core_.xrc_domains.destroy(domain); }

    // Reliable datagrams: domains, which are busy while they have queue pairs or EE contexts, and
    // EE contexts, which have the states of a connection. EE contexts take attributes as queue
    // pairs do, with kDestEe in place of kDestQpn.
    RdDomainId create_rd_domain() { return core_.rd_domains.create(); }
    Refusal destroy_rd_domain(RdDomainId domain) { return core_.rd_domains.destroy(domain); }
    std::optional<wire::EeContext> create_ee(RdDomainId domain);
    Refusal modify_ee(wire::EeContext ee, const QpAttributes& attributes, uint32_t mask);
    Refusal destroy_ee(wire::EeContext ee);
    const EndToEnd* query_ee(wire::EeContext ee) { return core_.end_to_end(ee); }

    // Queue pairs.
    std::optional<Qpn> create_qp(const QpSetup& setup);
    // The queue pair of general services: otherwise as any of type UD. Nothing if it exists.
    std::optional<Qpn> create_gsi(QpSetup setup);
    Refusal modify_qp(Qpn qpn, const QpAttributes& attributes, uint32_t mask);
    Refusal destroy_qp(Qpn qpn);
    // Removes the queue pair's completions from its completion queues: for owners whose programs
    // expect none after a reset or a destroy.
    void forget_completions(Qpn qpn);
    const QueuePair* query_qp(Qpn qpn) { return core_.find(qpn); }
    // What its next request packet waits for, as far as the adapter knows (requester.h).
    Standing standing(const QueuePair& qp, Instant now) const;
    // How long silence lasts before it counts as loss; zero: for ever.
    Duration silence_time(const QueuePair& qp) const;
    void set_congestion_control(Qpn qpn, const CongestionControl& control);
    // The flow whose plug-in failed first; nullptr if none did. Checks all flows.
    const PluginFlow* failed_plugin();
    // Sets this queue pair's loss policy, if it differs from the adapter's configuration; its peer
    // must support it. Selective repeat may begin at any time.
    void set_loss_policy(Qpn qpn, LossPolicy policy);
    // Turns on or off that its packets share rooms with those of others (room_budget.h), from its
    // next reset or from the beginning.
    void set_sharing_rooms(Qpn qpn, bool is_on);

    // Failures outside the protocol, which only the owner knows. The oldest request in progress
    // ends with general_error, for a queue pair; those of a failed device end with fatal. The rest
    // is flushed. A broken SRQ gives no receives: a message that needs one ends its queue pair.
    // Failed objects can only be destroyed.
    Refusal fail_qp(Qpn qpn);
    Refusal fail_srq(SrqId srq);
    void fail_device();

    Refusal attach_multicast(Qpn qpn, MulticastGroup group);
    Refusal detach_multicast(Qpn qpn, MulticastGroup group);

    // In.
    Refusal post_send(Qpn qpn, const SendRequest& request);
    Refusal post_receive(Qpn qpn, const ReceiveRequest& request);
    void on_packet(Instant now, const Packet& packet, wire::Bytes grh = {});
    // An answer that returns telemetry of switches from the packet that it answers.
    void on_telling_packet(Instant now, const Packet& packet, const wire::Telemetry& telemetry) {
        core_.telemetry = &telemetry;
        on_packet(now, packet);
        core_.telemetry = nullptr;
    }
    // A packet that its responder must refuse with this syndrome (responder.h). A packet that
    // cannot be refused, a datagram or an answer, is processed as usual.
    void refuse_packet(Instant now, const Packet& packet, uint8_t syndrome);
    // A damaged packet, dropped by the checker of CRCs: only counted.
    void on_damaged_packet() { ++core_.counters.port_rcv_errors; }
    void on_timer(Instant now);

    // Out.
    bool poll_transmit(Instant now, const Lanes& lanes, Packet& packet);
    std::optional<AdapterEvent> poll_event();
    // The newest refusal of the responder since the last call, and its reason.
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
    // Lanes with a packet that lacks nothing but room, after poll_transmit() has refused.
    uint16_t waiting_lanes(Instant now);
    // Completes a WRITE, READ or bind that the owner carried out itself, without packets, as if it
    // had gone the usual way. It must have been posted before everything that this queue pair has
    // in progress.
    void complete_elsewhere(Qpn qpn, const SendRequest& request, uint32_t byte_count,
                            Status status = Status::success);
    // Changes the ACK timeout in any state; 0: no timeout. For owners that know by other means that
    // a peer is alive.
    void set_ack_timeout(Instant now, Qpn qpn, uint8_t code);

    // Prefetches what is likely to be used next, for owners that iterate over many adapters: first
    // what the adapter points to, then what that points to.
    void prefetch(uint32_t depth) const;

private:
    // `failed`: the packet cannot be sent; another may go in its place.
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
    bool lacks_only_room(QueuePair& qp, Instant now);
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
