// What others of the world see of this process: its slots and the numbers that follow from them,
// the memory that it shows, the bell that they ring, and the secret that proves who reaches its
// memory.
#pragma once

#include <optional>
#include <vector>

#include "live/identity.h"
#include "live/meeting.h"
#include "live/peer.h"
#include "transport/core.h"

namespace tulle::live {

class Presence {
public:
    explicit Presence(const Identity& who) : who_(who), realm_(realm_of(who)) {}
    // Takes memory and a slot; nothing if either fails. The door is for the watch.
    std::optional<Door> open();
    // Publishes our facts to others.
    void show_facts(bool has_counters, bool cuts_packets, uint64_t capture);
    // In the child of a fork.
    void abandon();

    const Identity& identity() const { return who_; }
    const Realm& realm() const { return realm_; }
    uint32_t slot() const { return slot_; }
    uint32_t variant() const { return variant_; }  // of the slot's name (meeting.h)
    const Secret& secret() const { return secret_; }
    Card card() const;
    int bell() const { return bell_.get(); }
    Board& board() { return *reinterpret_cast<Board*>(board_.data()); }
    Grants& grants() { return *reinterpret_cast<Grants*>(grants_.data()); }

    // Whether an address is another machine's and of a kind that we talk to.
    bool is_elsewhere(const wire::Gid& address) const;

    // Convert between the numbers of queue pairs in the adapter and in the world.
    wire::Qpn outside_of(wire::Qpn qpn) const {
        return outside(qpn, slots_[transport::Core::index_of(qpn) / kQueuePairsOfSlot]);
    }
    // Nothing if that number is not of one of our slots.
    std::optional<wire::Qpn> inside_of(wire::Qpn qpn) {
        const uint32_t block = board().blocks[slot_of(qpn)].load(std::memory_order_relaxed);
        if (block == 0) return std::nullopt;
        return inside(qpn, block - 1);
    }
    // The same of shared receive queues; kNobodysSrq if it is not one of ours.
    uint32_t outside_of_srq(uint32_t number) const { return slot_ << kSrqShift | number; }
    uint32_t inside_of_srq(uint32_t number) const {
        return number >> kSrqShift == slot_ ? number & ((1u << kSrqShift) - 1) : kNobodysSrq;
    }
    // The number of queue pairs that have room in our slots; and one more slot.
    size_t room() const { return slots_.size() * kQueuePairsOfSlot; }
    bool has_all_blocks() const { return slots_.size() == kBlocks; }
    void add_slot(uint32_t slot);

private:
    const Identity who_;
    const Realm realm_;
    Secret secret_;
    uint32_t slot_ = 0;
    std::vector<uint32_t> slots_;  // `slot_` first, then one for each further block
    uint32_t variant_ = 0;
    SharedMemory board_;
    SharedMemory grants_;
    Descriptor bell_;
};

}  // namespace tulle::live
