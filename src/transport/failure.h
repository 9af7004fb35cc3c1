// What breaks without the protocol having a part in it: a queue pair, a shared queue, the whole
// adapter. The owner says so (a fault that a simulation plans, a socket that is gone), or a
// completion queue that overruns.
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// The oldest request under way ends with this status, everything else is flushed, and the queue
// pair is in the error state. Nothing happens to one that is in RESET or in the error state.
void break_queue_pair(Core& core, QueuePair& qp, Status status);

// Everything ends: requests under way as fatal.
void break_adapter(Core& core);

// Queue pairs whose completion was lost cannot be trusted any more.
void end_losers(Core& core);

}  // namespace tulle::transport
