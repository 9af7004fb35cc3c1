// The notification point: what a receiver does about packets that the network has marked, so that
// their sender slows down.
//
// On RoCE v2 a mark (ECN) makes a congestion notification packet, one in an interval for each queue
// pair (annex A17.9); they leave ahead of everything else, in a class of traffic of their own. On
// InfiniBand a mark (FECN) comes back as BECN in the next answer, or, where there are no answers,
// in a packet of its own (annex A10). Some simulators answer ECN in that way too; a setting.
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// The network met congestion on this packet's way: ECN or FECN.
inline bool is_marked(const Packet& packet) {
    return packet.fecn || (packet.traffic_class & 3) == 3;
}

// This packet came for this queue pair, and is marked.
void on_marked(Core& core, QueuePair& qp, Instant now, const Packet& packet);

// The peer, or the network through it, says that this queue pair's packets meet congestion.
void on_notified(Core& core, QueuePair& qp, Instant now, Signal::Kind kind);

// Makes the notification that waits longest, if it fits into so many bytes.
bool make_notification(Core& core, uint32_t room, Packet& packet);

}  // namespace tulle::transport
