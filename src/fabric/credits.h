// Credits of a virtual lane as InfiniBand counts them (IBTA vol 1, 7.9.4): blocks of 64 bytes,
// counters of 12 bits that wrap, and a limit that lies at most 2,048 blocks ahead. Other links
// count in larger blocks (Ultra Ethernet's CBFC: 128 bytes); their counters are wider, which makes
// no difference as long as no lane's buffer has more blocks than that.
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
inline constexpr uint16_t kCreditMask = 0xfff;
inline constexpr uint32_t kMaxCreditBlocks = 2048;

// What a credit is worth: a power of two.
class CreditUnit {
public:
    explicit constexpr CreditUnit(uint32_t bytes)
        : shift_(static_cast<uint32_t>(std::countr_zero(bytes))) {}

    constexpr uint32_t bytes() const { return 1u << shift_; }
    // That a packet takes.
    constexpr uint32_t blocks_of(uint32_t packet_bytes) const {
        return (packet_bytes + bytes() - 1) >> shift_;
    }
    constexpr uint32_t whole_blocks(uint32_t room_bytes) const { return room_bytes >> shift_; }
    // No more than that is given at a time.
    constexpr uint32_t most_bytes() const { return kMaxCreditBlocks << shift_; }

private:
    uint32_t shift_;
};

// The sender's half.
struct CreditsLeft {
    uint16_t total_sent = 0;    // FCTBS
    uint16_t credit_limit = 0;  // FCCL, as the peer said last

    // How far ahead of what was sent the limit lies; it may never lie behind.
    uint32_t blocks() const {
        const uint32_t ahead = (credit_limit - total_sent) & kCreditMask;
        return ahead <= kMaxCreditBlocks ? ahead : 0;
    }
    bool allow(uint32_t packet_blocks) const { return packet_blocks <= blocks(); }
    void spend(uint32_t packet_blocks) {
        total_sent = static_cast<uint16_t>((total_sent + packet_blocks) & kCreditMask);
    }
};

// The receiver's half.
struct CreditsGiven {
    uint16_t blocks_received = 0;  // ABR
    uint16_t last_limit = 0;       // the FCCL that went out last
    uint32_t used_blocks = 0;      // of the buffer

    uint16_t limit(uint32_t capacity_blocks) const {
        const uint32_t room = std::min(capacity_blocks - used_blocks, kMaxCreditBlocks);
        return static_cast<uint16_t>((blocks_received + room) & kCreditMask);
    }
    // By how much the limit has moved since the peer heard of it.
    uint32_t news(uint32_t capacity_blocks) const {
        return (limit(capacity_blocks) - last_limit) & kCreditMask;
    }
    void receive(uint32_t packet_blocks) {
        blocks_received = static_cast<uint16_t>((blocks_received + packet_blocks) & kCreditMask);
        used_blocks += packet_blocks;
    }
    void release(uint32_t packet_blocks) { used_blocks -= packet_blocks; }
};

}  // namespace tulle::fabric
