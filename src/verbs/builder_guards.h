// Guards (guard.h) of the extended posting calls, which return nothing: an exception makes the
// completing call fail.
#pragma once

#include "verbs/objects.h"

namespace tulle::verbs {

void guard_builders(QueuePair& queue_pair);

}  // namespace tulle::verbs
