// Credits of a virtual lane: how much a sender may put on a lossless link. All links use this code.
// They differ in the size of a credit and in the width of the counters (CreditScale):
//
//   InfiniBand  64 bytes, 12 bits (IBTA vol 1, 7.9.4)
//   CBFC        128 bytes, 20 bits (Ultra Ethernet); bits beyond a buffer's credits add nothing
//   NVLink      its flits and counters are not public: a scale that its buffers fit in
//
// Counters are absolute and wrap. If a message is lost, or a broken link did not carry it, the next
// one makes up for it. A limit is at most half of the counters' range ahead.
//
//   FCTBS  total blocks that the sender has put on the link
//   ABR    total blocks that the receiver has seen
//   FCCL   the credit limit: ABR and the free room of the receiver's buffer
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tulle::fabric {

inline constexpr uint32_t kBlockBytes = 64;  // of InfiniBand
inline constexpr uint32_t kCreditBits = 12;  // same
inline constexpr uint32_t kMostCreditBits = 16;

// The size of a credit, a power of two, and the width of counters.
class CreditScale {
public:
    explicit constexpr CreditScale(uint32_t unit_bytes, uint32_t counter_bits = kCreditBits)
        : shift_(static_cast<uint32_t>(std::countr_zero(unit_bytes))),
          mask_(static_cast<uint16_t>((1u << counter_bits) - 1)) {}

    constexpr uint32_t bytes() const { return 1u << shift_; }
    // The blocks that a packet takes.
    constexpr uint32_t blocks_of(uint32_t packet_bytes) const {
        return (packet_bytes + bytes() - 1) >> shift_;
    }
    constexpr uint32_t whole_blocks(uint32_t room_bytes) const { return room_bytes >> shift_; }
    // The most blocks that are granted at a time.
    constexpr uint32_t most_blocks() const { return (mask_ + 1u) / 2; }
    constexpr uint32_t most_bytes() const { return most_blocks() << shift_; }

    constexpr uint16_t wrapped(uint32_t count) const {
        return static_cast<uint16_t>(count & mask_);
    }

private:
    uint32_t shift_;
    uint16_t mask_;
};

// The sender's half.
struct CreditsLeft {
    uint16_t total_sent = 0;    // FCTBS
    uint16_t credit_limit = 0;  // FCCL, from the peer's last message

    // How many blocks may still be sent. A limit that is behind what was sent allows none.
    uint32_t blocks(CreditScale scale) const {
        const uint32_t ahead = scale.wrapped(uint32_t{credit_limit} - total_sent);
        return ahead <= scale.most_blocks() ? ahead : 0;
    }
    bool allow(uint32_t packet_blocks, CreditScale scale) const {
        return packet_blocks <= blocks(scale);
    }
    void spend(uint32_t packet_blocks, CreditScale scale) {
        total_sent = scale.wrapped(total_sent + packet_blocks);
    }
};

// The receiver's half.
struct CreditsGiven {
    uint16_t blocks_received = 0;  // ABR
    uint16_t last_limit = 0;       // the FCCL that was sent last
    uint32_t used_blocks = 0;      // of the buffer

    uint16_t limit(uint32_t capacity_blocks, CreditScale scale) const {
        const uint32_t room = std::min(capacity_blocks - used_blocks, scale.most_blocks());
        return scale.wrapped(blocks_received + room);
    }
    // How far the limit has moved since it was last sent to the peer.
    uint32_t news(uint32_t capacity_blocks, CreditScale scale) const {
        return scale.wrapped(uint32_t{limit(capacity_blocks, scale)} - last_limit);
    }
    void receive(uint32_t packet_blocks, CreditScale scale) {
        blocks_received = scale.wrapped(blocks_received + packet_blocks);
        used_blocks += packet_blocks;
    }
    void release(uint32_t packet_blocks) { used_blocks -= packet_blocks; }
};

}  // namespace tulle::fabric
