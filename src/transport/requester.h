// The requester: from posted work to request packets, in order (IBTA vol 1, 9.7.3).
//
// The state is a position in the send queue: the next packet to send. Going back is no special
// case: the position is set back (retry.h), and the same function makes the same packets. With
// selective repeat the position stays, and lost packets are sent before it (selective.h).
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// The next packet, planned but not yet made.
struct RequestPlan {
    uint32_t number = 0;  // of the request in the send queue
    Psn psn;
    uint32_t offset = 0;  // of its payload within the message
    uint32_t length = 0;  // of its payload
    uint32_t asked = 0;   // bytes from the offset on that it covers: what a READ asks for
    bool is_repair = false;
    wire::Operation operation = wire::Operation::send_only;
};

// Plans the next packet: begins the next request if possible, and carries out work that stays
// within the adapter. Nothing if the queue pair has to wait.
std::optional<RequestPlan> plan_request(Core& core, QueuePair& qp, Instant now);

// Plans the packet with this PSN, which belongs to this request.
RequestPlan plan_packet(const QueuePair& qp, uint32_t number, Psn psn);

// How many answers it asks for, if it is a READ.
uint32_t answers_of(const QueuePair& qp, const RequestPlan& plan);

// Makes the packet and advances. False if the memory may not be read: the request fails.
bool make_request(Core& core, QueuePair& qp, Instant now, const RequestPlan& plan, Packet& packet);

// Fast path for the middle of a long message, the most common packet: true if the next packet was
// made from the one before it. False if anything is unusual; plan_request() and make_request() then
// make the same packet.
bool continue_message(Core& core, QueuePair& qp, Instant now, uint32_t room, Packet& packet);

// What its next request packet waits for. Has no side effects.
Standing standing_of(const Core& core, const QueuePair& qp, Instant now);
// The next packet is a retransmission.
inline bool is_resending(const QueuePair& qp) {
    const RequesterState& r = qp.requester;
    return r.repairs_due != 0 || psn_before(r.send_psn, r.sent_end);
}

// How many PSNs a message of this work takes.
uint32_t packets_of(const SendWork& work, uint32_t mtu);

}  // namespace tulle::transport
