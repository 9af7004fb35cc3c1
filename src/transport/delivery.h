// Which queue pair a packet is for, and whether it may have it.
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// The destination of datagrams to a multicast group.
inline constexpr uint32_t kMulticastQpn = 0xff'ffff;

// Gives a packet to the role of the queue pair that it is for, or drops and counts it.
void deliver(Core& core, Instant now, const Packet& packet, wire::Bytes grh);
// The same for a packet that its responder must refuse with this syndrome (responder.h).
void deliver_to_refuse(Core& core, Instant now, const Packet& packet, uint8_t syndrome);
// To all members of the group at this adapter.
void deliver_multicast(Core& core, Instant now, const Packet& packet, wire::Bytes grh);

}  // namespace tulle::transport
