// What a node says of itself (IBTA vol 1, 14.2.5): its description, kind, identifiers, and, for a
// switch, its tables' sizes; and the state of a subnet manager.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/ids.h"
#include "wire/layout.h"

namespace tulle::wire {

enum NodeType : uint8_t { kNodeChannelAdapter = 1, kNodeSwitch = 2, kNodeRouter = 3 };

enum SmState : uint8_t {
    kSmNotActive = 0,
    kSmDiscovering = 1,
    kSmStandby = 2,
    kSmMaster = 3,
};

// The attribute modifier of Set(SMInfo) says what one manager asks of another (14.4.1).
enum SmInfoControl : uint32_t {
    kSmHandover = 1,
    kSmAcknowledge = 2,
    kSmDisable = 3,
    kSmStandbyRequest = 4,
    kSmDiscover = 5,
};

struct NodeDescription {
    static constexpr size_t kSize = 64;
    std::array<char, 64> text{};  // UTF-8, ended by a zero if shorter
    static constexpr auto kFields = fields(field<&NodeDescription::text, 512>("text"));
};

struct NodeInfo {
    static constexpr size_t kSize = 40;
    uint8_t base_version = 0;
    uint8_t class_version = 0;
    uint8_t node_type = 0;
    uint8_t port_count = 0;
    Guid system_image_guid;
    Guid node_guid;
    Guid port_guid;  // of the port that answers; a switch: of its port 0
    uint16_t partition_capacity = 0;
    Bits16 device_id;
    Bits32 revision;
    uint8_t local_port = 0;
    Bits32 vendor_id;
    static constexpr auto kFields = fields(
        field<&NodeInfo::base_version, 8>("base_version"),
        field<&NodeInfo::class_version, 8>("class_version"),
        field<&NodeInfo::node_type, 8>("node_type"), field<&NodeInfo::port_count, 8>("port_count"),
        field<&NodeInfo::system_image_guid, 64>("system_image_guid"),
        field<&NodeInfo::node_guid, 64>("node_guid"), field<&NodeInfo::port_guid, 64>("port_guid"),
        field<&NodeInfo::partition_capacity, 16>("partition_capacity"),
        field<&NodeInfo::device_id, 16>("device_id"), field<&NodeInfo::revision, 32>("revision"),
        field<&NodeInfo::local_port, 8>("local_port"),
        field<&NodeInfo::vendor_id, 24>("vendor_id"));
};

struct SwitchInfo {
    static constexpr size_t kSize = 20;
    uint16_t linear_capacity = 0;
    uint16_t random_capacity = 0;
    uint16_t multicast_capacity = 0;
    uint16_t linear_top = 0;
    uint8_t default_port = 0;
    uint8_t default_multicast_primary_port = 0;
    uint8_t default_multicast_other_port = 0;
    uint8_t life_time = 0;  // 4.096 us * 2^n; above 19: for ever
    bool port_state_change = false;
    uint8_t optimized_sl_to_vl = 0;
    uint16_t lids_per_port = 0;
    uint16_t partition_enforcement_capacity = 0;
    bool inbound_enforcement = false;
    bool outbound_enforcement = false;
    bool filter_raw_inbound = false;
    bool filter_raw_outbound = false;
    bool enhanced_port0 = false;
    Bits8 reserved;
    Bits8 reserved2;
    Bits16 multicast_top;  // the highest multicast LID in the table
    static constexpr auto kFields = fields(
        field<&SwitchInfo::linear_capacity, 16>("linear_capacity"),
        field<&SwitchInfo::random_capacity, 16>("random_capacity"),
        field<&SwitchInfo::multicast_capacity, 16>("multicast_capacity"),
        field<&SwitchInfo::linear_top, 16>("linear_top"),
        field<&SwitchInfo::default_port, 8>("default_port"),
        field<&SwitchInfo::default_multicast_primary_port, 8>("default_multicast_primary_port"),
        field<&SwitchInfo::default_multicast_other_port, 8>("default_multicast_other_port"),
        field<&SwitchInfo::life_time, 5>("life_time"),
        field<&SwitchInfo::port_state_change, 1>("port_state_change"),
        field<&SwitchInfo::optimized_sl_to_vl, 2>("optimized_sl_to_vl"),
        field<&SwitchInfo::lids_per_port, 16>("lids_per_port"),
        field<&SwitchInfo::partition_enforcement_capacity, 16>("partition_enforcement_capacity"),
        field<&SwitchInfo::inbound_enforcement, 1>("inbound_enforcement"),
        field<&SwitchInfo::outbound_enforcement, 1>("outbound_enforcement"),
        field<&SwitchInfo::filter_raw_inbound, 1>("filter_raw_inbound"),
        field<&SwitchInfo::filter_raw_outbound, 1>("filter_raw_outbound"),
        field<&SwitchInfo::enhanced_port0, 1>("enhanced_port0"),
        field<&SwitchInfo::reserved, 3>("reserved"), field<&SwitchInfo::reserved2, 8>("reserved2"),
        field<&SwitchInfo::multicast_top, 16>("multicast_top"));
};

// Block n, by the attribute modifier, holds the GUIDs 8n to 8n + 7 of the port.
struct GuidInfo {
    static constexpr size_t kSize = 64;
    std::array<Guid, 8> guids{};
    static constexpr auto kFields = fields(field<&GuidInfo::guids, 512>("guids"));
};

struct SmInfo {
    static constexpr size_t kSize = 21;
    Guid guid;  // of the manager's port
    Key64 sm_key;
    uint32_t activity_count = 0;
    uint8_t priority = 0;
    uint8_t state = 0;
    static constexpr auto kFields =
        fields(field<&SmInfo::guid, 64>("guid"), field<&SmInfo::sm_key, 64>("sm_key"),
               field<&SmInfo::activity_count, 32>("activity_count"),
               field<&SmInfo::priority, 4>("priority"), field<&SmInfo::state, 4>("state"));
};

struct VendorDiag {
    static constexpr size_t kSize = 64;
    uint16_t next_index = 0;
    std::array<uint8_t, 62> data{};
    static constexpr auto kFields = fields(field<&VendorDiag::next_index, 16>("next_index"),
                                           field<&VendorDiag::data, 496>("data"));
};

struct LedInfo {
    static constexpr size_t kSize = 4;
    bool led_on = false;
    Bits32 reserved;
    static constexpr auto kFields =
        fields(field<&LedInfo::led_on, 1>("led_on"), field<&LedInfo::reserved, 31>("reserved"));
};

}  // namespace tulle::wire
