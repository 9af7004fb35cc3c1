// Invented packets for the tests of this room and of rooms that read packets.
#pragma once

#include <random>
#include <vector>

#include "wire/packet.h"

namespace tulle::wire::testing {

inline constexpr std::array kEncapsulations = {
    Encapsulation::infiniband_local, Encapsulation::infiniband_global, Encapsulation::roce_v1,
    Encapsulation::roce_v2_ipv4, Encapsulation::roce_v2_ipv6};

inline LinkLayer link_of(Encapsulation encapsulation) {
    return encapsulation <= Encapsulation::infiniband_global ? LinkLayer::infiniband
                                                             : LinkLayer::ethernet;
}

inline std::vector<uint8_t> known_opcodes() {
    std::vector<uint8_t> opcodes;
    for (unsigned i = 0; i < 256; ++i)
        if (opcode_info(static_cast<uint8_t>(i)).known) opcodes.push_back(static_cast<uint8_t>(i));
    return opcodes;
}

using Random = std::mt19937_64;

inline std::vector<std::byte> random_bytes(Random& random, size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

inline Path sample_path(Encapsulation encapsulation) {
    Path path;
    path.encapsulation = encapsulation;
    path.source = {{{2, 0, 0, 0, 0, 1}}, {}, Lid{0x11}};
    path.destination = {{{2, 0, 0, 0, 0, 2}}, {}, Lid{0x22}};
    if (encapsulation == Encapsulation::roce_v2_ipv4) {
        path.source.gid = gid_of(Ipv4Address{{192, 0, 2, 1}});
        path.destination.gid = gid_of(Ipv4Address{{192, 0, 2, 2}});
        path.ipv4_identification = 0x1234;
    } else {
        path.source.gid = Gid{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
        path.destination.gid = Gid{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};
        path.flow_label = 0xabcde;
    }
    return path;
}

// A packet with random values in all fields of its opcode. It points to `payload`.
inline Packet random_packet(Random& random, uint8_t opcode, Bytes payload) {
    Frame frame;
    frame.kind = FrameKind::transport;
    frame.transport.bth.opcode.value = opcode;
    for_each_transport_header(frame.transport, [&]<class H>(const char*, H& header) {
        header = *parse<H>(random_bytes(random, H::kSize));
        if constexpr (std::is_same_v<H, Bth>) header.opcode.value = opcode;
    });
    if (opcode_info(opcode).payload) frame.payload = payload;

    Packet packet = packet_of(frame);
    packet.service_level = random() % 8;
    packet.hop_limit = static_cast<uint8_t>(random());
    packet.traffic_class = static_cast<uint8_t>(random());
    packet.entropy = static_cast<uint16_t>(0xc000 | random());
    return packet;
}

}  // namespace tulle::wire::testing
