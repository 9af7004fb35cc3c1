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
    other_tenant,  // sender and receiver may not talk to each other
};
inline constexpr size_t kDropCauses = 9;

// The lane in a set of lanes.
constexpr uint16_t bit_of(uint32_t lane) {
    return static_cast<uint16_t>(1u << lane);
}

// A lane of an output port: its queue, and its credits to send.
struct LaneOut {
    Fifo queue;
    uint32_t bytes = 0;
    CreditsLeft credits;
};
static_assert(sizeof(LaneOut) == 16);

// State of an output lane that is used only while it waits.
struct LaneWait {
    int32_t deficit = 0;     // of deficit round robin
    uint32_t unmarked = 0;   // packets that went by since the last mark (FECN)
    Instant pause_until{};   // PFC; in the past: not paused
    Instant held_since{};    // held with packets waiting, since then
    Instant paused_since{};  // held since then, with packets or without
    Instant head_since{};    // its first packet became the first then
    Instant storm_until{};   // the watchdog drops what arrives until then
    uint64_t held_ps = 0;
    uint32_t root = UINT32_MAX;  // Place: the root of what held it last
    uint8_t timers = 0;          // pending kinds of NodeTimer, a bit each
};

// A lane of an input port: how much of the buffer its packets use.
struct LaneIn {
    CreditsGiven credits;
    uint32_t used_bytes = 0;  // reserve and shared part
    uint32_t headroom_bytes = 0;
    bool is_full = false;       // the peer was told to stop, or has no credit for a large packet
    bool has_timer = false;     // a timer will tell it again
    uint16_t culprit_port = 0;  // the output port of the packet that filled it
    uint32_t blocker = UINT32_MAX;  // the same port, numbered by the cabling
    uint64_t blocker_held_ps = 0;   // how long it had been held when this lane filled
    Instant full_since{};
    Instant told_at{};
};

// Lanes that the peer must be told about. any() is called often, and reads one word.
struct Owed {
    uint16_t pause = 0;
    uint16_t resume = 0;
    uint16_t credits = 0;
    uint16_t warnings = 0;  // a count, not lanes (warnings.h)

    bool any() const { return std::bit_cast<uint64_t>(*this) != 0; }
};

// Two cache lines. The first has the fields that every packet uses.
struct alignas(64) Port {
    uint32_t ps_per_byte = 0;  // 0: not a whole number; then Cabling::lines_ has the rate
    uint32_t peer = 0;         // the port at the other end, numbered by its own cabling
    Duration arrival_delay{};  // from the last bit sent until the peer acts on a packet
    Instant busy_until{};      // the line is free from then on
    Owed owed;
    uint64_t wire_bytes = 0;
    uint32_t queued_bytes = 0;
    uint32_t sending_bytes = 0;  // credits: of the packet on the line, released at its end
    uint16_t sending_in_port = 0;
    uint8_t sending_in_lane = 0;
    bool is_awaited = false;  // the node acts when the line falls free
    uint16_t filled = 0;      // lanes with packets
    uint16_t held = 0;        // lanes that may not send
    uint16_t storming = 0;    // lanes whose packets the watchdog drops
    uint16_t lossless = 0;    // priorities in which this input pauses its peer
    bool is_up = true;
    bool is_unusual = false;    // sending a packet takes extra steps, see below
    bool is_odd = false;        // receiving does: down, guarded, or lane or way may change
    bool lets_through = false;  // of a switch: a packet that finds it idle is not stored

    uint64_t packets[Transit::kCounted + 1] = {};  // by the flags in kCounted
    Duration delay{};                              // of cable and FEC
    uint32_t peak_queue_bytes = 0;
    uint32_t headroom_bytes = 0;  // of each lossless priority of this input
    uint32_t cable = 0;
    uint32_t flow_control_packets = 0;  // sent
    uint16_t peer_partition = 0;
    uint16_t honours_pause = 0;           // priorities in which it heeds pauses itself
    uint8_t next_lane : 5 = 0;            // round robin
    bool takes_long_way_out : 1 = false;  // for tests: Settings::short_ways
    bool is_a : 1 = false;                // the first end of its cable
    bool peer_needs_credits : 1 = true;   // it is told of new ones
    uint8_t alpha_doublings : 7 = 0;      // of the dynamic threshold of this input
    bool takes_long_way_in : 1 = false;   // for tests: Settings::short_ways
    bool is_host : 1 = false;             // its queue is not visible: held whenever it may not send
    bool is_behind_dateline : 1 = false;  // packets that arrive here go on one lane up, once ...
    bool raises_lane : 1 = false;         // ... or at each such port that they pass
    bool maps_lanes : 1 = false;          // ... or on the lane that the switch's map says
    bool offers_detours : 1 = false;  // packets that arrive here may leave their group by any way
    bool leads_to_host : 1 = false;   // of a switch
    bool is_guarded : 1 = false;      // packets that arrive here must be of the right tenant
    // Any of these makes the port unusual.
    bool peer_is_elsewhere : 1 = false;
    bool peer_cuts_through : 1 = false;
    bool whole_nanoseconds : 1 = false;
    bool is_tapped : 1 = false;
    bool has_errors : 1 = false;
    bool writes_telemetry : 1 = false;  // into data packets
    bool is_watched : 1 = false;        // the partition has a journal
    bool spends_credits : 1 = true;     // of InfiniBand
    bool is_special : 1 = false;        // any of these but the last two

    explicit Port(Rate rate) {
        if (rate.denominator() == 1 && rate.numerator() <= UINT32_MAX)
            ps_per_byte = static_cast<uint32_t>(rate.numerator());
    }
    uint64_t data_packets() const { return packets[1] + packets[3]; }
    uint64_t control_packets() const { return packets[0] + packets[2]; }
    // First packets of messages: how many flows went this way.
    uint64_t first_packets() const { return packets[2] + packets[3]; }
    void settle() {
        is_odd = takes_long_way_in || !is_up || is_behind_dateline || raises_lane || maps_lanes ||
                 offers_detours || is_guarded;
        is_special = takes_long_way_out || peer_is_elsewhere || peer_cuts_through ||
                     whole_nanoseconds || is_tapped || has_errors || writes_telemetry ||
                     ps_per_byte == 0;
        is_unusual = is_special || is_watched || spends_credits;
    }
};
static_assert(sizeof(Port) == 128);

// Counters of rare events.
struct PortEvents {
    uint64_t pauses_received = 0;
    uint64_t marked = 0;
    uint64_t reduced = 0;     // contributions that ended here, ...
    uint64_t replicated = 0;  // ... and copies that were made of what came in here
    uint64_t words = 0;       // back-pressure messages to sources that fill the port of a host
    uint64_t lost_words = 0;  // of those, from any switch
    uint64_t management_bytes = 0;  // of control planes; part of Port::wire_bytes
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
        // At the small error rates of links, the sum over the bits is the chance that any bit is
        // hit.
        const uint64_t by_bits = bit_error_e18 < kWhole / bits ? bit_error_e18 * bits : kWhole;
        if (by_bits != 0 && random.chance(by_bits, kWhole)) return true;
        return packet_loss_e12 != 0 && random.chance(packet_loss_e12, 1'000'000'000'000);
    }
};

}  // namespace tulle::fabric
