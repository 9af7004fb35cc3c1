#include "wire/packet.h"

#include <algorithm>
#include <bit>

namespace tulle::wire {
namespace {

constexpr std::array<std::byte, kMaxPayload> kZeros{};

Ipv4Address ipv4_of(const Gid& gid) {
    const auto& b = gid.bytes;
    return Ipv4Address{{b[12], b[13], b[14], b[15]}};
}

uint32_t flush_word(const Feth& feth) {
    return uint32_t{feth.selectivity} << 4 | feth.placement.value;
}

Feth feth_of(uint32_t word) {
    Feth feth;
    feth.selectivity = static_cast<uint8_t>(word >> 4 & 3);
    feth.placement.value = static_cast<uint8_t>(word & 0xf);
    return feth;
}

// Converts extended headers to the union and back. The member follows from the headers: an opcode
// with an AtomicETH uses `atomic`, with a RETH `rdma`, with an AETH `ack`, any other `send`.

void pack_extended(const TransportHeaders& from, Packet& packet) {
    const uint16_t present = from.info().headers;
    if ((present & kXrceth) != 0) packet.srq_or_ee = from.xrceth.srq.value;
    if ((present & kRdeth) != 0) packet.srq_or_ee = from.rdeth.ee_context.value;
    Packet::Extended& to = packet.extended;
    if ((present & kAtomicEth) != 0) {
        to.atomic = {from.atomic_eth.virtual_address.value, from.atomic_eth.swap_or_add.value,
                     from.atomic_eth.compare.value, from.atomic_eth.rkey};
        if ((present & kDeth) != 0)
            packet.payload = Payload::rd_source(from.deth.qkey, from.deth.source_qp);
    } else if ((present & kReth) != 0) {
        to.rdma = {from.reth.virtual_address.value,
                   from.reth.rkey,
                   from.reth.dma_length,
                   (present & kFeth) != 0 ? flush_word(from.feth) : from.imm_dt.immediate.value,
                   from.deth.qkey,
                   from.deth.source_qp};
    } else if ((present & kAeth) != 0) {
        to.ack = {from.atomic_ack_eth.original.value, from.aeth.msn, from.aeth.syndrome.value, {}};
    } else {
        to.send = {from.deth.qkey, from.deth.source_qp,
                   (present & kIeth) != 0 ? from.ieth.rkey.value : from.imm_dt.immediate.value};
    }
}

void unpack_extended(const Packet& packet, TransportHeaders& to) {
    const uint16_t present = to.info().headers;
    to.xrceth.srq.value = to.rdeth.ee_context.value = packet.srq_or_ee;
    const Packet::Extended& from = packet.extended;
    if ((present & kAtomicEth) != 0) {
        to.atomic_eth.virtual_address.value = from.atomic.virtual_address;
        to.atomic_eth.swap_or_add.value = from.atomic.swap_or_add;
        to.atomic_eth.compare.value = from.atomic.compare;
        to.atomic_eth.rkey = from.atomic.rkey;
        to.deth.qkey = packet.payload.rd_qkey();
        to.deth.source_qp = packet.payload.rd_source_qp();
    } else if ((present & kReth) != 0) {
        to.reth.virtual_address.value = from.rdma.virtual_address;
        to.reth.rkey = from.rdma.rkey;
        to.reth.dma_length = from.rdma.dma_length;
        to.feth = feth_of(from.rdma.immediate_or_flush);
        to.imm_dt.immediate.value = from.rdma.immediate_or_flush;
        to.deth.qkey = from.rdma.qkey;
        to.deth.source_qp = from.rdma.source_qp;
    } else if ((present & kAeth) != 0) {
        to.aeth.syndrome.value = from.ack.syndrome;
        to.aeth.msn = from.ack.msn;
        to.atomic_ack_eth.original.value = from.ack.original;
    } else {
        to.deth.qkey = from.send.qkey;
        to.deth.source_qp = from.send.source_qp;
        to.imm_dt.immediate.value = to.ieth.rkey.value = from.send.immediate_or_rkey;
    }
}

SelectiveAck selective_ack_of(Bytes bytes) {
    uint64_t words[2] = {};
    for (size_t i = 0; i < bytes.size(); ++i) {
        uint64_t& word = words[i < 4 ? 0 : 1];
        word = word << 8 | static_cast<uint8_t>(bytes[i]);
    }
    SelectiveAck ack;
    ack.first_psn = words[0] >> 8 & kPsnMask;
    ack.tells = words[0] & 0xff;
    ack.bits = words[1];
    return ack;
}

Bth bth_of(const Packet& packet) {
    Bth bth;
    bth.opcode.value = static_cast<uint8_t>(packet.opcode);
    bth.solicited_event = packet.solicited_event;
    bth.migrated = packet.migrated;
    bth.pad_count = static_cast<uint8_t>(-packet.payload_length & 3);
    bth.pkey = packet.pkey;
    bth.fecn = packet.fecn;
    bth.becn = packet.becn;
    bth.dest_qp = packet.dest_qp();
    bth.ack_request = packet.ack_request;
    bth.psn = packet.psn();
    return bth;
}

Grh grh_of(const Packet& packet, const Path& path, uint8_t next_header, size_t payload_length) {
    Grh grh;
    grh.traffic_class = static_cast<uint8_t>(packet.traffic_class);
    grh.flow_label.value = path.flow_label;
    grh.payload_length = static_cast<uint16_t>(payload_length);
    grh.next_header = next_header;
    grh.hop_limit = static_cast<uint8_t>(packet.hop_limit);
    grh.source = path.source.gid;
    grh.destination = path.destination.gid;
    return grh;
}

Ipv4 ipv4_of(const Packet& packet, const Path& path, size_t payload_length) {
    Ipv4 ip;
    ip.dscp = static_cast<uint8_t>(packet.traffic_class >> 2);
    ip.ecn = static_cast<uint8_t>(packet.traffic_class & 3);
    ip.total_length = static_cast<uint16_t>(Ipv4::kSize + payload_length);
    ip.identification.value = path.ipv4_identification;
    ip.dont_fragment = true;
    ip.time_to_live = static_cast<uint8_t>(packet.hop_limit);
    ip.protocol = kProtocolUdp;
    ip.source = ipv4_of(path.source.gid);
    ip.destination = ipv4_of(path.destination.gid);
    return ip;
}

void set_ethernet(Frame& frame, const Packet& packet, const Path& path, uint16_t ether_type) {
    frame.link = LinkLayer::ethernet;
    frame.has_link_header = true;
    frame.ethernet = {path.destination.mac, path.source.mac, {ether_type}};
    frame.has_vlan = path.has_vlan;
    if (path.has_vlan) {
        frame.ethernet.ether_type.value = kEtherTypeVlan;
        frame.vlan = {
            static_cast<uint8_t>(packet.service_level), false, path.vlan_id, {ether_type}};
    }
}

void set_udp(Frame& frame, const Packet& packet, size_t length) {
    frame.has_udp = true;
    frame.udp.source_port = packet.entropy;
    frame.udp.length = static_cast<uint16_t>(length);
}

void set_lrh(Frame& frame, const Packet& packet, const Path& path, size_t size) {
    frame.link = LinkLayer::infiniband;
    frame.has_link_header = true;
    frame.has_vcrc = true;
    frame.lrh.virtual_lane = static_cast<uint8_t>(packet.virtual_lane);
    frame.lrh.service_level = static_cast<uint8_t>(packet.service_level);
    frame.lrh.destination = path.destination.lid;
    frame.lrh.source = path.source.lid;
    frame.lrh.packet_words = static_cast<uint16_t>(size / 4);
}

// `size` counts from the BTH to the ICRC.
void set_envelope(Frame& frame, const Packet& packet, const Path& path, size_t size) {
    switch (path.encapsulation) {
        case Encapsulation::infiniband_local:
            set_lrh(frame, packet, path, Lrh::kSize + size);
            return;
        case Encapsulation::infiniband_global:
            set_lrh(frame, packet, path, Lrh::kSize + Grh::kSize + size);
            frame.lrh.next_header = NextHeader::grh;
            frame.network = NetworkHeader::grh;
            frame.grh = grh_of(packet, path, kProtocolIba, size);
            return;
        case Encapsulation::roce_v1:
            set_ethernet(frame, packet, path, kEtherTypeRoceV1);
            frame.network = NetworkHeader::grh;
            frame.grh = grh_of(packet, path, kProtocolIba, size);
            return;
        case Encapsulation::roce_v2_ipv4:
            set_ethernet(frame, packet, path, kEtherTypeIpv4);
            frame.network = NetworkHeader::ipv4;
            frame.ipv4 = ipv4_of(packet, path, Udp::kSize + size);
            set_udp(frame, packet, Udp::kSize + size);
            return;
        case Encapsulation::roce_v2_ipv6:
            set_ethernet(frame, packet, path, kEtherTypeIpv6);
            frame.network = NetworkHeader::ipv6;
            frame.grh = grh_of(packet, path, kProtocolUdp, Udp::kSize + size);
            set_udp(frame, packet, Udp::kSize + size);
            return;
    }
}

Frame transport_frame(const Packet& packet, const Path& path, Bytes payload) {
    TULLE_CHECK(packet.payload_length <= kMaxPayload);
    Frame frame;
    frame.kind = FrameKind::transport;
    frame.encapsulation = path.encapsulation;
    frame.transport.bth = bth_of(packet);
    unpack_extended(packet, frame.transport);
    frame.payload =
        packet.payload.is_modelled() ? Bytes(kZeros).first(packet.payload_length) : payload;
    TULLE_CHECK(frame.payload.size() == packet.payload_length);
    frame.pad = Bytes(kZeros).first(frame.transport.bth.pad_count);
    const size_t size =
        frame.transport.size() + frame.payload.size() + frame.pad.size() + kIcrcSize;
    set_envelope(frame, packet, path, size);
    return frame;
}

Frame flow_control_frame(const Packet& packet) {
    Frame frame;
    frame.kind = FrameKind::flow_control;
    frame.link = LinkLayer::infiniband;
    FlowControl& to = frame.flow_control;
    to.operation = packet.extended.credit.operation;
    to.total_blocks_sent = packet.extended.credit.total_blocks_sent;
    to.virtual_lane = static_cast<uint8_t>(packet.virtual_lane);
    to.credit_limit = packet.extended.credit.credit_limit;
    to.lpcrc = expected_lpcrc(to);
    return frame;
}

Frame pfc_frame(const Packet& packet, const Path& path) {
    Frame frame;
    frame.kind = FrameKind::pfc;
    frame.has_link_header = true;
    frame.ethernet = {kMacControlAddress, path.source.mac, {kEtherTypeMacControl}};
    frame.pfc.enable_vector.value = packet.extended.pause.enable_vector;
    frame.pfc.quanta = packet.extended.pause.quanta;
    frame.trailer = Bytes(kZeros).first(kEthernetMinimumSize - Ethernet::kSize - Pfc::kSize);
    return frame;
}

}  // namespace

// PSN, kind and bits, most significant byte first.
std::array<std::byte, SelectiveAck::kBytes> bytes_of(const SelectiveAck& ack) {
    const uint64_t words[] = {uint64_t{ack.first_psn} << 8 | ack.tells, ack.bits};
    std::array<std::byte, SelectiveAck::kBytes> bytes;
    for (size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(words[0] >> (24 - 8 * i));
    for (size_t i = 0; i < 8; ++i) bytes[4 + i] = static_cast<std::byte>(words[1] >> (56 - 8 * i));
    return bytes;
}

Frame frame_of(const Packet& packet, const Path& path, Bytes payload) {
    switch (packet.kind) {
        case PacketKind::transport: return transport_frame(packet, path, payload);
        case PacketKind::flow_control: return flow_control_frame(packet);
        case PacketKind::pfc: return pfc_frame(packet, path);
        case PacketKind::back_pressure: break;
    }
    TULLE_CHECK(false);
}

size_t encode(const Packet& packet, const Path& path, Bytes payload, MutableBytes bytes) {
    Frame frame = frame_of(packet, path, payload);
    const bool is_selective = packet.kind == PacketKind::transport && packet.has_selective_ack();
    const auto selective = bytes_of(is_selective ? packet.extended.ack.selective : SelectiveAck{});
    if (is_selective) frame.payload = selective;
    const size_t size = write_frame(frame, bytes);
    if (frame.kind == FrameKind::transport) seal(frame, bytes.first(size));
    return size;
}

Packet packet_of(const Frame& frame) {
    Packet packet;
    switch (frame.kind) {
        case FrameKind::flow_control:
            packet.kind = PacketKind::flow_control;
            packet.virtual_lane = frame.flow_control.virtual_lane;
            packet.extended.credit = {frame.flow_control.total_blocks_sent,
                                      frame.flow_control.credit_limit,
                                      frame.flow_control.operation};
            return packet;
        case FrameKind::pfc:
            packet.kind = PacketKind::pfc;
            packet.extended.pause = {frame.pfc.quanta, frame.pfc.enable_vector.value};
            return packet;
        default: TULLE_CHECK(frame.kind == FrameKind::transport);
    }
    const Bth& bth = frame.transport.bth;
    // Each 24-bit field is stored before its neighbour in the same word: in the other order a load
    // has to wait for the store of the byte.
    packet.set_dest_qp(bth.dest_qp);
    packet.opcode = bth.opcode.value;
    packet.set_psn(bth.psn);
    packet.solicited_event = bth.solicited_event;
    packet.migrated = bth.migrated;
    packet.fecn = bth.fecn;
    packet.becn = bth.becn;
    packet.ack_request = bth.ack_request;
    packet.pkey = bth.pkey;
    packet.payload_length = static_cast<uint32_t>(frame.payload.size());
    if (!frame.payload.empty()) packet.payload = Payload::memory(frame.payload.data());
    pack_extended(frame.transport, packet);
    if (packet.has_selective_ack()) packet.extended.ack.selective = selective_ack_of(frame.payload);

    packet.service_level =
        frame.link == LinkLayer::infiniband ? frame.lrh.service_level : frame.vlan.priority;
    packet.virtual_lane = frame.lrh.virtual_lane;
    packet.entropy = frame.udp.source_port;
    if (frame.network == NetworkHeader::ipv4) {
        packet.traffic_class = static_cast<uint32_t>(frame.ipv4.dscp << 2 | frame.ipv4.ecn);
        packet.hop_limit = frame.ipv4.time_to_live;
    } else {
        packet.traffic_class = frame.grh.traffic_class;
        packet.hop_limit = frame.grh.hop_limit;
    }
    return packet;
}

Path path_of(const Frame& frame) {
    Path path;
    path.encapsulation = frame.encapsulation;
    path.source = {frame.ethernet.source, frame.grh.source, frame.lrh.source};
    path.destination = {frame.ethernet.destination, frame.grh.destination, frame.lrh.destination};
    if (frame.network == NetworkHeader::ipv4) {
        path.source.gid = gid_of(frame.ipv4.source);
        path.destination.gid = gid_of(frame.ipv4.destination);
    }
    path.has_vlan = frame.has_vlan;
    path.vlan_id = frame.vlan.id;
    path.ipv4_identification = frame.ipv4.identification.value;
    path.flow_label = frame.grh.flow_label.value;
    return path;
}

}  // namespace tulle::wire
