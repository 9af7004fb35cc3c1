// Whether a server is ready for its client: it, or a process that it started, listens on a TCP port
// or a port of the connection manager.
#pragma once

#include <sys/types.h>

namespace tulle::cli {

bool waits_for_connections(pid_t process);

}  // namespace tulle::cli
