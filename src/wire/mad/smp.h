// Subnet management packets (IBTA vol 1, 14.2.1): MADs on QP 0 and VL 15 with 64 bytes of data.
// A LID-routed one goes through the forwarding tables; a directed-route one carries the list of
// ports to leave by, so that a fabric without LIDs can be explored, and collects the way back.
// The 64 bytes hold one attribute: smp_attributes.h, port_info.h, smp_tables.h, notice.h.
#pragma once

#include "wire/mad/mad.h"

namespace tulle::wire {

inline constexpr size_t kSmpDataOffset = 64;
inline constexpr size_t kSmpDataSize = 64;
inline constexpr uint8_t kSmpMaxHops = 63;  // path entry 0 is not used

enum SmpAttribute : uint16_t {
    kSmpNotice = kAttributeNotice,
    kSmpNodeDescription = 0x0010,
    kSmpNodeInfo = 0x0011,
    kSmpSwitchInfo = 0x0012,
    kSmpGuidInfo = 0x0014,
    kSmpPortInfo = 0x0015,
    kSmpPKeyTable = 0x0016,
    kSmpSlToVlMappingTable = 0x0017,
    kSmpVlArbitrationTable = 0x0018,
    kSmpLinearForwardingTable = 0x0019,
    kSmpRandomForwardingTable = 0x001a,
    kSmpMulticastForwardingTable = 0x001b,
    kSmpLinkSpeedWidthPairsTable = 0x001c,
    kSmpVendorMadsTable = 0x001d,
    kSmpSmInfo = 0x0020,
    kSmpVendorDiag = 0x0030,
    kSmpLedInfo = 0x0031,
    kSmpCableInfo = 0x0032,
    kSmpPortInfoExtended = 0x0033,
};

// Bytes 24 to 63 of a LID-routed SMP.
struct LidRoutedHeader {
    static constexpr size_t kSize = 40;
    Key64 m_key;
    std::array<uint8_t, 32> reserved{};
    static constexpr auto kFields = fields(field<&LidRoutedHeader::m_key, 64>("m_key"),
                                           field<&LidRoutedHeader::reserved, 256>("reserved"));
};

struct LidRoutedSmp {
    static constexpr size_t kSize = 256;
    MadHeader header;
    LidRoutedHeader route;
    std::array<uint8_t, 64> data{};
    std::array<uint8_t, 128> reserved{};
    static constexpr auto kFields = fields(
        field<&LidRoutedSmp::header, 192>("header"), field<&LidRoutedSmp::route, 320>("route"),
        field<&LidRoutedSmp::data, 512>("data"), field<&LidRoutedSmp::reserved, 1024>("reserved"));
};

// The common header as a directed-route SMP uses it: the status gives its first bit away, the
// class-specific half word is the place on the path.
struct DirectedMadHeader {
    static constexpr size_t kSize = 24;
    uint8_t base_version = 0;
    Bits8 management_class;
    uint8_t class_version = 0;
    Bits8 method;
    bool returning = false;  // bit D: on the way back
    Bits16 status;
    uint8_t hop_pointer = 0;
    uint8_t hop_count = 0;
    Key64 transaction_id;
    Bits16 attribute_id;
    Bits16 reserved;
    Bits32 attribute_modifier;
    static constexpr auto kFields =
        fields(field<&DirectedMadHeader::base_version, 8>("base_version"),
               field<&DirectedMadHeader::management_class, 8>("management_class"),
               field<&DirectedMadHeader::class_version, 8>("class_version"),
               field<&DirectedMadHeader::method, 8>("method"),
               field<&DirectedMadHeader::returning, 1>("returning"),
               field<&DirectedMadHeader::status, 15>("status"),
               field<&DirectedMadHeader::hop_pointer, 8>("hop_pointer"),
               field<&DirectedMadHeader::hop_count, 8>("hop_count"),
               field<&DirectedMadHeader::transaction_id, 64>("transaction_id"),
               field<&DirectedMadHeader::attribute_id, 16>("attribute_id"),
               field<&DirectedMadHeader::reserved, 16>("reserved"),
               field<&DirectedMadHeader::attribute_modifier, 32>("attribute_modifier"));
};

// Bytes 24 to 63 of a directed-route SMP.
struct DirectedRouteHeader {
    static constexpr size_t kSize = 40;
    Key64 m_key;
    Lid dr_slid;  // permissive: directed from the requester on
    Lid dr_dlid;  // permissive: directed to the end
    std::array<uint8_t, 28> reserved{};
    static constexpr auto kFields = fields(field<&DirectedRouteHeader::m_key, 64>("m_key"),
                                           field<&DirectedRouteHeader::dr_slid, 16>("dr_slid"),
                                           field<&DirectedRouteHeader::dr_dlid, 16>("dr_dlid"),
                                           field<&DirectedRouteHeader::reserved, 224>("reserved"));
};

// Bytes 128 to 255 of a directed-route SMP.
struct DirectedRoutePaths {
    static constexpr size_t kSize = 128;
    std::array<uint8_t, 64> initial_path{};  // [1] to [hop_count]: the ports to leave by
    std::array<uint8_t, 64> return_path{};   // [1] to [hop_count]: the ports that it came in by
    static constexpr auto kFields =
        fields(field<&DirectedRoutePaths::initial_path, 512>("initial_path"),
               field<&DirectedRoutePaths::return_path, 512>("return_path"));
};

struct DirectedSmp {
    static constexpr size_t kSize = 256;
    DirectedMadHeader header;
    DirectedRouteHeader route;
    std::array<uint8_t, 64> data{};
    DirectedRoutePaths paths;
    static constexpr auto kFields =
        fields(field<&DirectedSmp::header, 192>("header"), field<&DirectedSmp::route, 320>("route"),
               field<&DirectedSmp::data, 512>("data"), field<&DirectedSmp::paths, 1024>("paths"));
};

}  // namespace tulle::wire
