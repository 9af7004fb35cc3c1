// The completer: answers to requests, and the end of work, in the order in which it was posted
// (IBTA vol 1, 9.7.5 and 10.8.6).
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// An ACK, a NAK, a READ response or an atomic's answer came.
void on_response(Core& core, QueuePair& qp, Instant now, const Packet& packet);

// The short way for an ACK of packets in the middle of the oldest request: true if it was one.
// False if anything is out of the ordinary; on_response() then does all. The caller has made sure
// that the packet is the peer's.
bool acknowledge_middle(Core& core, QueuePair& qp, Instant now, const Packet& packet);

// Requests from the front of the queue that are answered, or need no answer, complete.
void complete_done(Core& core, QueuePair& qp);

// Unreliable services: a request is done when its last packet has gone.
void complete_sent(Core& core, QueuePair& qp);

// This request fails: those before it are done, the queue pair goes to the error state (a queue
// pair of an unreliable service to the send queue error state), and the rest is flushed.
void fail_request(Core& core, QueuePair& qp, uint32_t number, Status status);

// Into the error state: what is under way and what waits is flushed, in order, send queue first.
void enter_error(Core& core, QueuePair& qp);
void flush_sends(Core& core, QueuePair& qp);
void flush_receives(Core& core, QueuePair& qp);

}  // namespace tulle::transport
