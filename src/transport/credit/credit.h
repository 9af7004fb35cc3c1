// Receiver credit (RCCC) at queue pairs: the part of the sender and of the receiver. For queue
// pairs that take packets in any order (unordered.h); others do not use it.
//
//   sender     a packet needs credit, and reports how much more its queue pair could use
//   receiver   reads that report; the pacer of its adapter grants credit gradually, in packets of
//              their own that go ahead of all others
#pragma once

#include "transport/core.h"
#include "transport/requester.h"

namespace tulle::transport {

// The sender. Whether the next packet must wait for credit; if so, sets a timer.
bool waits_for_credit(Core& core, QueuePair& qp, Instant now);
// The same for observers, without side effects.
bool lacks_credit(const QueuePair& qp, Instant now);
// Sends this packet: spends its credit, and writes the demand behind it.
void spend_credit(Core& core, QueuePair& qp, Instant now, const RequestPlan& plan, Packet& packet);
void on_grant(Core& core, QueuePair& qp, Instant now, const Packet& packet);

// The receiver. A request arrived, whole or trimmed.
void hear_demand(Core& core, QueuePair& qp, Instant now, const Packet& packet);
// The next grant is due.
void grant_credit(Core& core, Instant now);

}  // namespace tulle::transport
