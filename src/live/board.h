// What a process shows to all others of its world, in memory that they can read and not write: who
// it is, whether its bell has to be rung, and what of its memory may be reached by whom.
//
// The owner writes, under its lock; others read without one. An entry whose key is zero is empty.
// Whoever reads an entry of `regions` in order to act on it says so first (direct.h), and the owner
// waits for him before the memory is the program's own again.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "transport/types.h"
#include "wire/ids.h"

namespace tulle::live {

// A process has a slot in its world. Eight bits of a queue pair's number say which, so that whoever
// knows the number knows the process.
inline constexpr uint32_t kSlots = 256;
inline constexpr uint32_t kSlotShift = 12;
inline constexpr uint32_t kQueuePairs = 1 << kSlotShift;  // of a process
inline constexpr uint32_t kSlotMask = (kSlots - 1) << kSlotShift;
inline constexpr uint32_t kMulticastQpn = 0xff'ffff;

constexpr uint32_t slot_of(wire::Qpn qpn) {
    return (qpn.value & kSlotMask) >> kSlotShift;
}
// A number as the process's own adapter knows it, and as the world does.
constexpr wire::Qpn inside(wire::Qpn qpn) {
    return {qpn.value & ~kSlotMask};
}
constexpr wire::Qpn outside(wire::Qpn qpn, uint32_t slot) {
    return {qpn.value | slot << kSlotShift};
}

struct QueuePairNote {
    std::atomic<uint32_t> number;  // outside; zero while it takes nothing from its peer
    std::atomic<uint32_t> peer;    // the number of the peer's
    std::atomic<uint64_t> peer_instance;
    std::atomic<uint32_t> access;
    std::atomic<uint32_t> pd;
    std::atomic<uint32_t> life;  // life_of() what is in this place, whatever its state; 0 is none
};

// What became of a queue pair, for peers that get no answer: its number, and its state above it.
constexpr uint32_t life_of(wire::Qpn number, transport::QpState state) {
    return (static_cast<uint32_t>(state) + 1) << 24 | number.value;
}

struct RegionNote {
    std::atomic<uint32_t> rkey;
    std::atomic<uint32_t> pd;
    std::atomic<uint32_t> access;
    std::atomic<uint64_t> address;
    std::atomic<uint64_t> length;
    std::atomic<uint64_t> host;
};

// A request that was refused for good, and why: more than the requester's adapter is told.
struct ObjectionNote {
    std::atomic<uint32_t> peer;  // the requester's number; zero is none
    std::atomic<uint32_t> cause;
    std::atomic<uint32_t> work;
    std::atomic<uint32_t> rkey;
    std::atomic<uint64_t> address;
    std::atomic<uint64_t> length;
};
inline constexpr uint32_t kObjections = 64;

// A port of the connection manager that somebody listens on.
struct PortNote {
    std::atomic<uint32_t> number;  // protocol << 16 | port; zero is none
    wire::Gid address;             // all zero: any of the host's
};
inline constexpr uint32_t kPorts = 256;

inline constexpr uint32_t kRegionPlaces = 1 << 14;
inline constexpr uint32_t kRegionProbes = 8;
inline constexpr uint32_t kGids = 4;
inline constexpr size_t kPathRoom = 256;

struct Board {
    uint64_t magic;
    uint64_t instance;              // drawn at random: this process and no later one
    char counters_file[kPathRoom];  // of its host (port_counters.h); empty if there is none
    uint64_t cookie_place;          // the address, over there, of eight bytes that hold `instance`
    uint32_t slot;
    uint32_t rank;
    uint32_t gid_count;
    wire::Gid gids[kGids];
    wire::Lid lid;
    bool cuts_packets;  // wants packets as they are on the wire
    std::atomic<uint32_t> wants_bell;
    std::atomic<uint32_t> link_was_down;  // a rule for faults said so
    std::atomic<uint32_t> objection_count;
    ObjectionNote objections[kObjections];  // the newest, each in its turn
    PortNote ports[kPorts];
    QueuePairNote queue_pairs[kQueuePairs];
    RegionNote regions[kRegionPlaces];
};
inline constexpr uint64_t kBoardMagic = 0x7475'6c6c'6562'3032;

inline uint32_t region_place(uint32_t rkey, uint32_t probe) {
    return (rkey * 0x9e37'79b1u + probe * 0x1000'193u) >> 18;
}
static_assert(kRegionPlaces == 1u << (32 - 18));

// Nothing if the region is not on the board: no proof that there is none.
inline const RegionNote* find_region(const Board& board, uint32_t rkey) {
    for (uint32_t probe = 0; probe < kRegionProbes; ++probe) {
        const RegionNote& note = board.regions[region_place(rkey, probe)];
        if (rkey != 0 && note.rkey.load(std::memory_order_seq_cst) == rkey) return &note;
    }
    return nullptr;
}

void put_region(Board& board, uint32_t rkey, uint32_t pd, uint32_t access, uint64_t address,
                uint64_t length, uint64_t host);
// False if it was not there.
bool remove_region(Board& board, uint32_t rkey);

void put_objection(Board& board, wire::Qpn peer, const transport::Objection& objection);
// The newest that concerns this requester.
std::optional<transport::Objection> find_objection(const Board& board, wire::Qpn peer);

}  // namespace tulle::live
