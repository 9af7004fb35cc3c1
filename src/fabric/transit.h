// Packets on their way. What links and switches act on is a Transit of 32 bytes; the packet itself,
// 64 bytes that only its ends look at, lies beside it and is not touched on the way.
//
// Both are named by one index of a TransitStore. Queues and cables are lists through `next`, so a
// packet moves from a cable to a queue to the next cable without being copied, and memory is what
// is in flight and nothing more.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "wire/packet.h"

namespace tulle::fabric {

using base::Duration;
using base::Instant;

inline constexpr uint32_t kNoTransit = UINT32_MAX;

struct Transit {
    enum Flag : uint8_t {
        kData = 1 << 0,        // not an ACK, NAK or CNP
        kEcnCapable = 1 << 1,
        kMarked = 1 << 2,      // ECN or FECN, set by a switch
        kTrimmed = 1 << 3,
        kCorrupt = 1 << 4,     // the receiver of the link will throw it away
        kFixedPath = 1 << 5,   // `flow` is a path of the setup, not a hash
        kFirst = 1 << 6,       // of its message
    };

    Instant at;            // when the node at the end of the cable acts on it
    uint32_t next = kNoTransit;
    uint32_t destination = 0;  // endpoint; of flow-control packets: see Cabling
    uint32_t flow = 0;         // what ECMP hashes
    uint32_t tail_ps = 0;      // cut-through: its last bit comes so much after `at`
    uint16_t wire_bytes = 0;   // gap included
    uint16_t in_port = 0;
    uint8_t lane = 0;
    uint8_t flags = 0;
    uint8_t hops = 0;
    uint8_t in_lane = 0;       // of the input buffer that it is in
};
static_assert(sizeof(Transit) == 32);

class TransitStore {
public:
    uint32_t take() {
        if (free_ == kNoTransit) add_slab();
        const uint32_t index = free_;
        free_ = (*this)[index].next;
        ++live_;
        return index;
    }
    void give_back(uint32_t index) {
        (*this)[index].next = free_;
        free_ = index;
        --live_;
    }

    Transit& operator[](uint32_t index) {
        return slabs_[index / kSlab]->transits[index % kSlab];
    }
    wire::Packet& packet(uint32_t index) { return slabs_[index / kSlab]->packets[index % kSlab]; }

    size_t live() const { return live_; }

private:
    static constexpr uint32_t kSlab = 1024;
    struct Slab {
        std::array<Transit, kSlab> transits;
        std::array<wire::Packet, kSlab> packets;
    };

    void add_slab() {
        const auto first = static_cast<uint32_t>(slabs_.size() * kSlab);
        slabs_.push_back(std::make_unique<Slab>());
        for (uint32_t i = kSlab; i > 0; --i) {
            (*this)[first + i - 1].next = free_;
            free_ = first + i - 1;
        }
    }

    std::vector<std::unique_ptr<Slab>> slabs_;
    uint32_t free_ = kNoTransit;
    size_t live_ = 0;
};

// First in, first out, through Transit::next.
struct Fifo {
    uint32_t head = kNoTransit;
    uint32_t tail = kNoTransit;

    bool empty() const { return head == kNoTransit; }

    void push(TransitStore& store, uint32_t index) {
        store[index].next = kNoTransit;
        if (empty())
            head = index;
        else
            store[tail].next = index;
        tail = index;
    }

    uint32_t pop(TransitStore& store) {
        const uint32_t index = head;
        head = store[index].next;
        return index;
    }
};

}  // namespace tulle::fabric
