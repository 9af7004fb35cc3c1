// Limits the packets in flight, over all queue pairs together.
//
// Packets wait in a buffer of limited size until it is read: the socket of a process, which
// sometimes waits for its CPU. Packets that do not fit are lost, retransmitted, and lost again. The
// window of a queue pair does not help: there are many queue pairs, and a READ is one packet,
// whatever its size.
//
// So this counts packets on their way into such a buffer, a room. Into our own: what READs ask for
// and has not arrived. Into our peers', each assumed to be as large as ours: what SENDs and WRITEs
// carry and is not acknowledged. Work that finds no room waits in line, in order of arrival. The
// first in line is called when half the room is free. A share that does not shrink is written off:
// its packets are not on their way. Nobody waits while nothing is in flight. No sender waits for a
// few others, whose messages may be long.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ring.h"
#include "base/time.h"

namespace tulle::transport {

class Core;
struct QueuePair;
struct SendWork;

enum class Room : uint8_t { ours, peers };
inline constexpr size_t kRooms = 2;

struct RoomBudget {
    uint32_t most = 0;   // packets
    uint64_t due = 0;    // in flight, of all queue pairs
    uint32_t users = 0;  // queue pairs with something in flight
    base::Ring<uint32_t> line{2};
    base::Instant written_off_at{};

    bool is_half_free() const { return due <= most / 2; }
};

// What a queue pair has in flight into a room.
struct RoomShare {
    uint32_t packets = 0;  // of work begun and not done
    uint32_t counted = 0;  // those that count as in flight
    base::Instant changed_at{};
};

enum class RoomLine : uint8_t { none, waits, called };

// All of these are for queue pairs that share rooms (QueuePairs::set_sharing_rooms()).
//
// Whether work of this many packets may begin now. If not, the queue pair is woken at its turn, or
// when a share may be written off.
bool has_room(Core& core, QueuePair& qp, base::Instant now, const SendWork& work, uint32_t packets);
// Work of this many packets begins; work ends, whether or not all of its packets arrived.
void on_work_begun(Core& core, QueuePair& qp, base::Instant now, const SendWork& work,
                   uint32_t packets);
void on_work_ended(Core& core, QueuePair& qp, const SendWork& work);
// Something arrived. What was written off of this queue pair counts again.
void on_arrivals(Core& core, QueuePair& qp, base::Instant now);
// Called before the queue pair's state is cleared.
void forget_rooms(Core& core, QueuePair& qp);

}  // namespace tulle::transport
