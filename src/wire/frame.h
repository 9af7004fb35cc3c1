// A packet as on the wire, parsed without loss.
//
// A Frame holds every header in full, reserved bits included, so that writing a parsed frame gives
// the same bytes, even for a damaged packet. Captures are read into it and written from it. It is
// the step between bytes and a Packet (packet.h), which keeps only what matters to the fabric.
// Payload, pad and trailer point into the parsed bytes.
#pragma once

#include <string_view>

#include "wire/ethernet.h"
#include "wire/icrc.h"
#include "wire/ip.h"
#include "wire/link.h"
#include "wire/opcode.h"
#include "wire/transport_headers.h"

namespace tulle::wire {

// The base transport header and the extended headers; the opcode says which of them are present.
struct TransportHeaders {
    Bth bth;
    Rdeth rdeth;
    Deth deth;
    Xrceth xrceth;
    Feth feth;
    Reth reth;
    AtomicEth atomic_eth;
    Aeth aeth;
    AtomicAckEth atomic_ack_eth;
    ImmDt imm_dt;
    Ieth ieth;
    CnpReserved cnp_reserved;

    uint8_t opcode() const { return bth.opcode.value; }
    const OpcodeInfo& info() const { return opcode_info(bth.opcode.value); }
    bool has(HeaderBit header) const { return (info().headers & header) != 0; }
    size_t size() const { return info().header_size; }
};

enum class FrameKind : uint8_t {
    transport,     // InfiniBand or RoCE
    flow_control,  // InfiniBand link
    pfc,
    pause,
    foreign,    // not ours; `problem` says what it is
    malformed,  // ours, but wrong; `problem` says why
};

enum class LinkLayer : uint8_t { ethernet, infiniband };
enum class NetworkHeader : uint8_t { none, ipv4, ipv6, grh };

struct Frame {
    FrameKind kind = FrameKind::foreign;
    LinkLayer link = LinkLayer::ethernet;
    bool has_link_header = false;  // Ethernet or LRH
    bool has_vlan = false;
    NetworkHeader network = NetworkHeader::none;
    bool has_udp = false;
    Encapsulation encapsulation = Encapsulation::roce_v2_ipv4;  // of transport packets
    bool cut = false;       // truncated by the capture: no ICRC, no VCRC
    bool has_vcrc = false;  // InfiniBand, and captured
    std::string_view problem;

    Ethernet ethernet;
    Vlan vlan;
    Lrh lrh;
    Ipv4 ipv4;
    Grh grh;  // also IPv6
    Udp udp;
    TransportHeaders transport;
    Pfc pfc;
    Pause pause;
    FlowControl flow_control;
    Bytes payload;
    Bytes pad;  // up to three bytes after the payload
    Bits32 icrc;
    Bits16 vcrc;
    Bytes trailer;  // Ethernet padding, or all that was not understood
};

// Parses a captured packet. Never fails: what cannot be understood is foreign or malformed, and the
// rest of its bytes is the trailer. `original_size` is the size on the wire, which is larger than
// the bytes if the capture truncated the packet.
Frame parse_frame(LinkLayer link, Bytes bytes, size_t original_size);
inline Frame parse_frame(LinkLayer link, Bytes bytes) {
    return parse_frame(link, bytes, bytes.size());
}

// Parses what a UDP socket delivers: from the BTH to the ICRC. The headers before it stay as in an
// empty frame; the caller knows them.
Frame parse_datagram(Encapsulation encapsulation, Bytes bytes);
// The reverse, without the ICRC: returns the number of bytes written.
size_t write_datagram(const Frame& frame, MutableBytes bytes);

size_t frame_size(const Frame& frame);

// Writes every header of the frame; returns frame_size(). The caller provides the room.
size_t write_frame(const Frame& frame, MutableBytes bytes);

// The ICRC and the VCRC that these bytes, of a complete transport frame, should carry.
uint32_t expected_icrc(const Frame& frame, Bytes bytes);
uint16_t expected_vcrc(const Frame& frame, Bytes bytes);
// The LPCRC that a flow-control packet should carry.
Bits16 expected_lpcrc(const FlowControl& packet);

// Sets the IPv4 checksum, ICRC and VCRC in these bytes of a transport frame.
void seal(const Frame& frame, MutableBytes bytes);

// Calls visit(name, header) for each header in wire order, up to the payload. The same structure is
// "IPv6" in RoCE v2, and "GRH" in InfiniBand and RoCE v1.
template <class F, class Visitor>
void for_each_header(F& frame, Visitor&& visit);

// The same for the transport headers only.
template <class T, class Visitor>
void for_each_transport_header(T& headers, Visitor&& visit);

// ---------------------------------------------------------------------------------------------

template <class T, class Visitor>
void for_each_transport_header(T& headers, Visitor&& visit) {
    visit("BTH", headers.bth);
    const uint16_t present = headers.info().headers;
    if ((present & kRdeth) != 0) visit("RDETH", headers.rdeth);
    if ((present & kDeth) != 0) visit("DETH", headers.deth);
    if ((present & kXrceth) != 0) visit("XRCETH", headers.xrceth);
    if ((present & kFeth) != 0) visit("FETH", headers.feth);
    if ((present & kReth) != 0) visit("RETH", headers.reth);
    if ((present & kAtomicEth) != 0) visit("AtomicETH", headers.atomic_eth);
    if ((present & kAeth) != 0) visit("AETH", headers.aeth);
    if ((present & kAtomicAckEth) != 0) visit("AtomicAckETH", headers.atomic_ack_eth);
    if ((present & kImmDt) != 0) visit("ImmDt", headers.imm_dt);
    if ((present & kIeth) != 0) visit("IETH", headers.ieth);
    if ((present & kCnpReserved) != 0) visit("CNP", headers.cnp_reserved);
}

template <class F, class Visitor>
void for_each_header(F& frame, Visitor&& visit) {
    if (frame.has_link_header && frame.link == LinkLayer::ethernet)
        visit("Ethernet", frame.ethernet);
    if (frame.has_vlan) visit("802.1Q", frame.vlan);
    if (frame.has_link_header && frame.link == LinkLayer::infiniband) visit("LRH", frame.lrh);
    if (frame.network == NetworkHeader::ipv4) visit("IPv4", frame.ipv4);
    if (frame.network == NetworkHeader::ipv6) visit("IPv6", frame.grh);
    if (frame.network == NetworkHeader::grh) visit("GRH", frame.grh);
    if (frame.has_udp) visit("UDP", frame.udp);
    switch (frame.kind) {
        case FrameKind::transport: for_each_transport_header(frame.transport, visit); return;
        case FrameKind::flow_control: visit("flow control", frame.flow_control); return;
        case FrameKind::pfc: visit("PFC", frame.pfc); return;
        case FrameKind::pause: visit("PAUSE", frame.pause); return;
        case FrameKind::foreign:
        case FrameKind::malformed: return;
    }
}

}  // namespace tulle::wire
