// PortInfo (IBTA vol 1, 14.2.5.6): all that a subnet manager reads and sets of one port. Widths and
// speeds come as a mask of what is supported, a mask of what is enabled and one active value; each
// time the masks were full, a new set of fields was put where there were reserved bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/ids.h"
#include "wire/layout.h"

namespace tulle::wire {

enum PortState : uint8_t {
    kPortNoChange = 0,  // in a Set
    kPortDown = 1,
    kPortInitialize = 2,
    kPortArmed = 3,
    kPortActive = 4,
};

enum PhysicalState : uint8_t {
    kPhysicalNoChange = 0,
    kPhysicalSleep = 1,
    kPhysicalPolling = 2,
    kPhysicalDisabled = 3,
    kPhysicalTraining = 4,
    kPhysicalLinkUp = 5,
    kPhysicalErrorRecovery = 6,
    kPhysicalTest = 7,
};

// Bits of the width masks; an active width has one of them.
enum LinkWidth : uint8_t { kWidth1x = 1, kWidth4x = 2, kWidth8x = 4, kWidth12x = 8, kWidth2x = 16 };

// Bits of the link_speed masks, of the link_speed_ext masks and of the link_speed_ext2 masks.
enum LinkSpeed : uint8_t { kSpeedSdr = 1, kSpeedDdr = 2, kSpeedQdr = 4 };
enum LinkSpeedExtended : uint8_t { kSpeedFdr = 1, kSpeedEdr = 2, kSpeedHdr = 4, kSpeedNdr = 8 };
enum LinkSpeedExtended2 : uint8_t { kSpeedXdr = 1 };

enum MtuCode : uint8_t { kMtu256 = 1, kMtu512 = 2, kMtu1024 = 3, kMtu2048 = 4, kMtu4096 = 5 };

// VLCap and OperationalVLs: VL 0 alone, VL 0 and 1, to 3, to 7, to 14.
enum VlCode : uint8_t { kVl0 = 1, kVl0To1 = 2, kVl0To3 = 3, kVl0To7 = 4, kVl0To14 = 5 };

enum PortCapability : uint32_t {
    kPortIsSm = 1u << 1,
    kPortHasNotice = 1u << 2,
    kPortHasTrap = 1u << 3,
    kPortHasOptionalIpd = 1u << 4,
    kPortHasAutomaticMigration = 1u << 5,
    kPortHasSlMapping = 1u << 6,
    kPortHasMKeyNvram = 1u << 7,
    kPortHasPKeyNvram = 1u << 8,
    kPortHasLedInfo = 1u << 9,
    kPortSmDisabled = 1u << 10,
    kPortHasSystemImageGuid = 1u << 11,
    kPortHasPKeySwitchTrap = 1u << 12,
    kPortHasCableInfo = 1u << 13,
    kPortHasExtendedSpeeds = 1u << 14,
    kPortHasCapabilityMask2 = 1u << 15,
    kPortHasCommunicationManagement = 1u << 16,
    kPortHasSnmpTunneling = 1u << 17,
    kPortHasReinit = 1u << 18,
    kPortHasDeviceManagement = 1u << 19,
    kPortHasVendorClass = 1u << 20,
    kPortHasDirectedRouteNotice = 1u << 21,
    kPortHasCapabilityMaskNotice = 1u << 22,
    kPortHasBootManagement = 1u << 23,
    kPortHasRoundTripLatency = 1u << 24,
    kPortHasClientReregistration = 1u << 25,
    kPortHasOtherLocalChangesNotice = 1u << 26,
    kPortHasLinkSpeedWidthPairs = 1u << 27,
    kPortHasVendorMads = 1u << 28,
    kPortHasMulticastPKeyTrapSuppression = 1u << 29,
    kPortHasMulticastFdbTop = 1u << 30,
    kPortHasHierarchyInfo = 1u << 31,
};

enum PortCapability2 : uint16_t {
    kPortHasSetNodeDescription = 1u << 0,
    kPortHasInfoExtended = 1u << 1,
    kPortHasVirtualization = 1u << 2,
    kPortHasSwitchPortStateTable = 1u << 3,
    kPortHasWidth2x = 1u << 4,
    kPortHasSpeedHdr = 1u << 5,
    kPortHasSpeedNdr = 1u << 10,
    kPortHasExtendedSpeeds2 = 1u << 11,
    kPortHasSpeedXdr = 1u << 12,
};

struct PortInfo {
    static constexpr size_t kSize = 64;
    Key64 m_key;
    Key64 gid_prefix;
    Lid lid;
    Lid master_sm_lid;
    Bits32 capability_mask;
    Bits16 diag_code;
    uint16_t m_key_lease_period = 0;  // seconds; 0: for ever
    uint8_t local_port = 0;
    Bits8 link_width_enabled;
    Bits8 link_width_supported;
    Bits8 link_width_active;
    Bits8 link_speed_supported;
    uint8_t port_state = 0;
    uint8_t physical_state = 0;
    uint8_t link_down_default_state = 0;  // 1: sleep, 2: polling
    uint8_t m_key_protect_bits = 0;
    Bits8 reserved;
    uint8_t lmc = 0;
    Bits8 link_speed_active;
    Bits8 link_speed_enabled;
    uint8_t neighbor_mtu = 0;
    uint8_t master_sm_sl = 0;
    uint8_t vl_capability = 0;
    Bits8 init_type;
    uint8_t vl_high_limit = 0;
    uint8_t vl_arbitration_high_capacity = 0;
    uint8_t vl_arbitration_low_capacity = 0;
    Bits8 init_type_reply;
    uint8_t mtu_capability = 0;
    uint8_t vl_stall_count = 0;
    uint8_t head_of_queue_life = 0;  // 4.096 us * 2^n; above 19: for ever
    uint8_t operational_vls = 0;
    bool inbound_enforcement = false;
    bool outbound_enforcement = false;
    bool filter_raw_inbound = false;
    bool filter_raw_outbound = false;
    uint16_t m_key_violations = 0;
    uint16_t p_key_violations = 0;
    uint16_t q_key_violations = 0;
    uint8_t guid_capacity = 0;  // in entries of GuidInfo
    bool client_reregister = false;
    uint8_t multicast_pkey_trap_suppression = 0;
    uint8_t subnet_timeout = 0;  // 4.096 us * 2^n
    Bits8 reserved2;
    uint8_t response_time = 0;  // 4.096 us * 2^n
    uint8_t local_phy_errors = 0;
    uint8_t overrun_errors = 0;
    uint16_t max_credit_hint = 0;
    Bits8 reserved3;
    Bits8 link_speed_ext2_active;
    Bits8 link_speed_ext2_supported;
    Bits8 link_speed_ext2_enabled;
    uint32_t round_trip_latency = 0;  // in units of 4 ns
    Bits16 capability_mask2;
    Bits8 link_speed_ext_active;
    Bits8 link_speed_ext_supported;
    Bits8 reserved4;
    Bits8 link_speed_ext_enabled;
    static constexpr auto kFields = fields(
        field<&PortInfo::m_key, 64>("m_key"), field<&PortInfo::gid_prefix, 64>("gid_prefix"),
        field<&PortInfo::lid, 16>("lid"), field<&PortInfo::master_sm_lid, 16>("master_sm_lid"),
        field<&PortInfo::capability_mask, 32>("capability_mask"),
        field<&PortInfo::diag_code, 16>("diag_code"),
        field<&PortInfo::m_key_lease_period, 16>("m_key_lease_period"),
        field<&PortInfo::local_port, 8>("local_port"),
        field<&PortInfo::link_width_enabled, 8>("link_width_enabled"),
        field<&PortInfo::link_width_supported, 8>("link_width_supported"),
        field<&PortInfo::link_width_active, 8>("link_width_active"),
        field<&PortInfo::link_speed_supported, 4>("link_speed_supported"),
        field<&PortInfo::port_state, 4>("port_state"),
        field<&PortInfo::physical_state, 4>("physical_state"),
        field<&PortInfo::link_down_default_state, 4>("link_down_default_state"),
        field<&PortInfo::m_key_protect_bits, 2>("m_key_protect_bits"),
        field<&PortInfo::reserved, 3>("reserved"), field<&PortInfo::lmc, 3>("lmc"),
        field<&PortInfo::link_speed_active, 4>("link_speed_active"),
        field<&PortInfo::link_speed_enabled, 4>("link_speed_enabled"),
        field<&PortInfo::neighbor_mtu, 4>("neighbor_mtu"),
        field<&PortInfo::master_sm_sl, 4>("master_sm_sl"),
        field<&PortInfo::vl_capability, 4>("vl_capability"),
        field<&PortInfo::init_type, 4>("init_type"),
        field<&PortInfo::vl_high_limit, 8>("vl_high_limit"),
        field<&PortInfo::vl_arbitration_high_capacity, 8>("vl_arbitration_high_capacity"),
        field<&PortInfo::vl_arbitration_low_capacity, 8>("vl_arbitration_low_capacity"),
        field<&PortInfo::init_type_reply, 4>("init_type_reply"),
        field<&PortInfo::mtu_capability, 4>("mtu_capability"),
        field<&PortInfo::vl_stall_count, 3>("vl_stall_count"),
        field<&PortInfo::head_of_queue_life, 5>("head_of_queue_life"),
        field<&PortInfo::operational_vls, 4>("operational_vls"),
        field<&PortInfo::inbound_enforcement, 1>("inbound_enforcement"),
        field<&PortInfo::outbound_enforcement, 1>("outbound_enforcement"),
        field<&PortInfo::filter_raw_inbound, 1>("filter_raw_inbound"),
        field<&PortInfo::filter_raw_outbound, 1>("filter_raw_outbound"),
        field<&PortInfo::m_key_violations, 16>("m_key_violations"),
        field<&PortInfo::p_key_violations, 16>("p_key_violations"),
        field<&PortInfo::q_key_violations, 16>("q_key_violations"),
        field<&PortInfo::guid_capacity, 8>("guid_capacity"),
        field<&PortInfo::client_reregister, 1>("client_reregister"),
        field<&PortInfo::multicast_pkey_trap_suppression, 2>("multicast_pkey_trap_suppression"),
        field<&PortInfo::subnet_timeout, 5>("subnet_timeout"),
        field<&PortInfo::reserved2, 3>("reserved2"),
        field<&PortInfo::response_time, 5>("response_time"),
        field<&PortInfo::local_phy_errors, 4>("local_phy_errors"),
        field<&PortInfo::overrun_errors, 4>("overrun_errors"),
        field<&PortInfo::max_credit_hint, 16>("max_credit_hint"),
        field<&PortInfo::reserved3, 1>("reserved3"),
        field<&PortInfo::link_speed_ext2_active, 2>("link_speed_ext2_active"),
        field<&PortInfo::link_speed_ext2_supported, 2>("link_speed_ext2_supported"),
        field<&PortInfo::link_speed_ext2_enabled, 3>("link_speed_ext2_enabled"),
        field<&PortInfo::round_trip_latency, 24>("round_trip_latency"),
        field<&PortInfo::capability_mask2, 16>("capability_mask2"),
        field<&PortInfo::link_speed_ext_active, 4>("link_speed_ext_active"),
        field<&PortInfo::link_speed_ext_supported, 4>("link_speed_ext_supported"),
        field<&PortInfo::reserved4, 3>("reserved4"),
        field<&PortInfo::link_speed_ext_enabled, 5>("link_speed_ext_enabled"));
};

// Forward error correction by speed (14.2.5.19): masks of modes.
struct PortInfoExtended {
    static constexpr size_t kSize = 64;
    Bits32 capability_mask;
    uint16_t fec_mode_active = 0;
    Bits16 fdr_fec_mode_supported;
    Bits16 fdr_fec_mode_enabled;
    Bits16 edr_fec_mode_supported;
    Bits16 edr_fec_mode_enabled;
    Bits16 hdr_fec_mode_supported;
    Bits16 hdr_fec_mode_enabled;
    Bits16 ndr_fec_mode_supported;
    Bits16 ndr_fec_mode_enabled;
    std::array<uint8_t, 42> reserved{};
    static constexpr auto kFields =
        fields(field<&PortInfoExtended::capability_mask, 32>("capability_mask"),
               field<&PortInfoExtended::fec_mode_active, 16>("fec_mode_active"),
               field<&PortInfoExtended::fdr_fec_mode_supported, 16>("fdr_fec_mode_supported"),
               field<&PortInfoExtended::fdr_fec_mode_enabled, 16>("fdr_fec_mode_enabled"),
               field<&PortInfoExtended::edr_fec_mode_supported, 16>("edr_fec_mode_supported"),
               field<&PortInfoExtended::edr_fec_mode_enabled, 16>("edr_fec_mode_enabled"),
               field<&PortInfoExtended::hdr_fec_mode_supported, 16>("hdr_fec_mode_supported"),
               field<&PortInfoExtended::hdr_fec_mode_enabled, 16>("hdr_fec_mode_enabled"),
               field<&PortInfoExtended::ndr_fec_mode_supported, 16>("ndr_fec_mode_supported"),
               field<&PortInfoExtended::ndr_fec_mode_enabled, 16>("ndr_fec_mode_enabled"),
               field<&PortInfoExtended::reserved, 336>("reserved"));
};

}  // namespace tulle::wire
