// The packet of both clocks: 64 bytes, one cache line.
//
// In virtual time this struct is the packet; nothing is serialised. In real time, and for a
// capture, encode() turns it into the bytes of any encapsulation, and packet_of() turns a parsed
// frame back. It keeps what end points and switches act on. Addresses do not fit and are not
// needed: `source` and `destination` are indices into the owner's table of end points, and a Path
// supplies the addresses when bytes are made.
//
// The first twenty bytes are five 24-bit numbers, each with another eight-bit field. The extended
// headers share 28 bytes: headers that may occur together (opcode.cc) have separate places. The
// datagram header of an RD atomic does not fit; it takes the place of the payload, which atomics do
// not have.
#pragma once

#include "wire/frame.h"

namespace tulle::wire {

// The last is a word from a switch to a host (fabric/back_pressure.h). No maker says how one looks,
// so it is never written as bytes.
enum class PacketKind : uint8_t { transport, flow_control, pfc, back_pressure };

// Where the payload bytes are. Modelled data has only a length.
class Payload {
public:
    Payload() = default;  // modelled
    static Payload memory(const std::byte* bytes) {
        return Payload(reinterpret_cast<uintptr_t>(bytes));
    }
    static Payload rd_source(QKey qkey, Qpn source_qp) {
        return Payload(uint64_t{source_qp.value} << 32 | qkey.value);
    }

    bool is_modelled() const { return handle_ == 0; }
    const std::byte* address() const {
        return reinterpret_cast<const std::byte*>(static_cast<uintptr_t>(handle_));
    }
    QKey rd_qkey() const { return QKey{static_cast<uint32_t>(handle_)}; }
    Qpn rd_source_qp() const { return Qpn{static_cast<uint32_t>(handle_ >> 32)}; }

private:
    explicit Payload(uint64_t handle) : handle_(handle) {}

    uint64_t handle_ = 0;
};

// A 64-bit number with an alignment of four, so that the headers fit into 28 bytes.
struct Word64 {
    uint32_t low = 0;
    uint32_t high = 0;
    Word64() = default;
    Word64(uint64_t value)
        : low(static_cast<uint32_t>(value)), high(static_cast<uint32_t>(value >> 32)) {}
    operator uint64_t() const { return uint64_t{high} << 32 | low; }
};

// What a receiver reports about the 64 packets after the first missing one. It is not in the
// specification: it travels as the payload of an ACK or NAK, 12 bytes, and a peer that does not
// know it ignores it.
struct SelectiveAck {
    static constexpr uint32_t kBytes = 12;
    static constexpr uint32_t kPsns = 64;
    enum class Tells : uint8_t {
        received,  // set bits: these packets have arrived
        trimmed,   // set bits: only the headers of these packets have arrived
    };
    uint32_t first_psn : 24 = 0;  // of bit 0
    uint32_t tells : 8 = 0;
    Word64 bits;

    bool tells_trimmed() const { return tells == static_cast<uint32_t>(Tells::trimmed); }
};

// In its form on the wire.
std::array<std::byte, SelectiveAck::kBytes> bytes_of(const SelectiveAck& ack);

struct Packet {
    struct Rdma {  // RETH; ImmDt or FETH; DETH in the reliable datagram service
        Word64 virtual_address;
        RKey rkey;
        uint32_t dma_length;
        uint32_t immediate_or_flush;
        QKey qkey;
        Qpn source_qp;
    };
    struct Atomic {  // AtomicETH
        Word64 virtual_address;
        Word64 swap_or_add;
        Word64 compare;
        RKey rkey;
    };
    struct Send {  // DETH; ImmDt or IETH
        QKey qkey;
        Qpn source_qp;
        uint32_t immediate_or_rkey;
    };
    struct Ack {  // AETH; AtomicAckETH; a payload that is a selective acknowledgement
        Word64 original;
        uint32_t msn;
        uint8_t syndrome;
        SelectiveAck selective;
    };
    struct Credit {  // an InfiniBand flow-control packet, for the virtual lane of the packet
        uint16_t total_blocks_sent;
        uint16_t credit_limit;
        uint8_t operation;
    };
    struct PriorityPause {  // a PFC frame
        std::array<uint16_t, 8> quanta;
        uint16_t enable_vector;
    };
    union Extended {
        Rdma rdma;
        Atomic atomic;
        Send send;
        Ack ack;
        Credit credit;
        PriorityPause pause;
        Extended() : rdma{} {}
    };

    uint32_t source : 24 = 0;
    uint32_t hop_limit : 8 = 64;
    uint32_t destination : 24 = 0;
    uint32_t traffic_class : 8 = 0;  // DSCP in the upper six bits, ECN in the lower two
    uint32_t dest_qp_bits : 24 = 0;
    uint32_t opcode : 8 = 0;
    uint32_t psn_bits : 24 = 0;
    PacketKind kind : 2 = PacketKind::transport;
    bool solicited_event : 1 = false;
    bool migrated : 1 = false;
    bool fecn : 1 = false;
    bool becn : 1 = false;
    bool ack_request : 1 = false;
    bool trimmed : 1 = false;        // a switch has removed the payload
    uint32_t srq_or_ee : 24 = 0;     // XRC: the target's queue; RD: the end-to-end context
    uint32_t service_level : 4 = 0;  // the priority on Ethernet
    uint32_t virtual_lane : 4 = 0;
    PKey pkey = kDefaultPKey;
    uint16_t entropy = 0;  // input of ECMP: the UDP source port
    Payload payload;
    Extended extended;
    uint32_t payload_length = 0;

    Qpn dest_qp() const { return Qpn{dest_qp_bits}; }
    void set_dest_qp(Qpn qpn) { dest_qp_bits = qpn.value & 0xff'ffff; }
    Psn psn() const { return Psn{psn_bits}; }
    void set_psn(Psn psn) { psn_bits = psn.value & kPsnMask; }
    bool has_selective_ack() const {
        return payload_length == SelectiveAck::kBytes &&
               operation_of(static_cast<uint8_t>(opcode)) == Operation::acknowledge;
    }
};
static_assert(sizeof(Packet::Extended) == 28);
static_assert(sizeof(Packet) == 64);

// The address of a port in every encapsulation.
struct Endpoint {
    MacAddress mac;
    Gid gid;  // IPv4 addresses as ::ffff:a.b.c.d
    Lid lid;
};

// What packets of a flow have in common, and the fabric does not look at.
struct Path {
    Encapsulation encapsulation = Encapsulation::roce_v2_ipv4;
    Endpoint source;
    Endpoint destination;
    bool has_vlan = false;
    uint16_t vlan_id = 0;
    uint16_t ipv4_identification = 0;
    uint32_t flow_label = 0;  // of GRH and IPv6
};

// The frame of a packet, with all lengths set, but without the IPv4 checksum and CRCs, which need
// the bytes (seal()). Modelled payload becomes zeros. The frame points to `payload`, which must
// outlive it.
Frame frame_of(const Packet& packet, const Path& path, Bytes payload);

// The whole packet as bytes, checksums included; returns their number. The caller passes a pooled
// payload.
size_t encode(const Packet& packet, const Path& path, Bytes payload, MutableBytes bytes);

inline constexpr size_t kMaxPayload = 10240;  // the largest MTU of any profile (Omni-Path)
inline constexpr size_t kMaxEncodedSize = kMaxPayload + 128;

// The reverse, for frames of kind transport, flow_control and pfc. `source` and `destination` stay
// zero: the caller maps the addresses. The payload points into the bytes of the frame.
Packet packet_of(const Frame& frame);
Path path_of(const Frame& frame);

}  // namespace tulle::wire
