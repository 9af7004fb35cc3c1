// IPv4, IPv6 and UDP, the envelope of RoCE v2 (IBTA annex A17). The IPv6 header and InfiniBand's
// global route header have the same layout (IBTA vol 1, 8.3), and share one structure here.
#pragma once

#include "wire/ids.h"
#include "wire/layout.h"

namespace tulle::wire {

inline constexpr uint8_t kProtocolUdp = 17;
inline constexpr uint8_t kProtocolIba = 0x1b;  // next header of a GRH: an IBA transport follows
inline constexpr uint16_t kRoceV2Port = 4791;

struct Ipv4 {
    static constexpr size_t kSize = 20;
    uint8_t version = 4;
    uint8_t header_words = 5;
    uint8_t dscp = 0;
    uint8_t ecn = 0;
    uint16_t total_length = 0;
    Bits16 identification;
    bool reserved_flag = false;
    bool dont_fragment = false;
    bool more_fragments = false;
    uint16_t fragment_offset = 0;
    uint8_t time_to_live = 0;
    uint8_t protocol = 0;
    Bits16 checksum;
    Ipv4Address source;
    Ipv4Address destination;
    static constexpr auto kFields =
        fields(field<&Ipv4::version, 4>("version"), field<&Ipv4::header_words, 4>("header_words"),
               field<&Ipv4::dscp, 6>("dscp"), field<&Ipv4::ecn, 2>("ecn"),
               field<&Ipv4::total_length, 16>("total_length"),
               field<&Ipv4::identification, 16>("identification"),
               field<&Ipv4::reserved_flag, 1>("reserved_flag"),
               field<&Ipv4::dont_fragment, 1>("dont_fragment"),
               field<&Ipv4::more_fragments, 1>("more_fragments"),
               field<&Ipv4::fragment_offset, 13>("fragment_offset"),
               field<&Ipv4::time_to_live, 8>("time_to_live"), field<&Ipv4::protocol, 8>("protocol"),
               field<&Ipv4::checksum, 16>("checksum"), field<&Ipv4::source, 32>("source"),
               field<&Ipv4::destination, 32>("destination"));
};

// Global route header; also the IPv6 header.
struct Grh {
    static constexpr size_t kSize = 40;
    uint8_t version = 6;
    uint8_t traffic_class = 0;  // DSCP in the upper six bits, ECN in the lower two
    Bits32 flow_label;
    uint16_t payload_length = 0;
    uint8_t next_header = 0;
    uint8_t hop_limit = 0;
    Gid source;
    Gid destination;
    static constexpr auto kFields =
        fields(field<&Grh::version, 4>("version"), field<&Grh::traffic_class, 8>("traffic_class"),
               field<&Grh::flow_label, 20>("flow_label"),
               field<&Grh::payload_length, 16>("payload_length"),
               field<&Grh::next_header, 8>("next_header"), field<&Grh::hop_limit, 8>("hop_limit"),
               field<&Grh::source, 128>("source"), field<&Grh::destination, 128>("destination"));
};

struct Udp {
    static constexpr size_t kSize = 8;
    uint16_t source_port = 0;
    uint16_t destination_port = kRoceV2Port;
    uint16_t length = 0;
    Bits16 checksum;  // RoCE v2 senders write 0 over IPv4, because the ICRC protects more
    static constexpr auto kFields =
        fields(field<&Udp::source_port, 16>("source_port"),
               field<&Udp::destination_port, 16>("destination_port"),
               field<&Udp::length, 16>("length"), field<&Udp::checksum, 16>("checksum"));
};

// The ones-complement checksum of the IPv4 header (RFC 1071). Over a header with a zero checksum
// field it is the value for that field; over a correct header it is zero.
uint16_t ipv4_checksum(Bytes header);
inline constexpr size_t kIpv4ChecksumOffset = 10;

}  // namespace tulle::wire
