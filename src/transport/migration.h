// Automatic path migration (IBTA vol 1, 17.2.8): a connection has a second path in reserve.
//
//     MIGRATED --modify--> REARM --the peer's packet says: armed here too--> ARMED --> MIGRATED
//
// Packets carry the MigReq bit while the queue pair is MIGRATED and not otherwise, so that a packet
// without it says that the peer has its alternate path loaded. Both ends are ARMED then, and
// whichever changes to its alternate path takes the other along: by the bit, or by an order of its
// own user.
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// Onto the alternate path, for whatever reason. The old path becomes the alternate one, which late
// packets may still come over.
void migrate(Core& core, QueuePair& qp);

// What a packet of the peer's says about its state of migration.
void heed_migration(Core& core, QueuePair& qp, const Packet& packet);

// The user's order; it may be given.
void change_migration(Core& core, QueuePair& qp, Migration wanted);

// Whether a user may order this state: REARM at any time, MIGRATED where that is a change of path
// or no change, ARMED never, for the peer has a part in it.
bool may_order(const QueuePair& qp, Migration wanted);

}  // namespace tulle::transport
