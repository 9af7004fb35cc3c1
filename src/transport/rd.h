// The reliable datagram service (IBTA vol 1, 9.7 and 10.2): unconnected queue pairs send messages
// over end-to-end (EE) contexts, connections between adapters that they share.
//
// An EE context is two halves. Each is a queue pair of the table, hidden from users, and served by
// the unchanged roles of RC. The requester half carries one message at a time: it takes the oldest
// request of a queue pair, with the protection domain and completion queue of that queue pair, for
// as long as the message lasts. The responder half takes those of the destination in the same way.
// A queue pair has only one message in progress too, because its requests complete in order.
//
// An error of a message is not an error of the EE context, which serves others. The requester
// abandons the message and sends RESYNC, a message of one packet behind all PSNs of the abandoned
// one; both sides continue from there. A message that finds no receive is treated in the same way:
// it is suspended, and starts anew after its wait. If RESYNC fails too, the EE context fails.
#pragma once

#include "transport/responder.h"

namespace tulle::transport {

// Life of an EE context.
EndToEnd* create_end_to_end(Core& core, RdDomainId domain);
void change_end_to_end(Core& core, EndToEnd& ee, QpState state);
void destroy_end_to_end(Core& core, EndToEnd& ee);

// The half that a packet is for; nullptr if there is no such EE context.
QueuePair* half_for(Core& core, const Packet& packet);
void on_rd_packet(Core& core, QueuePair& half, Instant now, const Packet& packet);

// Queues a queue pair's oldest request at its EE context, or fails it if that cannot carry it.
void offer_request(Core& core, QueuePair& qp);
// Withdraws the queue pair's request, wherever it is.
void withdraw_request(Core& core, QueuePair& qp);
// Receives of this queue pair taken by messages in progress, which have failed.
std::vector<uint32_t> take_back_receives(Core& core, const QueuePair& qp);

// The requester half: starts its next message, or RESYNC; and the ways a message ends.
void load_message(Core& core, QueuePair& half);
void finish_message(Core& core, QueuePair& half);
void abandon_message(Core& core, QueuePair& half, Status status);
void suspend_message(Core& core, QueuePair& half, Instant until);
void set_rd_headers(const QueuePair& half, QKey qkey, Packet& packet);

// The responder half: whether the packet may go to the queue pair that it names, and the cleanup
// after a NAK that ends a message.
Ruling check_rd_destination(Core& core, QueuePair& half, const Packet& packet);
void refuse_message(Core& core, QueuePair& half, Ruling verdict);

}  // namespace tulle::transport
