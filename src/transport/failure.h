// Failures outside the protocol: of a queue pair, a shared queue, or the whole adapter. The owner
// reports them (a planned fault of a simulation, a closed socket), or a completion queue overruns.
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// Ends the oldest request in progress with this status, flushes everything else, and puts the queue
// pair into the error state. No effect in RESET or in the error state.
void break_queue_pair(Core& core, QueuePair& qp, Status status);

// Ends everything; requests in progress get status fatal.
void break_adapter(Core& core);

// Breaks queue pairs that lost a completion: they cannot be trusted any more.
void end_losers(Core& core);

}  // namespace tulle::transport
