// What a process shows to others of its world, in memory that they can read and not write. All
// processes see the board: who the owner is, and whether its bell must be rung. Only processes of
// the same user see the grants: which memory they may reach, with keys and addresses.
//
// The owner writes under its lock; others read without a lock. An entry whose key is zero is empty.
// A process that wants to act on an entry of `regions` announces that first (direct.h), and the
// owner waits for it before the memory belongs to the program alone again.
//
// A reader does not trust a board: it copies the facts once and checks them, and it reads each
// changing value once.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/types.h"
#include "wire/ids.h"

namespace tulle::live {

// A process has a slot in its world. Eight bits of a queue pair's number are the slot, so the
// number names the process. The numbers of one slot are a block. A process that needs more queue
// pairs takes more slots, and its board says which block each of them is.
inline constexpr uint32_t kSlots = 256;
inline constexpr uint32_t kSlotShift = 12;
inline constexpr uint32_t kQueuePairsOfSlot = 1 << kSlotShift;
inline constexpr uint32_t kBlocks =
    32;  // of a process, at the most: chosen for 100,000 queue pairs
inline constexpr uint32_t kQueuePairs = kBlocks * kQueuePairsOfSlot;
inline constexpr uint32_t kSlotMask = (kSlots - 1) << kSlotShift;
inline constexpr uint32_t kMulticastQpn = 0xff'ffff;

constexpr uint32_t slot_of(wire::Qpn qpn) {
    return (qpn.value & kSlotMask) >> kSlotShift;
}
// inside(): the number of a queue pair in its own adapter, with the block in place of the slot.
// outside(): its number in the world.
constexpr wire::Qpn inside(wire::Qpn qpn, uint32_t block = 0) {
    return {(qpn.value & ~kSlotMask) | block << kSlotShift};
}
constexpr wire::Qpn outside(wire::Qpn qpn, uint32_t slot) {
    return {(qpn.value & ~kSlotMask) | slot << kSlotShift};
}
// Marks a queue pair of another process in a completion of ours (xrc_lender.h): its number in the
// world, with a bit that no number of the adapter has.
inline constexpr uint32_t kElsewhere = 1u << 31;
constexpr bool is_elsewhere(wire::Qpn qpn) {
    return (qpn.value & kElsewhere) != 0;
}

// The number of an XRC shared receive queue contains the slot, too: peers name queues by number,
// and queues of two processes must differ.
inline constexpr uint32_t kSrqShift = 16;
inline constexpr uint32_t kNobodysSrq = 0xff'ffff;

struct QueuePairNote {
    std::atomic<uint32_t> number;  // in the world; zero while it receives nothing from its peer
    std::atomic<uint32_t> peer;    // the number of the peer's queue pair
    std::atomic<uint64_t> peer_instance;
    std::atomic<uint32_t> access;
    std::atomic<uint32_t> pd;
};

// Number and state of a queue pair, in one word. Peers that get no answer read it. The state is in
// the bits above the number.
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

// A request that was refused finally, and why. The NAK to the requester's adapter says less.
struct ObjectionNote {
    std::atomic<uint32_t> peer;  // the requester's number; zero is none
    std::atomic<uint32_t> cause;
    std::atomic<uint32_t> work;
    std::atomic<uint32_t> rkey;
    std::atomic<uint64_t> address;
    std::atomic<uint64_t> length;
};
inline constexpr uint32_t kObjections = 64;

// A port of the connection manager on which the process listens.
struct PortNote {
    std::atomic<uint32_t> number;  // protocol << 16 | port; zero is none
    wire::Gid address;             // all zero: any address of the host
};
inline constexpr uint32_t kPorts = 256;

// XRC domains that are named by files, with their queues and targets. Other processes that have
// opened the same file may pass messages to the queues (xrc_borrower.h) and open the targets.
struct DomainFile {
    uint64_t device = 0;
    uint64_t inode = 0;
    bool operator==(const DomainFile&) const = default;
};
struct XrcDomainNote {
    std::atomic<uint64_t> device;
    std::atomic<uint64_t> inode;  // zero is none
};
struct XrcQueueNote {
    std::atomic<uint32_t> number;  // in the world; a target's has kXrcTarget; zero is none
    std::atomic<uint32_t> pd;
    std::atomic<uint64_t> device;
    std::atomic<uint64_t> inode;
};
struct XrcQueue {
    uint32_t pd = 0;
    DomainFile file;
    bool operator==(const XrcQueue&) const = default;
};
// Chosen: only this process can use domains and queues beyond these limits.
inline constexpr uint32_t kXrcDomains = 64;
inline constexpr uint32_t kXrcQueues = 4096;      // and as many targets
inline constexpr uint32_t kXrcTarget = 1u << 31;  // beside 24 bits of a number

inline constexpr uint32_t kRegionPlaces = 1 << 18;
inline constexpr uint32_t kRegionProbes = 8;
inline constexpr uint32_t kDomainPlaces = 1 << 12;  // chosen: domains beyond cannot be imported
inline constexpr uint32_t kGids = 16;
inline constexpr size_t kPathRoom = 256;

// Ports of an adapter: chosen, twice as many as real adapters have.
inline constexpr uint32_t kMaxPorts = 4;
inline constexpr uint32_t kGidsOfPort = 4;  // of a port beyond the first

struct PortFacts {
    wire::Lid lid;
    uint32_t gid_count = 0;
    wire::Gid gids[kGidsOfPort];
};

// Facts that do not change while the process lives.
struct Facts {
    uint32_t rank = 0;
    uint32_t device = 0;  // number of the host's adapter
    uint32_t gid_count = 0;
    wire::Gid gids[kGids];
    wire::Lid lid;
    bool is_ethernet = true;
    bool cuts_packets = false;           // wants packets in their form on the wire
    uint64_t capture = 0;                // number of its capture file; 0 is none
    char counters_file[kPathRoom] = {};  // of its host (counter_slot.h); empty if there is none
    // The address of the process's Secret. A peer that can read it can reach the process's memory.
    uint64_t secret_place = 0;
    uint32_t port_count = 1;
    PortFacts more_ports[kMaxPorts - 1];  // beyond the first port, whose addresses are above

    // The GIDs of a port; ports count from 1.
    std::span<const wire::Gid> gids_of(uint32_t port) const {
        if (port < 2) return {gids, gid_count};
        return {more_ports[port - 2].gids, more_ports[port - 2].gid_count};
    }
    wire::Lid lid_of(uint32_t port) const { return port < 2 ? lid : more_ports[port - 2].lid; }
};

// A secret in the private memory of a process. A peer that returns `word` has read that memory.
struct Secret {
    uint64_t instance = 0;
    uint64_t word = 0;
    uint64_t device_word = 0;  // also in the file of its device, so nobody else can make that file
};

// What a process asks of peers that write to its rings.
enum class Sleep : uint32_t {
    awake = 0,        // it looks by itself
    light = 1,        // ring for each record
    undisturbed = 2,  // ring, but not for acknowledgements alone
};

struct Board : Facts {
    uint64_t magic;
    uint64_t instance;  // random, so that a later process in the slot differs
    std::atomic<Sleep> sleep;
    std::atomic<uint32_t> link_was_down;  // by a rule for faults
    PortNote ports[kPorts];
    // By GID: this process's place among those that share its UDP port, from 1; 0: not known.
    std::atomic<uint32_t> udp_places[kGids];
    std::atomic<uint8_t> blocks[kSlots];  // block of each slot of its own, from 1; 0: not its own
    std::atomic<uint32_t> lives[kQueuePairs];  // life_of() each queue pair; 0 is none
    std::atomic<uint8_t> ends[kQueuePairs];    // Ends of each connection, seen from this side
};
inline constexpr uint64_t kBoardMagic = 0x7475'6c6c'6562'3037;

struct Grants {
    uint64_t magic;
    std::atomic<uint32_t> domains[kDomainPlaces];  // protection domains that may be imported
    std::atomic<uint32_t> objection_count;
    ObjectionNote objections[kObjections];  // a ring of the newest
    QueuePairNote queue_pairs[kQueuePairs];
    RegionNote regions[kRegionPlaces];
    XrcDomainNote xrc_domains[kXrcDomains];
    XrcQueueNote xrc_queues[2 * kXrcQueues];  // the queues, then the targets
};
inline constexpr uint64_t kGrantsMagic = 0x7475'6c6c'6567'3035;

// The kind of a GID: RoCE v1 and v2 do not understand each other. Zero is not known.
enum class GidKind : uint8_t { unknown, roce_v1, roce_v2, infiniband };
constexpr GidKind gid_kind_of(bool is_ethernet, uint32_t index) {
    if (!is_ethernet) return GidKind::infiniband;
    return index % 2 == 0 ? GidKind::roce_v1 : GidKind::roce_v2;
}

// The ends of a connection, in one byte of the board: the kind of the queue pair's own GID, its own
// port, and the peer's port. Zero is not known.
struct Ends {
    GidKind kind = GidKind::unknown;
    uint8_t port = 0;
    uint8_t peer_port = 0;

    constexpr uint8_t byte() const {
        return static_cast<uint8_t>(static_cast<uint8_t>(kind) | port << 2 | peer_port << 5);
    }
    static constexpr Ends of(uint8_t byte) {
        return {static_cast<GidKind>(byte & 3), static_cast<uint8_t>(byte >> 2 & 7),
                static_cast<uint8_t>(byte >> 5)};
    }
};
static_assert(kMaxPorts <= 7);

inline uint32_t region_place(uint32_t rkey, uint32_t probe) {
    return (rkey * 0x9e37'79b1u + probe * 0x1000'193u) >> 14;
}
static_assert(kRegionPlaces == 1u << (32 - 14));

// The index of a queue pair's notes, by its number in the world.
inline uint32_t place_of(const Board& board, wire::Qpn qpn) {
    const uint32_t block = board.blocks[slot_of(qpn)].load(std::memory_order_relaxed);
    return (block == 0 ? 0 : (block - 1) % kBlocks) << kSlotShift | qpn.value % kQueuePairsOfSlot;
}

// Null if the region is not on the board. It may exist all the same.
inline const RegionNote* find_region(const Grants& grants, uint32_t rkey) {
    for (uint32_t probe = 0; probe < kRegionProbes; ++probe) {
        const RegionNote& note = grants.regions[region_place(rkey, probe)];
        if (rkey != 0 && note.rkey.load(std::memory_order_seq_cst) == rkey) return &note;
    }
    return nullptr;
}

void put_region(Grants& grants, uint32_t rkey, uint32_t pd, uint32_t access, uint64_t address,
                uint64_t length, uint64_t host);
// False if it was not there.
bool remove_region(Grants& grants, uint32_t rkey);

// Domains that share a place: the first one stays on the board.
void put_domain(Grants& grants, uint32_t pd);
void remove_domain(Grants& grants, uint32_t pd);
bool has_domain(const Grants& grants, uint32_t pd);

// If several want the same place, the first one keeps it.
void put_xrc_domain(Grants& grants, const DomainFile& file);
void remove_xrc_domain(Grants& grants, const DomainFile& file);
bool has_xrc_domain(const Grants& grants, const DomainFile& file);
void put_xrc_queue(Grants& grants, uint32_t number, const XrcQueue& queue);
// False if it was not there.
bool remove_xrc_queue(Grants& grants, uint32_t number);
std::optional<XrcQueue> find_xrc_queue(const Grants& grants, uint32_t number);

void put_objection(Grants& grants, wire::Qpn peer, const transport::Objection& objection);
// The newest objection to this requester.
std::optional<transport::Objection> find_objection(const Grants& grants, wire::Qpn peer);

}  // namespace tulle::live
