// The makers of a world, each of one part of it, in the order in which they are called.
#pragma once

#include "world.h"

namespace tulle::swarm {

inline constexpr uint32_t kAllAccess = transport::kLocalWrite | transport::kRemoteWrite |
                                       transport::kRemoteRead | transport::kRemoteAtomic |
                                       transport::kWindowBind | transport::kFlushGlobal |
                                       transport::kFlushPersistent;

// Two sides of a service, on two adapters or on one; for RD also an EE context between them.
void make_connection(World& world, uint32_t index);
// What a queue pair does about congestion, and what an adapter tells the senders of it.
transport::CongestionControl draw_congestion(uint64_t seed, uint32_t side);
transport::NotificationSettings draw_notifications(uint64_t seed, uint32_t station);
void make_groups(World& world, Draw& draw);
void make_xrc_pools(World& world);
void make_work(World& world, Draw& draw);
// The other receive queues; all get their buffers.
void make_pools(World& world);
void make_acts(World& world);

// Takes the next bytes of a station's memory, with a gap before them.
uint32_t take(Station& station, uint32_t length, uint32_t gap, uint32_t alignment = 1);
// The same, cut into pieces.
Pieces take_pieces(Station& station, Draw& draw, uint32_t length, uint32_t max_pieces);
// Of the passing region; nothing if it has no more.
std::optional<uint32_t> take_passing(Station& station, uint32_t length);

}  // namespace tulle::swarm
