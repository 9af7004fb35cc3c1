// The completer: processes answers to requests, and completes work in the order of posting (IBTA
// vol 1, 9.7.5 and 10.8.6).
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// An ACK, a NAK, a READ response or an atomic's answer came.
void on_response(Core& core, QueuePair& qp, Instant now, const Packet& packet);

// Fast path for an ACK of packets in the middle of the oldest request: true if it was one. False if
// anything is unusual; on_response() then handles the packet. The caller has checked that the
// packet is from the peer.
bool acknowledge_middle(Core& core, QueuePair& qp, Instant now, const Packet& packet);

// Completes requests at the front of the queue that are answered, or need no answer.
void complete_done(Core& core, QueuePair& qp);

// Unreliable services: a request is done when its last packet has gone.
void complete_sent(Core& core, QueuePair& qp);

// Fails this request. Those before it are done. The queue pair enters the error state (with an
// unreliable service, the send queue error state), and the rest is flushed.
void fail_request(Core& core, QueuePair& qp, uint32_t number, Status status);

// Enters the error state: flushes all requests, begun or waiting, in order, send queue first.
void enter_error(Core& core, QueuePair& qp);
void flush_sends(Core& core, QueuePair& qp);
void flush_receives(Core& core, QueuePair& qp);

}  // namespace tulle::transport
