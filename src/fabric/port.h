// A port as data: the line out of it, its lanes, and what it owes the port at the other end.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/random.h"
#include "base/rate.h"
#include "fabric/credits.h"
#include "fabric/settings.h"
#include "fabric/transit.h"

namespace tulle::fabric {

enum class Drop : uint8_t {
    buffer_full,    // no room in a lossy queue
    headroom_full,  // a lossless priority overran its headroom: PFC is set wrongly
    no_route,       // the destination cannot be reached from here
    link_down,
    corrupted,      // bit errors
    head_of_queue,  // waited longer than the head-of-queue lifetime
    watchdog,       // its queue was paused for too long
    hop_limit,
};
inline constexpr size_t kDropCauses = 8;

// A lane of an output port: its queue, and the leave to send.
struct LaneOut {
    Fifo queue;
    uint32_t bytes = 0;
    CreditsLeft credits;
};
static_assert(sizeof(LaneOut) == 16);

// What is asked of a lane only when it waits.
struct LaneWait {
    int32_t deficit = 0;     // of deficit round robin
    uint32_t unmarked = 0;   // packets that went by since the last mark (FECN)
    Instant pause_until{};   // PFC; the past: not paused
    Instant held_since{};    // with packets waiting
    Instant paused_since{};  // with or without
    Instant head_since{};    // its first packet is the first
    Instant storm_until{};   // the watchdog throws away what comes until then
    uint64_t held_ps = 0;
    uint32_t root = UINT32_MAX;  // Place: what held it last
    uint8_t timers = 0;          // kinds of NodeTimer that will come, a bit each
};

// A lane of an input port: how much of the buffer came through it.
struct LaneIn {
    CreditsGiven credits;
    uint32_t used_bytes = 0;  // reserve and shared part
    uint32_t headroom_bytes = 0;
    bool is_full = false;       // the peer was told to stop, or has no credit for a large packet
    bool has_timer = false;     // it will be told again
    uint16_t culprit_port = 0;  // what the packet that filled it waits for
    uint32_t blocker = UINT32_MAX;  // the same, as a port of the cabling
    uint64_t blocker_held_ps = 0;   // how long that had been held when this filled
    Instant full_since{};
    Instant told_at{};
};

// Lanes of which the peer must hear. Whether it is any is asked often, and is one word.
struct Owed {
    uint16_t pause = 0;
    uint16_t resume = 0;
    uint16_t credits = 0;
    uint16_t unused = 0;

    bool any() const { return std::bit_cast<uint64_t>(*this) != 0; }
};

// Two cache lines; the first has what each packet asks for.
struct alignas(64) Port {
    uint32_t ps_per_byte = 0;  // 0: not a whole number; the cabling's line carries the rest
    uint32_t peer = 0;         // port of the cabling that the other end is in
    Duration arrival_delay{};  // from the last bit sent to where the peer acts on a packet
    Instant busy_until{};      // the line is free from then on
    Owed owed;
    uint64_t wire_bytes = 0;
    uint32_t queued_bytes = 0;
    uint32_t sending_bytes = 0;  // credits: of the packet on the line, to be given back at its end
    uint16_t sending_in_port = 0;
    uint8_t sending_in_lane = 0;
    bool is_awaited = false;  // something happens when the line falls free
    uint16_t filled = 0;      // lanes with packets
    uint16_t held = 0;        // lanes that may not send
    uint16_t storming = 0;    // lanes that the watchdog has taken out
    uint16_t lossless = 0;    // priorities in which this input pauses its peer
    bool is_up = true;
    bool is_unusual = false;    // sending a packet takes more than usual, see below
    bool is_odd = false;        // receiving one does: it is down, or behind a dateline
    bool lets_through = false;  // of a switch: a packet that finds it idle need not be stored

    uint64_t packets[Transit::kCounted + 1] = {};  // by these flags
    Duration delay{};                              // of cable and FEC
    uint32_t peak_queue_bytes = 0;
    uint32_t headroom_bytes = 0;  // of each lossless priority of this input
    uint32_t cable = 0;
    uint32_t flow_control_packets = 0;  // sent
    uint16_t peer_partition = 0;
    uint16_t honours_pause = 0;   // priorities in which it heeds pauses itself
    uint8_t next_lane = 0;        // round robin
    uint8_t alpha_doublings = 0;  // of the dynamic threshold of this input
    bool is_a : 1 = false;        // the first end of its cable
    bool is_host : 1 = false;     // no queue to look at: it is held up whenever it may not send
    bool is_behind_dateline : 1 = false;  // what arrives here goes on one lane up
    // Any of these makes the port unusual.
    bool peer_is_elsewhere : 1 = false;
    bool peer_cuts_through : 1 = false;
    bool whole_nanoseconds : 1 = false;
    bool is_tapped : 1 = false;
    bool has_errors : 1 = false;
    bool is_watched : 1 = false;      // there is a journal
    bool spends_credits : 1 = false;  // of InfiniBand
    bool is_special : 1 = false;      // any but the last two

    explicit Port(Rate rate) {
        if (rate.denominator() == 1 && rate.numerator() <= UINT32_MAX)
            ps_per_byte = static_cast<uint32_t>(rate.numerator());
    }
    uint64_t data_packets() const { return packets[1] + packets[3]; }
    uint64_t control_packets() const { return packets[0] + packets[2]; }
    // Of messages: how many flows went this way.
    uint64_t first_packets() const { return packets[2] + packets[3]; }
    void settle() {
        is_odd = !is_up || is_behind_dateline;
        is_special = peer_is_elsewhere || peer_cuts_through || whole_nanoseconds || is_tapped ||
                     has_errors || ps_per_byte == 0;
        is_unusual = is_special || is_watched || spends_credits;
    }
};
static_assert(sizeof(Port) == 128);

// What is counted now and then.
struct PortCounters {
    uint64_t pauses_received = 0;
    uint64_t marked = 0;
    uint64_t reduced = 0;     // contributions that ended here, ...
    uint64_t replicated = 0;  // ... and copies that were made of what came in here
    uint32_t trimmed = 0;
    uint32_t corrected = 0;
    uint32_t watchdog_fired = 0;
    std::array<uint32_t, kDropCauses> dropped{};
};

// Bit errors of the line out of a port.
struct ErrorModel {
    uint64_t bit_error_e18 = 0;    // in 10^18 bits
    uint64_t packet_loss_e12 = 0;  // in 10^12 packets
    base::RandomStream random;

    bool is_clean() const { return bit_error_e18 == 0 && packet_loss_e12 == 0; }
    bool hits(uint32_t bytes) {
        constexpr uint64_t kWhole = 1'000'000'000'000'000'000;
        const uint64_t bits = uint64_t{bytes} * 8;
        // For the small rates that links have, the sum over the bits is the chance of any.
        const uint64_t by_bits = bit_error_e18 < kWhole / bits ? bit_error_e18 * bits : kWhole;
        if (by_bits != 0 && random.chance(by_bits, kWhole)) return true;
        return packet_loss_e12 != 0 && random.chance(packet_loss_e12, 1'000'000'000'000);
    }
};

}  // namespace tulle::fabric
