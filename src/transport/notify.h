// The notification point: how a receiver tells senders that the network marked their packets, so
// that they slow down.
//
// On RoCE v2, a mark (ECN) causes a congestion notification packet, one per interval and queue pair
// (annex A17.9). These packets leave ahead of everything else, in their own traffic class. On
// InfiniBand, a mark (FECN) is returned as BECN in the next answer, or, if there are no answers, in
// a packet of its own (annex A10). A setting answers ECN in that way too, as some simulators do.
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// The packet met congestion: ECN or FECN.
inline bool is_marked(const Packet& packet) {
    return packet.fecn || (packet.traffic_class & 3) == 3;
}

// This packet for this queue pair is marked.
void on_marked(Core& core, QueuePair& qp, Instant now, const Packet& packet);

// The peer, or the network through it, reports that this queue pair's packets meet congestion.
void on_notified(Core& core, QueuePair& qp, Instant now, Signal::Kind kind);

// Makes the oldest pending notification, if it fits into `room` bytes.
bool make_notification(Core& core, uint32_t room, Packet& packet);

// A switch reports how many flows share the port of that host.
void on_back_pressure(Core& core, Instant now, EndpointIndex host, uint32_t sharers);

}  // namespace tulle::transport
