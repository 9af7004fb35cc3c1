// A fabric as plain values: what a profile says about links, switches, loss, routes and marking.
// The scenario room reads them from text; nothing here knows the name of a product.
#pragma once

#include <array>
#include <cstdint>

#include "base/rate.h"
#include "base/time.h"
#include "fabric/routes.h"
#include "wire/icrc.h"

namespace tulle::fabric {

using base::Duration;
using base::Instant;
using base::Rate;

inline constexpr uint32_t kLanes = 16;           // virtual lanes, or priorities of which 8 are used
inline constexpr uint32_t kManagementLane = 15;  // VL15: no flow control, always sent first
inline constexpr uint32_t kNoLane = 0xff;

enum class FlowControl : uint8_t {
    none,     // a full buffer loses packets
    pfc,      // pause frames per priority
    credits,  // nothing is sent without room for it
};

// Fast paths of packets without anything unusual. Without them a run finds the same, but slower:
// for tests that compare the two.
inline constexpr uint8_t kShortWayIn = 1;   // through switches
inline constexpr uint8_t kShortWayOut = 2;  // onto lines

enum class Overflow : uint8_t {
    drop,  // the whole packet
    trim,  // only its payload; the headers go on in the lane of trimmed packets
};

// What bit errors do to a packet, beyond those that line code and FEC take care of.
enum class BitErrors : uint8_t { corrected, retransmitted, dropped };

enum class Forwarding : uint8_t { store_and_forward, cut_through };

enum class PathChoice : uint8_t {
    ecmp,         // by a hash of the flow and a seed of the switch
    destination,  // one port for each destination, as a subnet manager writes it (forwarding.h)
    adaptive,     // the shortest queue, packet by packet
    flowlet,      // the shortest queue, kept while packets follow closely
    spray,        // all of them evenly, packet by packet (spray.h)
    ugal,         // the shortest queue, or a detour through another group of a dragonfly
};

// Whether all packets of a flow go one way.
constexpr bool keeps_flows_together(PathChoice choice) {
    return choice == PathChoice::ecmp || choice == PathChoice::destination;
}

enum class Marking : uint8_t { none, ecn, fecn };

// A link that repairs bit errors (UEC's LLR, Omni-Path's LTPs): the receiver answers a damaged
// packet with a request, and the sender goes on from there. What was sent meanwhile is discarded.
// The sender's buffer is assumed to hold a round trip: 262,144 bytes are 5.2 us at 400 Gb/s.
struct LinkRetry {
    Duration response{};  // of the receiver and the sender, besides the cable
    uint8_t replays = 3;  // of one packet before it is given up; SONiC's LLR comes with 3
};

struct LinkSettings {
    Rate rate = Rate::bits_per_second(400'000'000'000);  // of data, without line code and FEC
    Duration delay{1'000'000};    // of the cable, if the topology does not say, ...
    Duration fec_delay{};         // ... and of coding and decoding at its ends
    uint32_t gap_bytes = 20;      // preamble and inter-frame gap
    uint64_t error_rate_e18 = 0;  // bit errors in 10^18 bits
    BitErrors bit_errors = BitErrors::dropped;
    LinkRetry retry;
    bool whole_nanoseconds = false;  // serialisation is truncated to whole ns, as in ns-3
};

// The bytes around a packet's payload on the wire.
struct FramingSettings {
    wire::Encapsulation encapsulation = wire::Encapsulation::roce_v2_ipv4;
    uint32_t envelope_bytes = 50;  // all but BTH, extended headers, payload and gap
    uint32_t minimum_bytes = 64;
    // For simulators without extended headers: the header bytes of every data packet, and the total
    // bytes of every acknowledgement. 0: as on the wire.
    uint32_t fixed_header_bytes = 0;
    uint32_t fixed_ack_bytes = 0;
    bool is_captured_as_uet = false;  // captures show Ultra Ethernet's headers, not RoCE's
    // Bytes of in-band telemetry in each data packet and each answer, if senders ask for it: HPCC's
    // header has five entries of 8 bytes and a count of 2.
    uint32_t telemetry_bytes = 42;
};

struct PfcSettings {
    uint16_t priorities = 0;              // a bit for each that is lossless
    uint64_t xoff_bytes = 0;              // static threshold of an ingress port's priority ...
    uint64_t xon_offset_bytes = 3 << 10;  // ... and how far below it the pause ends
    bool dynamic_threshold = true;        // instead: free shared buffer times alpha
    uint32_t alpha_numerator = 1;
    uint32_t alpha_denominator = 8;
    uint64_t reserve_bytes = 4 << 10;  // of each ingress port and priority, before the shared part
    uint64_t headroom_bytes = 0;       // 0: computed from rate, cable and response time, ...
    uint32_t headroom_delays = 0;      // ... or this many times what fits on the cable; 0: unused
    uint16_t quanta = 0xffff;          // of a pause frame; 512 bit times each
    Duration response_time{};          // between the frame's arrival and the last packet's start
    Duration watchdog{};               // 0: none. A queue paused for longer is released, ...
    Duration watchdog_restore{};       // ... its packets dropped, and pauses ignored for this long
};

struct CreditSettings {
    uint32_t lane_buffer_bytes = 64 << 10;  // input buffer of each virtual lane
    uint32_t update_bytes = 4 << 10;  // room that must become free before a credit packet goes
    uint32_t packet_bytes = 6;        // of a flow-control packet on the wire
    uint32_t unit_bytes = 64;         // size of a credit; a power of two
    uint32_t counter_bits = 12;       // of its wrapping counters; half of their range may be given
    Duration head_of_queue_lifetime{};  // 0: none. Longer at the head of a queue: dropped
};

// High and low table of InfiniBand's arbiter, weights in 64-byte blocks.
struct VlArbitration {
    struct Entry {
        uint8_t lane = 0;
        uint8_t weight = 0;
    };
    std::array<Entry, 64> high{};
    std::array<Entry, 64> low{};
    uint8_t high_count = 0;
    uint8_t low_count = 0;
    uint8_t high_limit = 0;  // in 4,096 bytes; 255: no limit; 0: one packet
};

enum class Arbitration : uint8_t { ets, vl_tables };

// Enhanced transmission selection: strict lanes first, highest number first; the others share by
// deficit round robin.
struct EtsSettings {
    uint16_t strict = 0;  // a bit for each lane
    std::array<uint8_t, kLanes> weight = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
};

struct EcnSettings {
    uint64_t kmin_bytes = 100'000;
    uint64_t kmax_bytes = 400'000;
    uint32_t pmax_millionths = 200'000;
    bool at_dequeue = false;
    bool at_hosts = true;  // ports that lead to a host mark too
};

struct FecnSettings {
    uint64_t threshold_bytes = 0;  // of an output queue
    uint32_t marking_rate = 0;     // unmarked packets between two that are marked
    uint32_t minimum_bytes = 0;    // smaller packets are not marked
    bool victims = false;          // mark even if the queue itself waits for credits
};

struct SwitchSettings {
    Forwarding forwarding = Forwarding::store_and_forward;
    Duration latency{};                // from arrival to the output queue
    uint64_t buffer_bytes = 32 << 20;  // shared by all ports, beyond reserves and headroom ...
    bool buffer_holds_all = false;     // ... or including them, with one priority a port
    bool alpha_by_rate = false;  // doubled for each doubling of an input's rate above the hosts'
    uint64_t port_buffer_bytes = 0;  // limit of one output queue; 0: as the shared buffer allows
    bool lossy_dynamic_threshold = true;  // a lossy queue may take free shared buffer times alpha
    // Whether the switch adds up contributions of hosts and copies packets to several members
    // (groups.h). That traffic then uses this fraction of the line's rate.
    bool reduction = false;
    uint32_t reduction_numerator = 1;
    uint32_t reduction_denominator = 1;
    // Between servers (reduction_trees.h): trees per switch, and streaming trees per port; 0: any
    // number. Trees for small messages send pieces of `reduction_piece` bytes, with
    // `reduction_pieces` in flight at once. Messages longer than `reduction_stream_above` stream.
    uint32_t reduction_trees = 0;
    uint32_t reduction_streams = 0;
    uint64_t reduction_piece = 1024;
    uint32_t reduction_pieces = 2;
    uint64_t reduction_stream_above = 16 << 10;
    // InfiniBand with tenants: ports of hosts check P_Keys, in and out (tenancy.h). OpenSM:
    // part_enforce, both by default.
    bool enforces_partitions = true;
};

// What chooses a packet's lane: its service level or its DSCP.
enum class Trust : uint8_t { service_level, dscp };

struct QosSettings {
    Trust trust = Trust::service_level;
    std::array<uint8_t, 16> lane_of_level = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    std::array<uint8_t, 64> lane_of_dscp{};
    uint8_t trimmed_lane = 7;
};

struct RouteSettings {
    RouteKind kind = RouteKind::shortest;
    PathChoice choice = PathChoice::ecmp;
    Duration flowlet_gap{};
    Duration reroute_delay{};     // from a failure to the tables that avoid it
    bool dateline_lanes = false;  // a packet that crosses a ring's dateline goes one lane up
    bool group_lanes = false;     // so does a packet from another group of a dragonfly
    Duration detour_bias{};       // ugal: time that a detour has to save in addition
    // How exactly switches know the loads of their ports, if they choose by load (port_choice.h).
    uint64_t load_step_bytes = 0;   // queues that differ by less look equal; 0: exact
    Duration load_period{};         // a load is read once in this time; 0: for each packet
    uint64_t warn_above_bytes = 0;  // neighbours are warned of longer queues (warnings.h); 0: never
};

// Back-pressure only for the sources that fill the port of a host (back_pressure.h).
struct BackPressureSettings {
    uint64_t above_bytes = 0;           // of the queue to a host; 0: none
    Duration forget_after{10'000'000};  // a source silent for longer is not counted
    Duration interval{2'000'000};       // between two messages to one source
    uint8_t lane = 0;                   // of the messages
    uint32_t frame_bytes = 64;          // of one message, on the wire
};

struct Settings {
    LinkSettings link;
    FramingSettings framing;
    FlowControl flow_control = FlowControl::none;
    Overflow overflow = Overflow::drop;
    PfcSettings pfc;
    CreditSettings credits;
    Arbitration arbitration = Arbitration::ets;
    EtsSettings ets;
    VlArbitration vl_arbitration;
    SwitchSettings node;
    Marking marking = Marking::none;
    EcnSettings ecn;
    FecnSettings fecn;
    QosSettings qos;
    RouteSettings route;
    BackPressureSettings back_pressure;
    // The fast paths that packets without anything unusual take. No scenario sets them.
    uint8_t short_ways = kShortWayIn | kShortWayOut;
    bool telemetry = false;  // senders ask for it, and switches write it into packets (telemetry.h)
};

}  // namespace tulle::fabric
