// Automatic path migration (IBTA vol 1, 17.2.8): a connection has an alternate path.
//
//     MIGRATED --modify--> REARM --the peer's packet says: armed here too--> ARMED --> MIGRATED
//
// Packets carry the MigReq bit only while the queue pair is MIGRATED, so a packet without it says
// that the peer has loaded its alternate path. Then both ends are ARMED. When one end changes to
// its alternate path, the other follows: because of the bit, or because its own user orders it.
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// Changes to the alternate path, for any reason. The old path becomes the alternate one; late
// packets may still arrive over it.
void migrate(Core& core, QueuePair& qp);

// Processes what a packet says about the peer's migration state.
void heed_migration(Core& core, QueuePair& qp, const Packet& packet);

// Carries out the user's order, which must be allowed.
void change_migration(Core& core, QueuePair& qp, Migration wanted);

// Whether a user may order this state: REARM at any time; MIGRATED if it changes the path or
// nothing; ARMED never, because the peer takes part in it.
bool may_order(const QueuePair& qp, Migration wanted);

}  // namespace tulle::transport
