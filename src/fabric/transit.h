// Packets in flight. Links and switches act on a Transit of 32 bytes. The packet itself, 64 bytes
// that only its ends read, lies beside it and is not touched on the way.
//
// One index of a TransitStore names both. Queues and cables are lists through `next`: a packet
// moves from a cable to a queue to the next cable without being copied, and only packets in flight
// take memory.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>

#include "base/check.h"
#include "base/hot.h"
#include "base/time.h"
#include "wire/packet.h"

namespace tulle::fabric {

using base::Duration;
using base::Instant;

inline constexpr uint32_t kNoTransit = UINT32_MAX;

struct Transit {
    enum Flag : uint8_t {
        kData = 1 << 0,   // not an ACK, NAK or CNP
        kFirst = 1 << 1,  // of its message
        kCounted = kData | kFirst,
        kEcnCapable = 1 << 2,
        kMarked = 1 << 3,  // ECN or FECN, set by a switch
        kTrimmed = 1 << 4,
        kCorrupt = 1 << 5,    // the receiver of the link will drop it
        kFixedPath = 1 << 6,  // `flow` is a fixed path of the setup, not a hash
        kWatched = 1 << 7,    // the journal follows it
    };

    Instant at;  // when the node at the end of the cable acts on it
    uint32_t next = kNoTransit;
    uint32_t destination = 0;  // endpoint; of flow-control packets: see Cabling
    uint32_t flow = 0;         // what ECMP hashes
    uint32_t tail_ps = 0;      // cut-through: its last bit comes this long after `at`
    uint16_t wire_bytes = 0;   // gap included
    uint16_t in_port = 0;
    // One byte each, but as bit fields: to the compiler, a write through uint8_t may change
    // anything.
    uint32_t lane : 8 = 0;
    uint32_t flags : 8 = 0;
    uint32_t hops : 8 = 0;
    uint32_t in_lane : 8 = 0;  // of the input buffer that it is in
};
static_assert(sizeof(Transit) == 32);

class TransitStore {
public:
    explicit TransitStore(std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
        : memory_(memory) {
        reserve(kFirstCapacity);
    }
    TransitStore(const TransitStore&) = delete;
    TransitStore& operator=(const TransitStore&) = delete;
    ~TransitStore() { give_memory_back(); }

    // Returns a new index. May move all transits and packets.
    uint32_t take() {
        ++live_;
        if (free_ != kNoTransit) {
            const uint32_t index = free_;
            free_ = transits_[index].next;
            return index;
        }
        if (used_ == capacity_) reserve(2 * capacity_);
        std::construct_at(transits_ + used_);
        std::construct_at(packets_ + used_);
        return used_++;
    }
    void give_back(uint32_t index) {
        transits_[index].next = free_;
        free_ = index;
        --live_;
    }

    Transit& operator[](uint32_t index) { return transits_[index]; }
    wire::Packet& packet(uint32_t index) { return packets_[index]; }

    // Prefetches a transit that is needed soon. kNoTransit maps to the slot before the first one,
    // so callers need no branch.
    TULLE_HOT void prefetch(uint32_t index) const {
        base::prefetch(transits_ + static_cast<int32_t>(index));
    }
    // Prefetches the next one in the list. The transit itself should be in the cache by now.
    TULLE_HOT void prefetch_behind(uint32_t index) const {
        if (index != kNoTransit) prefetch(transits_[index].next);
    }
    TULLE_HOT void prefetch_packet(uint32_t index) const {
        base::prefetch(packets_ + static_cast<int32_t>(index));
    }

    size_t live() const { return live_; }

private:
    // Address space, not memory: unused slots are never touched.
    static constexpr uint32_t kFirstCapacity = 1 << 20;
    // No transit and no packet may straddle two cache lines.
    static constexpr size_t kLine = 64;
    static_assert(kLine % sizeof(Transit) == 0 && kLine % sizeof(wire::Packet) == 0);

    void reserve(uint32_t capacity) {
        auto* transits =
            static_cast<Transit*>(memory_->allocate(capacity * sizeof(Transit), kLine));
        auto* packets =
            static_cast<wire::Packet*>(memory_->allocate(capacity * sizeof(wire::Packet), kLine));
        std::uninitialized_copy_n(transits_, used_, transits);
        std::uninitialized_copy_n(packets_, used_, packets);
        give_memory_back();
        transits_ = transits;
        packets_ = packets;
        capacity_ = capacity;
    }
    void give_memory_back() {
        if (capacity_ == 0) return;
        memory_->deallocate(transits_, capacity_ * sizeof(Transit), kLine);
        memory_->deallocate(packets_, capacity_ * sizeof(wire::Packet), kLine);
    }

    std::pmr::memory_resource* memory_;
    Transit* transits_ = nullptr;
    wire::Packet* packets_ = nullptr;
    uint32_t free_ = kNoTransit;
    uint32_t used_ = 0;
    uint32_t capacity_ = 0;
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
