// One sentence on standard error for the first completion of a queue pair that failed: what is
// plain to whoever sees both ends, and what a status alone does not tell.
#pragma once

#include "live/host.h"

namespace tulle::verbs {

// With the host's lock held. Says nothing of what was flushed, nothing twice, and nothing at all
// where the program was not started by `tulle run` or TULLE_QUIET is set.
void explain(live::Host& host, const transport::Completion& completion);

}  // namespace tulle::verbs
