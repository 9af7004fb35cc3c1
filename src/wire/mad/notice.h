// Notices (IBTA vol 1, 13.4.8.2): an event that a port reports, as a Trap to the subnet manager or
// as a Report to those who subscribed. The 54 bytes of details depend on the trap's number; the
// traps of subnet management are in 14.2.5.1, those numbered 64 to 67 come from the subnet manager
// itself. In a trap of subnet management the issuer's GID does not fit and is left out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/ids.h"
#include "wire/layout.h"

namespace tulle::wire {

enum NoticeType : uint8_t {
    kNoticeFatal = 0,
    kNoticeUrgent = 1,
    kNoticeSecurity = 2,
    kNoticeSubnetManagement = 3,
    kNoticeInformational = 4,
    kNoticeEmpty = 0x7f,
};

enum TrapNumber : uint16_t {
    kTrapInService = 64,
    kTrapOutOfService = 65,
    kTrapMulticastGroupCreated = 66,
    kTrapMulticastGroupDeleted = 67,
    kTrapLinkStateChanged = 128,
    kTrapLinkIntegrity = 129,
    kTrapBufferOverrun = 130,
    kTrapFlowControlWatchdog = 131,
    kTrapCapabilityChanged = 144,
    kTrapSystemImageGuidChanged = 145,
    kTrapBadMKey = 256,
    kTrapBadPKey = 257,
    kTrapBadQKey = 258,
    kTrapSwitchBadPKey = 259,
};

struct Notice {
    static constexpr size_t kSize = 64;
    bool is_generic = false;
    uint8_t type = 0;
    uint32_t producer_type = 0;  // a NodeType; the vendor's OUI if not generic
    uint16_t trap_number = 0;    // the device's identifier if not generic
    Lid issuer_lid;
    bool toggle = false;
    uint16_t count = 0;
    std::array<uint8_t, 54> details{};
    static constexpr auto kFields =
        fields(field<&Notice::is_generic, 1>("is_generic"), field<&Notice::type, 7>("type"),
               field<&Notice::producer_type, 24>("producer_type"),
               field<&Notice::trap_number, 16>("trap_number"),
               field<&Notice::issuer_lid, 16>("issuer_lid"), field<&Notice::toggle, 1>("toggle"),
               field<&Notice::count, 15>("count"), field<&Notice::details, 432>("details"));
};

// A notice where there is room for who issued it: all classes but subnet management.
struct ForwardedNotice {
    static constexpr size_t kSize = 80;
    Notice notice;
    Gid issuer_gid;
    static constexpr auto kFields = fields(field<&ForwardedNotice::notice, 512>("notice"),
                                           field<&ForwardedNotice::issuer_gid, 128>("issuer_gid"));
};

// Traps 64 to 67.
struct TrapGid {
    static constexpr size_t kSize = 54;
    std::array<uint8_t, 6> reserved{};
    Gid gid;  // the port, or the multicast group
    std::array<uint8_t, 32> padding{};
    static constexpr auto kFields =
        fields(field<&TrapGid::reserved, 48>("reserved"), field<&TrapGid::gid, 128>("gid"),
               field<&TrapGid::padding, 256>("padding"));
};

// Trap 128.
struct TrapLinkState {
    static constexpr size_t kSize = 54;
    Lid lid;  // the switch
    std::array<uint8_t, 52> padding{};
    static constexpr auto kFields = fields(field<&TrapLinkState::lid, 16>("lid"),
                                           field<&TrapLinkState::padding, 416>("padding"));
};

// Traps 129 to 131.
struct TrapPort {
    static constexpr size_t kSize = 54;
    Bits16 reserved;
    Lid lid;
    uint8_t port = 0;
    std::array<uint8_t, 49> padding{};
    static constexpr auto kFields =
        fields(field<&TrapPort::reserved, 16>("reserved"), field<&TrapPort::lid, 16>("lid"),
               field<&TrapPort::port, 8>("port"), field<&TrapPort::padding, 392>("padding"));
};

// Trap 144.
struct TrapCapability {
    static constexpr size_t kSize = 54;
    Bits16 reserved;
    Lid lid;
    Bits16 reserved2;
    bool other_local_changes = false;  // the change flags below are meant
    Bits32 capability_mask;
    Bits16 reserved3;
    bool capability_mask2_changed = false;
    bool hierarchy_info_changed = false;
    bool sm_priority_changed = false;
    bool link_speed_enabled_changed = false;
    bool link_width_enabled_changed = false;
    bool node_description_changed = false;
    Bits16 capability_mask2;
    std::array<uint8_t, 40> padding{};
    static constexpr auto kFields = fields(
        field<&TrapCapability::reserved, 16>("reserved"), field<&TrapCapability::lid, 16>("lid"),
        field<&TrapCapability::reserved2, 15>("reserved2"),
        field<&TrapCapability::other_local_changes, 1>("other_local_changes"),
        field<&TrapCapability::capability_mask, 32>("capability_mask"),
        field<&TrapCapability::reserved3, 10>("reserved3"),
        field<&TrapCapability::capability_mask2_changed, 1>("capability_mask2_changed"),
        field<&TrapCapability::hierarchy_info_changed, 1>("hierarchy_info_changed"),
        field<&TrapCapability::sm_priority_changed, 1>("sm_priority_changed"),
        field<&TrapCapability::link_speed_enabled_changed, 1>("link_speed_enabled_changed"),
        field<&TrapCapability::link_width_enabled_changed, 1>("link_width_enabled_changed"),
        field<&TrapCapability::node_description_changed, 1>("node_description_changed"),
        field<&TrapCapability::capability_mask2, 16>("capability_mask2"),
        field<&TrapCapability::padding, 320>("padding"));
};

// Trap 145.
struct TrapSystemImageGuid {
    static constexpr size_t kSize = 54;
    Bits16 reserved;
    Lid lid;
    Bits16 reserved2;
    Guid system_image_guid;
    std::array<uint8_t, 40> padding{};
    static constexpr auto kFields =
        fields(field<&TrapSystemImageGuid::reserved, 16>("reserved"),
               field<&TrapSystemImageGuid::lid, 16>("lid"),
               field<&TrapSystemImageGuid::reserved2, 16>("reserved2"),
               field<&TrapSystemImageGuid::system_image_guid, 64>("system_image_guid"),
               field<&TrapSystemImageGuid::padding, 320>("padding"));
};

// Trap 256.
struct TrapMKey {
    static constexpr size_t kSize = 54;
    Bits16 reserved;
    Lid lid;
    Lid dr_slid;
    Bits8 method;
    Bits8 reserved2;
    Bits16 attribute_id;
    Bits32 attribute_modifier;
    Key64 m_key;
    Bits8 reserved3;
    bool directed_route = false;
    bool path_truncated = false;
    uint8_t hop_count = 0;
    std::array<uint8_t, 30> return_path{};
    static constexpr auto kFields =
        fields(field<&TrapMKey::reserved, 16>("reserved"), field<&TrapMKey::lid, 16>("lid"),
               field<&TrapMKey::dr_slid, 16>("dr_slid"), field<&TrapMKey::method, 8>("method"),
               field<&TrapMKey::reserved2, 8>("reserved2"),
               field<&TrapMKey::attribute_id, 16>("attribute_id"),
               field<&TrapMKey::attribute_modifier, 32>("attribute_modifier"),
               field<&TrapMKey::m_key, 64>("m_key"), field<&TrapMKey::reserved3, 8>("reserved3"),
               field<&TrapMKey::directed_route, 1>("directed_route"),
               field<&TrapMKey::path_truncated, 1>("path_truncated"),
               field<&TrapMKey::hop_count, 6>("hop_count"),
               field<&TrapMKey::return_path, 240>("return_path"));
};

// Traps 257 and 258.
struct TrapKey {
    static constexpr size_t kSize = 54;
    Bits16 reserved;
    Lid lid1;
    Lid lid2;
    Bits32 key;  // trap 257: the P_Key is in the low 16 bits
    uint8_t service_level = 0;
    Bits8 reserved2;
    Qpn qp1;
    Bits8 reserved3;
    Qpn qp2;
    Gid gid1;
    Gid gid2;
    std::array<uint8_t, 4> padding{};
    static constexpr auto kFields =
        fields(field<&TrapKey::reserved, 16>("reserved"), field<&TrapKey::lid1, 16>("lid1"),
               field<&TrapKey::lid2, 16>("lid2"), field<&TrapKey::key, 32>("key"),
               field<&TrapKey::service_level, 4>("service_level"),
               field<&TrapKey::reserved2, 4>("reserved2"), field<&TrapKey::qp1, 24>("qp1"),
               field<&TrapKey::reserved3, 8>("reserved3"), field<&TrapKey::qp2, 24>("qp2"),
               field<&TrapKey::gid1, 128>("gid1"), field<&TrapKey::gid2, 128>("gid2"),
               field<&TrapKey::padding, 32>("padding"));
};

// Trap 259.
struct TrapSwitchPKey {
    static constexpr size_t kSize = 54;
    Bits16 data_valid;  // which of the fields below are
    Lid lid1;
    Lid lid2;
    PKey pkey;
    uint8_t service_level = 0;
    Bits8 reserved;
    Qpn qp1;
    Bits8 reserved2;
    Qpn qp2;
    Gid gid1;
    Gid gid2;
    Lid switch_lid;
    uint8_t port = 0;
    std::array<uint8_t, 3> padding{};
    static constexpr auto kFields = fields(
        field<&TrapSwitchPKey::data_valid, 16>("data_valid"),
        field<&TrapSwitchPKey::lid1, 16>("lid1"), field<&TrapSwitchPKey::lid2, 16>("lid2"),
        field<&TrapSwitchPKey::pkey, 16>("pkey"),
        field<&TrapSwitchPKey::service_level, 4>("service_level"),
        field<&TrapSwitchPKey::reserved, 4>("reserved"), field<&TrapSwitchPKey::qp1, 24>("qp1"),
        field<&TrapSwitchPKey::reserved2, 8>("reserved2"), field<&TrapSwitchPKey::qp2, 24>("qp2"),
        field<&TrapSwitchPKey::gid1, 128>("gid1"), field<&TrapSwitchPKey::gid2, 128>("gid2"),
        field<&TrapSwitchPKey::switch_lid, 16>("switch_lid"),
        field<&TrapSwitchPKey::port, 8>("port"), field<&TrapSwitchPKey::padding, 24>("padding"));
};

}  // namespace tulle::wire
