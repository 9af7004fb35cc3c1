#include "wire/frame.h"

#include <algorithm>
#include <cstring>

namespace tulle::wire {
namespace {

uint32_t load_icrc(Bytes bytes) {
    uint32_t value = 0;
    for (size_t i = 0; i < kIcrcSize; ++i) value |= std::to_integer<uint32_t>(bytes[i]) << (8 * i);
    return value;
}

uint16_t load_vcrc(Bytes bytes) {
    return static_cast<uint16_t>(std::to_integer<unsigned>(bytes[0]) |
                                 std::to_integer<unsigned>(bytes[1]) << 8);
}

void store_little_endian(uint32_t value, MutableBytes bytes) {
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(value);
        value >>= 8;
    }
}

void store_big_endian(uint16_t value, MutableBytes bytes) {
    bytes[0] = static_cast<std::byte>(value >> 8);
    bytes[1] = static_cast<std::byte>(value);
}

// Takes headers from the front of a packet; the rest becomes the trailer.
class Parser {
public:
    Parser(Frame& frame, Bytes bytes, size_t original_size)
        : frame_(frame), rest_(bytes), missing_(original_size - bytes.size()) {}

    void ethernet();
    void infiniband();
    void transport(Encapsulation encapsulation, size_t size);

private:
    template <Header H>
    bool take(H& header) {
        if (!parse_into(header, rest_)) return false;
        rest_ = rest_.subspan(H::kSize);
        return true;
    }

    void end(FrameKind kind, std::string_view problem) {
        frame_.kind = kind;
        frame_.problem = problem;
        frame_.trailer = rest_;
    }
    void foreign(std::string_view what) { end(FrameKind::foreign, what); }
    void malformed(std::string_view problem) { end(FrameKind::malformed, problem); }
    void too_short(std::string_view problem) {
        malformed(missing_ != 0 ? "the capture is cut within the headers" : problem);
    }

    void mac_control();
    void ipv4();
    void ipv6();
    void roce_v1();
    void udp(Encapsulation encapsulation, size_t size);
    void flow_control();

    Frame& frame_;
    Bytes rest_;
    size_t missing_;  // bytes on the wire that were not captured
};

void Parser::ethernet() {
    if (!take(frame_.ethernet)) return too_short("shorter than an Ethernet header");
    frame_.has_link_header = true;
    uint16_t ether_type = frame_.ethernet.ether_type.value;
    if (ether_type == kEtherTypeVlan) {
        if (!take(frame_.vlan)) return too_short("shorter than its 802.1Q tag");
        frame_.has_vlan = true;
        ether_type = frame_.vlan.ether_type.value;
    }
    switch (ether_type) {
        case kEtherTypeIpv4: return ipv4();
        case kEtherTypeIpv6: return ipv6();
        case kEtherTypeRoceV1: return roce_v1();
        case kEtherTypeMacControl: return mac_control();
        default: return foreign("an EtherType that is not RoCE");
    }
}

void Parser::mac_control() {
    const auto control = parse<Pause>(rest_);
    if (!control) return too_short("shorter than a MAC control frame");
    if (control->opcode.value == Pfc::kOpcode) {
        if (!take(frame_.pfc)) return too_short("shorter than a PFC frame");
        return end(FrameKind::pfc, {});
    }
    if (control->opcode.value == Pause::kOpcode) {
        take(frame_.pause);
        return end(FrameKind::pause, {});
    }
    foreign("a MAC control frame that is neither PFC nor PAUSE");
}

void Parser::ipv4() {
    if (!take(frame_.ipv4)) return too_short("shorter than an IPv4 header");
    frame_.network = NetworkHeader::ipv4;
    const Ipv4& ip = frame_.ipv4;
    if (ip.version != 4) return malformed("an IPv4 header whose version is not 4");
    if (ip.protocol != kProtocolUdp) return foreign("IPv4, not UDP");
    if (ip.more_fragments || ip.fragment_offset != 0) return foreign("a fragment of IPv4");
    if (ip.header_words != 5) return foreign("IPv4 with options, which RoCE v2 does not use");
    if (ip.total_length < Ipv4::kSize) return malformed("an IPv4 length below the header's own");
    udp(Encapsulation::roce_v2_ipv4, ip.total_length - Ipv4::kSize);
}

void Parser::ipv6() {
    if (!take(frame_.grh)) return too_short("shorter than an IPv6 header");
    frame_.network = NetworkHeader::ipv6;
    if (frame_.grh.version != 6) return malformed("an IPv6 header whose version is not 6");
    if (frame_.grh.next_header != kProtocolUdp) return foreign("IPv6, not UDP");
    udp(Encapsulation::roce_v2_ipv6, frame_.grh.payload_length);
}

void Parser::udp(Encapsulation encapsulation, size_t size) {
    if (!take(frame_.udp)) return too_short("shorter than a UDP header");
    frame_.has_udp = true;
    if (frame_.udp.destination_port != kRoceV2Port) return foreign("UDP, not to port 4791");
    if (frame_.udp.length < Udp::kSize) return malformed("a UDP length below the header's own");
    if (frame_.udp.length != size) return malformed("a UDP length that differs from the IP length");
    transport(encapsulation, size - Udp::kSize);
}

void Parser::roce_v1() {
    if (!take(frame_.grh)) return too_short("shorter than a global route header");
    frame_.network = NetworkHeader::grh;
    if (frame_.grh.next_header != kProtocolIba)
        return malformed("a global route header whose next header is not 0x1b");
    transport(Encapsulation::roce_v1, frame_.grh.payload_length);
}

void Parser::infiniband() {
    if (rest_.size() == FlowControl::kSize && missing_ == 0) return flow_control();
    if (!take(frame_.lrh)) return too_short("shorter than a local route header");
    frame_.has_link_header = true;
    const size_t size = size_t{frame_.lrh.packet_words} * 4;
    if (size < Lrh::kSize) return malformed("a packet length below the local route header's own");
    switch (frame_.lrh.next_header) {
        case NextHeader::raw: return foreign("a raw packet");
        case NextHeader::ip: return foreign("a raw packet with an IPv6 header");
        case NextHeader::bth: return transport(Encapsulation::infiniband_local, size - Lrh::kSize);
        case NextHeader::grh: break;
    }
    if (!take(frame_.grh)) return too_short("shorter than a global route header");
    frame_.network = NetworkHeader::grh;
    if (size < Lrh::kSize + Grh::kSize)
        return malformed("a packet length below the global route header's own");
    transport(Encapsulation::infiniband_global, size - Lrh::kSize - Grh::kSize);
}

void Parser::flow_control() {
    take(frame_.flow_control);
    end(FrameKind::flow_control, {});
}

// `size` is the length from the BTH to the ICRC, by the headers before.
void Parser::transport(Encapsulation encapsulation, size_t size) {
    frame_.encapsulation = encapsulation;
    if (size > rest_.size() + missing_)
        return malformed("a length that reaches beyond the end of the packet");
    const bool cut = size > rest_.size();
    const Bytes whole = rest_;
    Bytes body = rest_.first(std::min(size, rest_.size()));

    const auto bth = parse<Bth>(body);
    if (!bth) return too_short("shorter than a base transport header");
    frame_.transport.bth = *bth;
    const size_t headers = frame_.transport.size();
    if (size < headers + kIcrcSize) return malformed("too short for the headers of its opcode");
    if (body.size() < headers) return too_short("too short for the headers of its opcode");
    const size_t padded = size - headers - kIcrcSize;
    if (bth->pad_count > padded) return malformed("a pad count larger than the payload");

    for_each_transport_header(frame_.transport, [&](const char*, auto& header) { take(header); });
    frame_.kind = FrameKind::transport;
    frame_.cut = cut;
    body = body.subspan(headers);
    if (cut) {
        frame_.payload = body;
        return;
    }
    frame_.payload = body.first(padded - bth->pad_count);
    frame_.pad = body.subspan(frame_.payload.size(), bth->pad_count);
    frame_.icrc.value = load_icrc(body.subspan(padded));
    frame_.trailer = whole.subspan(size);
    if (frame_.link == LinkLayer::infiniband && frame_.trailer.size() >= kVcrcSize) {
        frame_.has_vcrc = true;
        frame_.vcrc.value = load_vcrc(frame_.trailer);
        frame_.trailer = frame_.trailer.subspan(kVcrcSize);
    }
}

// Where the coverage of the ICRC begins: in RoCE after the Ethernet header.
size_t covered_begin(const Frame& frame) {
    if (frame.link == LinkLayer::infiniband) return 0;
    return Ethernet::kSize + (frame.has_vlan ? Vlan::kSize : 0);
}

size_t covered_size(const Frame& frame) {
    return icrc_envelope_size(frame.encapsulation) + frame.transport.size() + frame.payload.size() +
           frame.pad.size();
}

bool has_icrc(const Frame& frame) {
    return frame.kind == FrameKind::transport && !frame.cut;
}

}  // namespace

Frame parse_frame(LinkLayer link, Bytes bytes, size_t original_size) {
    Frame frame;
    frame.link = link;
    Parser parser(frame, bytes, std::max(bytes.size(), original_size));
    if (link == LinkLayer::ethernet)
        parser.ethernet();
    else
        parser.infiniband();
    return frame;
}

Frame parse_datagram(Encapsulation encapsulation, Bytes bytes) {
    Frame frame;
    Parser parser(frame, bytes, bytes.size());
    parser.transport(encapsulation, bytes.size());
    return frame;
}

size_t write_datagram(const Frame& frame, MutableBytes bytes) {
    MutableBytes rest = bytes;
    for_each_transport_header(frame.transport, [&](const char*, const auto& header) {
        write(header, rest);
        rest = rest.subspan(std::remove_reference_t<decltype(header)>::kSize);
    });
    for (const Bytes part : {frame.payload, frame.pad}) {
        std::copy(part.begin(), part.end(), rest.begin());
        rest = rest.subspan(part.size());
    }
    return bytes.size() - rest.size();
}

size_t frame_size(const Frame& frame) {
    size_t size = 0;
    for_each_header(frame, [&](const char*, const auto& header) {
        size += std::remove_reference_t<decltype(header)>::kSize;
    });
    size += frame.payload.size() + frame.pad.size() + frame.trailer.size();
    if (has_icrc(frame)) size += kIcrcSize + (frame.has_vcrc ? kVcrcSize : 0);
    return size;
}

size_t write_frame(const Frame& frame, MutableBytes bytes) {
    MutableBytes rest = bytes;
    const auto append = [&](Bytes part) {
        TULLE_CHECK(rest.size() >= part.size());
        std::copy(part.begin(), part.end(), rest.begin());
        rest = rest.subspan(part.size());
    };
    for_each_header(frame, [&](const char*, const auto& header) {
        write(header, rest);
        rest = rest.subspan(std::remove_reference_t<decltype(header)>::kSize);
    });
    append(frame.payload);
    append(frame.pad);
    if (has_icrc(frame)) {
        TULLE_CHECK(rest.size() >= kIcrcSize + (frame.has_vcrc ? kVcrcSize : 0));
        store_little_endian(frame.icrc.value, rest.first(kIcrcSize));
        rest = rest.subspan(kIcrcSize);
        if (frame.has_vcrc) {
            store_little_endian(frame.vcrc.value, rest.first(kVcrcSize));
            rest = rest.subspan(kVcrcSize);
        }
    }
    append(frame.trailer);
    return bytes.size() - rest.size();
}

uint32_t expected_icrc(const Frame& frame, Bytes bytes) {
    TULLE_CHECK(has_icrc(frame));
    return icrc(frame.encapsulation, bytes.subspan(covered_begin(frame), covered_size(frame)));
}

uint16_t expected_vcrc(const Frame& frame, Bytes bytes) {
    TULLE_CHECK(has_icrc(frame) && frame.link == LinkLayer::infiniband);
    return vcrc(bytes.first(covered_size(frame) + kIcrcSize));
}

Bits16 expected_lpcrc(const FlowControl& packet) {
    std::array<std::byte, FlowControl::kSize> bytes;
    write(packet, bytes);
    // The layout reads the most significant byte first; a CRC is sent in the opposite order.
    return Bits16{__builtin_bswap16(vcrc(Bytes(bytes).first(4)))};
}

void seal(const Frame& frame, MutableBytes bytes) {
    const size_t begin = covered_begin(frame);
    if (frame.network == NetworkHeader::ipv4) {
        const MutableBytes header = bytes.subspan(begin, Ipv4::kSize);
        store_big_endian(0, header.subspan(kIpv4ChecksumOffset, 2));
        store_big_endian(ipv4_checksum(header), header.subspan(kIpv4ChecksumOffset, 2));
    }
    const MutableBytes crcs = bytes.subspan(begin + covered_size(frame));
    store_little_endian(expected_icrc(frame, bytes), crcs.first(kIcrcSize));
    if (frame.has_vcrc)
        store_little_endian(expected_vcrc(frame, bytes), crcs.subspan(kIcrcSize, kVcrcSize));
}

}  // namespace tulle::wire
