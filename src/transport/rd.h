// The reliable datagram service (IBTA vol 1, 9.7 and 10.2): queue pairs that are connected to
// nobody send messages over end-to-end (EE) contexts, connections between adapters that they share.
//
// An EE context is two halves, each a queue pair of the table that no user sees, and that the roles
// of RC serve unchanged. The requester half carries one message at a time: it takes the oldest
// request of a queue pair, with that one's protection domain and completion queue, for as long as
// the message lasts. The responder half in the same way takes the destination's. A queue pair has
// one message under way too, for its requests complete in order.
//
// An error of a message is not one of the EE context, which serves others: the requester
// abandons the message and sends RESYNC, a message of one packet behind all PSNs of the abandoned
// one, from where both go on. So it does with a message that finds no receive: it is suspended, and
// begins anew when its time has come. If not even RESYNC gets through, the EE context fails.
#pragma once

#include "transport/responder.h"

namespace tulle::transport {

// Life of an EE context.
EndToEnd* create_end_to_end(Core& core, RdDomainId domain);
void change_end_to_end(Core& core, EndToEnd& ee, QpState state);
void destroy_end_to_end(Core& core, EndToEnd& ee);

// The half that a packet is for; nothing if there is no such EE context.
QueuePair* half_for(Core& core, const Packet& packet);
void on_rd_packet(Core& core, QueuePair& half, Instant now, const Packet& packet);

// A queue pair's oldest request gets in line at its EE context, or fails if that cannot carry it.
void offer_request(Core& core, QueuePair& qp);
// The queue pair gives up its request, wherever it is.
void withdraw_request(Core& core, QueuePair& qp);
// Receives of this queue pair that messages under way have taken; those messages have failed.
std::vector<uint32_t> take_back_receives(Core& core, const QueuePair& qp);

// The requester half: its next message, or RESYNC; and how a message ends.
void load_message(Core& core, QueuePair& half);
void finish_message(Core& core, QueuePair& half);
void abandon_message(Core& core, QueuePair& half, Status status);
void suspend_message(Core& core, QueuePair& half, Instant until);
void set_rd_headers(const QueuePair& half, QKey qkey, Packet& packet);

// The responder half: whether the packet may go to the queue pair that it names, and what follows
// once a NAK that ends a message was given.
Verdict check_rd_destination(Core& core, QueuePair& half, const Packet& packet);
void refuse_message(Core& core, QueuePair& half, Verdict verdict);

}  // namespace tulle::transport
