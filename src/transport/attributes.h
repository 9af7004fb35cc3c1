// Attributes that a modify call brings, for queue pairs and EE contexts.
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// Whether the queue pair may take these attributes now, with the transition that they ask for.
bool is_legal(const Core& core, const QueuePair& qp, const QpAttributes& attributes, uint32_t mask);
// Takes all of them except the state.
void apply(Core& core, QueuePair& qp, const QpAttributes& attributes, uint32_t mask);

}  // namespace tulle::transport
