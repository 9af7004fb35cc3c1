// Whether a server is ready for its client: it, or a process that it started, waits for connections
// on a TCP port or on one of the connection manager.
#pragma once

#include <sys/types.h>

namespace tulle::cli {

bool waits_for_connections(pid_t process);

}  // namespace tulle::cli
