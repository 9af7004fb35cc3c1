// Ethernet as far as RoCE needs it: the MAC header, the 802.1Q tag, and the two MAC control frames
// that stop a sender, PFC (802.1Qbb) and PAUSE (802.3 annex 31B). The frame check sequence is not
// included: adapters strip it, and captures do not contain it.
#pragma once

#include "wire/ids.h"
#include "wire/layout.h"

namespace tulle::wire {

inline constexpr uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr uint16_t kEtherTypeVlan = 0x8100;
inline constexpr uint16_t kEtherTypeIpv6 = 0x86dd;
inline constexpr uint16_t kEtherTypeMacControl = 0x8808;
inline constexpr uint16_t kEtherTypeRoceV1 = 0x8915;

inline constexpr size_t kEthernetMinimumSize = 60;  // 64 with the frame check sequence
inline constexpr MacAddress kMacControlAddress{{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}};

struct Ethernet {
    static constexpr size_t kSize = 14;
    MacAddress destination;
    MacAddress source;
    Bits16 ether_type;
    static constexpr auto kFields = fields(field<&Ethernet::destination, 48>("destination"),
                                           field<&Ethernet::source, 48>("source"),
                                           field<&Ethernet::ether_type, 16>("ether_type"));
};

// What follows the first EtherType 0x8100: the tag, then the EtherType of the payload.
struct Vlan {
    static constexpr size_t kSize = 4;
    uint8_t priority = 0;  // PCP
    bool drop_eligible = false;
    uint16_t id = 0;
    Bits16 ether_type;
    static constexpr auto kFields = fields(
        field<&Vlan::priority, 3>("priority"), field<&Vlan::drop_eligible, 1>("drop_eligible"),
        field<&Vlan::id, 12>("id"), field<&Vlan::ether_type, 16>("ether_type"));
};

// Priority flow control: for each priority whose bit is set, a pause in quanta of 512 bit times;
// zero quanta resume it.
struct Pfc {
    static constexpr size_t kSize = 20;
    static constexpr uint16_t kOpcode = 0x0101;
    Bits16 opcode{kOpcode};
    Bits16 enable_vector;
    std::array<uint16_t, 8> quanta{};
    static constexpr auto kFields =
        fields(field<&Pfc::opcode, 16>("opcode"), field<&Pfc::enable_vector, 16>("enable_vector"),
               field<&Pfc::quanta, 128>("quanta"));
};

// The older PAUSE stops the whole link.
struct Pause {
    static constexpr size_t kSize = 4;
    static constexpr uint16_t kOpcode = 0x0001;
    Bits16 opcode{kOpcode};
    uint16_t quanta = 0;
    static constexpr auto kFields =
        fields(field<&Pause::opcode, 16>("opcode"), field<&Pause::quanta, 16>("quanta"));
};

}  // namespace tulle::wire
