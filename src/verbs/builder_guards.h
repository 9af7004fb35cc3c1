// Guards (guard.h) of the extended way to post, whose calls answer nothing: what was thrown makes
// the completing call fail.
#pragma once

#include "verbs/objects.h"

namespace tulle::verbs {

void guard_builders(QueuePair& queue_pair);

}  // namespace tulle::verbs
