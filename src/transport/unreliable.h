// The responder of the unreliable services: it answers nothing, and drops what is wrong.
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// A request packet for an unreliable connection (IBTA vol 1, 9.8.2): a message with a gap is lost.
void on_uc_request(Core& core, QueuePair& qp, const Packet& packet);

// A datagram for this queue pair (9.8.3). `grh` is the global route header that came with it, or
// nothing; 40 bytes of each receive are set aside for it.
void on_datagram(Core& core, QueuePair& qp, const Packet& packet, wire::Bytes grh);

inline constexpr uint32_t kGrhBytes = 40;

}  // namespace tulle::transport
