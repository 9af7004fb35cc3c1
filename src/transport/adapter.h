// An RDMA adapter without I/O: the public interface of this room.
//
// Feed it, then drain it:
//     in :  post_send, post_receive, on_packet(now, packet), on_timer(now)
//     out:  poll_transmit(now, lanes), completions().poll, poll_event, next_deadline
// After each call of the first kind the owner drains those of the second kind, in the order
// written. `now` never goes backwards. There are no callbacks, the path of a packet does not
// allocate, and idle queue pairs cost nothing.
//
// What it has is reached by kind: queue_pairs(), completions(), shared_receives() and so on hand
// out small objects that refer to the adapter.
//
// The payload of a polled packet may point into registered memory or into the adapter; it is valid
// until the next call.
#pragma once

#include "base/hot.h"
#include "transport/completion_queues.h"
#include "transport/core.h"
#include "transport/delivery.h"
#include "transport/ee_contexts.h"
#include "transport/multicast.h"
#include "transport/queue_pairs.h"
#include "transport/shared_receives.h"

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

class Adapter {
public:
    explicit Adapter(const AdapterConfig& config);

    // What the adapter has, by kind.
    Memory& memory() { return core_.memory; }
    CompletionQueues completions() { return CompletionQueues(core_); }
    SharedReceives shared_receives() { return SharedReceives(core_); }
    QueuePairs queue_pairs() { return QueuePairs(core_); }
    Multicast multicast() { return Multicast(core_); }
    // Domains of the extended reliable connection; busy while they have SRQs or targets.
    Domains<XrcDomainId>& xrc_domains() { return core_.xrc_domains; }
    // Domains of reliable datagrams; busy while they have queue pairs or EE contexts.
    Domains<RdDomainId>& rd_domains() { return core_.rd_domains; }
    EeContexts ee_contexts() { return EeContexts(core_); }

    // The device fails, as only the owner knows: requests in progress end with fatal, the rest is
    // flushed. All objects can only be destroyed.
    void fail_device();

    // In.
    Refusal post_send(Qpn qpn, const SendRequest& request);
    Refusal post_receive(Qpn qpn, const ReceiveRequest& request);
    void on_packet(Instant now, const Packet& packet, wire::Bytes grh = {}) {
        deliver(core_, now, packet, grh);
    }
    // An answer that returns telemetry of switches from the packet that it answers.
    void on_telling_packet(Instant now, const Packet& packet, const wire::Telemetry& telemetry) {
        core_.telemetry = &telemetry;
        on_packet(now, packet);
        core_.telemetry = nullptr;
    }
    // A packet that its responder must refuse with this syndrome (responder.h). A packet that
    // cannot be refused, a datagram or an answer, is processed as usual.
    void refuse_packet(Instant now, const Packet& packet, uint8_t syndrome) {
        deliver_to_refuse(core_, now, packet, syndrome);
    }
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

    // Prefetches what is likely to be used next, for owners that iterate over many adapters: first
    // what the adapter points to, then what that points to.
    void prefetch(uint32_t depth) const;

private:
    // `failed`: the packet cannot be sent; another may go in its place.
    enum class Turn : uint8_t { sent, does_not_fit, nothing, failed };

    bool send_notification(const Lanes& lanes, Packet& packet);
    TULLE_HOT bool send_answer(Instant now, const Lanes& lanes, Packet& packet);
    bool lacks_only_room(QueuePair& qp, Instant now);
    TULLE_HOT Turn take_turn(QueuePair& qp, Instant now, uint32_t room, Packet& packet);

    Core core_;
    uint8_t next_lane_ = 0;
};

}  // namespace tulle::transport
