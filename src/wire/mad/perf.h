// Performance management (IBTA vol 1, 16.1, and annex A13 for what is counted by VL and SL): the
// counters of a port, in the 192 bytes from byte 64 on. Get reads them; Set clears those that
// counter_select names. The small counters of PortCounters stick at their highest value, which is
// why PortCountersExtended came. Data counters are in units of four bytes.
#pragma once

#include "wire/mad/mad.h"

namespace tulle::wire {

inline constexpr size_t kPerfDataOffset = 64;
inline constexpr size_t kPerfDataSize = 192;
inline constexpr uint8_t kAllPorts = 0xff;  // port_select: the sum over all ports

enum PerfAttribute : uint16_t {
    kPerfClassPortInfo = kAttributeClassPortInfo,
    kPerfPortSamplesControl = 0x0010,
    kPerfPortSamplesResult = 0x0011,
    kPerfPortCounters = 0x0012,
    kPerfPortRcvErrorDetails = 0x0015,
    kPerfPortXmitDiscardDetails = 0x0016,
    kPerfPortOpRcvCounters = 0x0017,
    kPerfPortFlowCtlCounters = 0x0018,
    kPerfPortVlOpPackets = 0x0019,
    kPerfPortVlOpData = 0x001a,
    kPerfPortVlXmitFlowCtlUpdateErrors = 0x001b,
    kPerfPortVlXmitWaitCounters = 0x001c,
    kPerfPortCountersExtended = 0x001d,
    kPerfPortExtendedSpeedsCounters = 0x001f,
    kPerfSwPortVlCongestion = 0x0030,
    kPerfPortRcvConCtrl = 0x0031,
    kPerfPortSlRcvFecn = 0x0032,
    kPerfPortSlRcvBecn = 0x0033,
    kPerfPortXmitConCtrl = 0x0034,
    kPerfPortVlXmitTimeCong = 0x0035,
    kPerfPortXmitDataSl = 0x0036,
    kPerfPortRcvDataSl = 0x0037,
};

// Bits of the class's ClassPortInfo capability_mask.
enum PerfCapability : uint16_t {
    kPerfAllPortSelect = 1u << 8,
    kPerfExtendedWidth = 1u << 9,
    kPerfExtendedWidthNoIetf = 1u << 10,
    kPerfSamplesOnly = 1u << 11,
    kPerfXmitWait = 1u << 12,
};

struct PerfMad {
    static constexpr size_t kSize = 256;
    MadHeader header;
    std::array<uint8_t, 40> reserved{};
    std::array<uint8_t, 192> data{};
    static constexpr auto kFields =
        fields(field<&PerfMad::header, 192>("header"), field<&PerfMad::reserved, 320>("reserved"),
               field<&PerfMad::data, 1536>("data"));
};

struct PortCounters {
    static constexpr size_t kSize = 44;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    uint16_t symbol_errors = 0;
    uint8_t link_error_recoveries = 0;
    uint8_t link_downed = 0;
    uint16_t rcv_errors = 0;
    uint16_t rcv_remote_physical_errors = 0;
    uint16_t rcv_switch_relay_errors = 0;
    uint16_t xmit_discards = 0;
    uint8_t xmit_constraint_errors = 0;
    uint8_t rcv_constraint_errors = 0;
    Bits8 counter_select2;  // bit 0: xmit_wait
    uint8_t local_link_integrity_errors = 0;
    uint8_t excessive_buffer_overruns = 0;
    uint16_t qp1_dropped = 0;
    uint16_t vl15_dropped = 0;
    uint32_t xmit_data = 0;
    uint32_t rcv_data = 0;
    uint32_t xmit_packets = 0;
    uint32_t rcv_packets = 0;
    uint32_t xmit_wait = 0;  // ticks with data to send and no credits
    static constexpr auto kFields =
        fields(field<&PortCounters::reserved, 8>("reserved"),
               field<&PortCounters::port_select, 8>("port_select"),
               field<&PortCounters::counter_select, 16>("counter_select"),
               field<&PortCounters::symbol_errors, 16>("symbol_errors"),
               field<&PortCounters::link_error_recoveries, 8>("link_error_recoveries"),
               field<&PortCounters::link_downed, 8>("link_downed"),
               field<&PortCounters::rcv_errors, 16>("rcv_errors"),
               field<&PortCounters::rcv_remote_physical_errors, 16>("rcv_remote_physical_errors"),
               field<&PortCounters::rcv_switch_relay_errors, 16>("rcv_switch_relay_errors"),
               field<&PortCounters::xmit_discards, 16>("xmit_discards"),
               field<&PortCounters::xmit_constraint_errors, 8>("xmit_constraint_errors"),
               field<&PortCounters::rcv_constraint_errors, 8>("rcv_constraint_errors"),
               field<&PortCounters::counter_select2, 8>("counter_select2"),
               field<&PortCounters::local_link_integrity_errors, 4>("local_link_integrity_errors"),
               field<&PortCounters::excessive_buffer_overruns, 4>("excessive_buffer_overruns"),
               field<&PortCounters::qp1_dropped, 16>("qp1_dropped"),
               field<&PortCounters::vl15_dropped, 16>("vl15_dropped"),
               field<&PortCounters::xmit_data, 32>("xmit_data"),
               field<&PortCounters::rcv_data, 32>("rcv_data"),
               field<&PortCounters::xmit_packets, 32>("xmit_packets"),
               field<&PortCounters::rcv_packets, 32>("rcv_packets"),
               field<&PortCounters::xmit_wait, 32>("xmit_wait"));
};

struct PortCountersExtended {
    static constexpr size_t kSize = 184;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    Bits32 counter_select2;
    uint64_t xmit_data = 0;
    uint64_t rcv_data = 0;
    uint64_t xmit_packets = 0;
    uint64_t rcv_packets = 0;
    uint64_t unicast_xmit_packets = 0;
    uint64_t unicast_rcv_packets = 0;
    uint64_t multicast_xmit_packets = 0;
    uint64_t multicast_rcv_packets = 0;
    uint64_t symbol_errors = 0;
    uint64_t link_error_recoveries = 0;
    uint64_t link_downed = 0;
    uint64_t rcv_errors = 0;
    uint64_t rcv_remote_physical_errors = 0;
    uint64_t rcv_switch_relay_errors = 0;
    uint64_t xmit_discards = 0;
    uint64_t xmit_constraint_errors = 0;
    uint64_t rcv_constraint_errors = 0;
    uint64_t local_link_integrity_errors = 0;
    uint64_t excessive_buffer_overruns = 0;
    uint64_t vl15_dropped = 0;
    uint64_t xmit_wait = 0;
    uint64_t qp1_dropped = 0;
    static constexpr auto kFields = fields(
        field<&PortCountersExtended::reserved, 8>("reserved"),
        field<&PortCountersExtended::port_select, 8>("port_select"),
        field<&PortCountersExtended::counter_select, 16>("counter_select"),
        field<&PortCountersExtended::counter_select2, 32>("counter_select2"),
        field<&PortCountersExtended::xmit_data, 64>("xmit_data"),
        field<&PortCountersExtended::rcv_data, 64>("rcv_data"),
        field<&PortCountersExtended::xmit_packets, 64>("xmit_packets"),
        field<&PortCountersExtended::rcv_packets, 64>("rcv_packets"),
        field<&PortCountersExtended::unicast_xmit_packets, 64>("unicast_xmit_packets"),
        field<&PortCountersExtended::unicast_rcv_packets, 64>("unicast_rcv_packets"),
        field<&PortCountersExtended::multicast_xmit_packets, 64>("multicast_xmit_packets"),
        field<&PortCountersExtended::multicast_rcv_packets, 64>("multicast_rcv_packets"),
        field<&PortCountersExtended::symbol_errors, 64>("symbol_errors"),
        field<&PortCountersExtended::link_error_recoveries, 64>("link_error_recoveries"),
        field<&PortCountersExtended::link_downed, 64>("link_downed"),
        field<&PortCountersExtended::rcv_errors, 64>("rcv_errors"),
        field<&PortCountersExtended::rcv_remote_physical_errors, 64>("rcv_remote_physical_errors"),
        field<&PortCountersExtended::rcv_switch_relay_errors, 64>("rcv_switch_relay_errors"),
        field<&PortCountersExtended::xmit_discards, 64>("xmit_discards"),
        field<&PortCountersExtended::xmit_constraint_errors, 64>("xmit_constraint_errors"),
        field<&PortCountersExtended::rcv_constraint_errors, 64>("rcv_constraint_errors"),
        field<&PortCountersExtended::local_link_integrity_errors, 64>(
            "local_link_integrity_errors"),
        field<&PortCountersExtended::excessive_buffer_overruns, 64>("excessive_buffer_overruns"),
        field<&PortCountersExtended::vl15_dropped, 64>("vl15_dropped"),
        field<&PortCountersExtended::xmit_wait, 64>("xmit_wait"),
        field<&PortCountersExtended::qp1_dropped, 64>("qp1_dropped"));
};

struct PortSamplesControl {
    static constexpr size_t kSize = 80;
    Bits8 op_code;
    uint8_t port_select = 0;
    Bits8 tick;
    Bits8 reserved;
    uint8_t counter_width = 0;
    Bits8 reserved2;
    Bits8 counter_mask0;
    std::array<Bits8, 9> counter_masks1_to_9{};
    Bits8 reserved3;
    std::array<Bits8, 5> counter_masks10_to_14{};
    uint8_t sample_mechanisms = 0;
    Bits8 reserved4;
    uint8_t sample_status = 0;  // 0: done, 1: started, 2: under way
    Key64 option_mask;
    Key64 vendor_mask;
    uint32_t sample_start = 0;
    uint32_t sample_interval = 0;
    Bits16 tag;
    std::array<Bits16, 15> counter_select{};
    Bits32 reserved5;
    Key64 samples_only_option_mask;
    static constexpr auto kFields = fields(
        field<&PortSamplesControl::op_code, 8>("op_code"),
        field<&PortSamplesControl::port_select, 8>("port_select"),
        field<&PortSamplesControl::tick, 8>("tick"),
        field<&PortSamplesControl::reserved, 5>("reserved"),
        field<&PortSamplesControl::counter_width, 3>("counter_width"),
        field<&PortSamplesControl::reserved2, 2>("reserved2"),
        field<&PortSamplesControl::counter_mask0, 3>("counter_mask0"),
        field<&PortSamplesControl::counter_masks1_to_9, 27>("counter_masks1_to_9"),
        field<&PortSamplesControl::reserved3, 1>("reserved3"),
        field<&PortSamplesControl::counter_masks10_to_14, 15>("counter_masks10_to_14"),
        field<&PortSamplesControl::sample_mechanisms, 8>("sample_mechanisms"),
        field<&PortSamplesControl::reserved4, 6>("reserved4"),
        field<&PortSamplesControl::sample_status, 2>("sample_status"),
        field<&PortSamplesControl::option_mask, 64>("option_mask"),
        field<&PortSamplesControl::vendor_mask, 64>("vendor_mask"),
        field<&PortSamplesControl::sample_start, 32>("sample_start"),
        field<&PortSamplesControl::sample_interval, 32>("sample_interval"),
        field<&PortSamplesControl::tag, 16>("tag"),
        field<&PortSamplesControl::counter_select, 240>("counter_select"),
        field<&PortSamplesControl::reserved5, 32>("reserved5"),
        field<&PortSamplesControl::samples_only_option_mask, 64>("samples_only_option_mask"));
};

struct PortSamplesResult {
    static constexpr size_t kSize = 64;
    Bits16 tag;
    Bits16 reserved;
    uint8_t sample_status = 0;
    std::array<uint32_t, 15> counters{};
    static constexpr auto kFields =
        fields(field<&PortSamplesResult::tag, 16>("tag"),
               field<&PortSamplesResult::reserved, 14>("reserved"),
               field<&PortSamplesResult::sample_status, 2>("sample_status"),
               field<&PortSamplesResult::counters, 480>("counters"));
};

struct PortRcvErrorDetails {
    static constexpr size_t kSize = 16;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    uint16_t local_physical_errors = 0;
    uint16_t malformed_packet_errors = 0;
    uint16_t buffer_overrun_errors = 0;
    uint16_t dlid_mapping_errors = 0;
    uint16_t vl_mapping_errors = 0;
    uint16_t looping_errors = 0;
    static constexpr auto kFields =
        fields(field<&PortRcvErrorDetails::reserved, 8>("reserved"),
               field<&PortRcvErrorDetails::port_select, 8>("port_select"),
               field<&PortRcvErrorDetails::counter_select, 16>("counter_select"),
               field<&PortRcvErrorDetails::local_physical_errors, 16>("local_physical_errors"),
               field<&PortRcvErrorDetails::malformed_packet_errors, 16>("malformed_packet_errors"),
               field<&PortRcvErrorDetails::buffer_overrun_errors, 16>("buffer_overrun_errors"),
               field<&PortRcvErrorDetails::dlid_mapping_errors, 16>("dlid_mapping_errors"),
               field<&PortRcvErrorDetails::vl_mapping_errors, 16>("vl_mapping_errors"),
               field<&PortRcvErrorDetails::looping_errors, 16>("looping_errors"));
};

struct PortXmitDiscardDetails {
    static constexpr size_t kSize = 12;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    uint16_t inactive_discards = 0;
    uint16_t neighbor_mtu_discards = 0;
    uint16_t switch_life_time_discards = 0;
    uint16_t switch_head_of_queue_discards = 0;
    static constexpr auto kFields = fields(
        field<&PortXmitDiscardDetails::reserved, 8>("reserved"),
        field<&PortXmitDiscardDetails::port_select, 8>("port_select"),
        field<&PortXmitDiscardDetails::counter_select, 16>("counter_select"),
        field<&PortXmitDiscardDetails::inactive_discards, 16>("inactive_discards"),
        field<&PortXmitDiscardDetails::neighbor_mtu_discards, 16>("neighbor_mtu_discards"),
        field<&PortXmitDiscardDetails::switch_life_time_discards, 16>("switch_life_time_discards"),
        field<&PortXmitDiscardDetails::switch_head_of_queue_discards, 16>(
            "switch_head_of_queue_discards"));
};

struct PortOpRcvCounters {
    static constexpr size_t kSize = 12;
    Bits8 op_code;
    uint8_t port_select = 0;
    Bits16 counter_select;
    uint32_t rcv_packets = 0;
    uint32_t rcv_data = 0;
    static constexpr auto kFields =
        fields(field<&PortOpRcvCounters::op_code, 8>("op_code"),
               field<&PortOpRcvCounters::port_select, 8>("port_select"),
               field<&PortOpRcvCounters::counter_select, 16>("counter_select"),
               field<&PortOpRcvCounters::rcv_packets, 32>("rcv_packets"),
               field<&PortOpRcvCounters::rcv_data, 32>("rcv_data"));
};

struct PortFlowCtlCounters {
    static constexpr size_t kSize = 12;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    uint32_t xmit_flow_packets = 0;
    uint32_t rcv_flow_packets = 0;
    static constexpr auto kFields =
        fields(field<&PortFlowCtlCounters::reserved, 8>("reserved"),
               field<&PortFlowCtlCounters::port_select, 8>("port_select"),
               field<&PortFlowCtlCounters::counter_select, 16>("counter_select"),
               field<&PortFlowCtlCounters::xmit_flow_packets, 32>("xmit_flow_packets"),
               field<&PortFlowCtlCounters::rcv_flow_packets, 32>("rcv_flow_packets"));
};

struct PortVlOpPackets {
    static constexpr size_t kSize = 36;
    Bits8 op_code;
    uint8_t port_select = 0;
    Bits16 counter_select;
    std::array<uint16_t, 16> packets{};
    static constexpr auto kFields =
        fields(field<&PortVlOpPackets::op_code, 8>("op_code"),
               field<&PortVlOpPackets::port_select, 8>("port_select"),
               field<&PortVlOpPackets::counter_select, 16>("counter_select"),
               field<&PortVlOpPackets::packets, 256>("packets"));
};

struct PortVlOpData {
    static constexpr size_t kSize = 68;
    Bits8 op_code;
    uint8_t port_select = 0;
    Bits16 counter_select;
    std::array<uint32_t, 16> data{};
    static constexpr auto kFields =
        fields(field<&PortVlOpData::op_code, 8>("op_code"),
               field<&PortVlOpData::port_select, 8>("port_select"),
               field<&PortVlOpData::counter_select, 16>("counter_select"),
               field<&PortVlOpData::data, 512>("data"));
};

struct PortVlXmitFlowCtlUpdateErrors {
    static constexpr size_t kSize = 8;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    std::array<uint8_t, 16> errors{};
    static constexpr auto kFields =
        fields(field<&PortVlXmitFlowCtlUpdateErrors::reserved, 8>("reserved"),
               field<&PortVlXmitFlowCtlUpdateErrors::port_select, 8>("port_select"),
               field<&PortVlXmitFlowCtlUpdateErrors::counter_select, 16>("counter_select"),
               field<&PortVlXmitFlowCtlUpdateErrors::errors, 32>("errors"));
};

struct PortVlXmitWaitCounters {
    static constexpr size_t kSize = 36;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    std::array<uint16_t, 16> xmit_wait{};
    static constexpr auto kFields =
        fields(field<&PortVlXmitWaitCounters::reserved, 8>("reserved"),
               field<&PortVlXmitWaitCounters::port_select, 8>("port_select"),
               field<&PortVlXmitWaitCounters::counter_select, 16>("counter_select"),
               field<&PortVlXmitWaitCounters::xmit_wait, 256>("xmit_wait"));
};

// Lanes 0 to 11; with one error correction over all lanes only the port's counters at the end.
struct PortExtendedSpeedsCounters {
    static constexpr size_t kSize = 152;
    Bits8 reserved;
    uint8_t port_select = 0;
    Key64 reserved2;
    Key64 counter_select;
    uint16_t sync_header_errors = 0;
    uint16_t unknown_blocks = 0;
    std::array<uint16_t, 12> lane_error_detections{};
    std::array<uint32_t, 12> lane_fec_correctable{};
    std::array<uint32_t, 12> lane_fec_uncorrectable{};
    uint32_t fec_correctable_blocks = 0;
    uint32_t fec_uncorrectable_blocks = 0;
    uint32_t fec_corrected_symbols = 0;
    static constexpr auto kFields = fields(
        field<&PortExtendedSpeedsCounters::reserved, 8>("reserved"),
        field<&PortExtendedSpeedsCounters::port_select, 8>("port_select"),
        field<&PortExtendedSpeedsCounters::reserved2, 48>("reserved2"),
        field<&PortExtendedSpeedsCounters::counter_select, 64>("counter_select"),
        field<&PortExtendedSpeedsCounters::sync_header_errors, 16>("sync_header_errors"),
        field<&PortExtendedSpeedsCounters::unknown_blocks, 16>("unknown_blocks"),
        field<&PortExtendedSpeedsCounters::lane_error_detections, 192>("lane_error_detections"),
        field<&PortExtendedSpeedsCounters::lane_fec_correctable, 384>("lane_fec_correctable"),
        field<&PortExtendedSpeedsCounters::lane_fec_uncorrectable, 384>("lane_fec_uncorrectable"),
        field<&PortExtendedSpeedsCounters::fec_correctable_blocks, 32>("fec_correctable_blocks"),
        field<&PortExtendedSpeedsCounters::fec_uncorrectable_blocks, 32>(
            "fec_uncorrectable_blocks"),
        field<&PortExtendedSpeedsCounters::fec_corrected_symbols, 32>("fec_corrected_symbols"));
};

struct SwPortVlCongestion {
    static constexpr size_t kSize = 36;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    std::array<uint16_t, 16> congestion{};
    static constexpr auto kFields =
        fields(field<&SwPortVlCongestion::reserved, 8>("reserved"),
               field<&SwPortVlCongestion::port_select, 8>("port_select"),
               field<&SwPortVlCongestion::counter_select, 16>("counter_select"),
               field<&SwPortVlCongestion::congestion, 256>("congestion"));
};

struct PortRcvConCtrl {
    static constexpr size_t kSize = 12;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    uint32_t rcv_fecn = 0;
    uint32_t rcv_becn = 0;
    static constexpr auto kFields =
        fields(field<&PortRcvConCtrl::reserved, 8>("reserved"),
               field<&PortRcvConCtrl::port_select, 8>("port_select"),
               field<&PortRcvConCtrl::counter_select, 16>("counter_select"),
               field<&PortRcvConCtrl::rcv_fecn, 32>("rcv_fecn"),
               field<&PortRcvConCtrl::rcv_becn, 32>("rcv_becn"));
};

struct PortSlRcvFecn {
    static constexpr size_t kSize = 68;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    std::array<uint32_t, 16> rcv_fecn{};
    static constexpr auto kFields =
        fields(field<&PortSlRcvFecn::reserved, 8>("reserved"),
               field<&PortSlRcvFecn::port_select, 8>("port_select"),
               field<&PortSlRcvFecn::counter_select, 16>("counter_select"),
               field<&PortSlRcvFecn::rcv_fecn, 512>("rcv_fecn"));
};

struct PortSlRcvBecn {
    static constexpr size_t kSize = 68;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    std::array<uint32_t, 16> rcv_becn{};
    static constexpr auto kFields =
        fields(field<&PortSlRcvBecn::reserved, 8>("reserved"),
               field<&PortSlRcvBecn::port_select, 8>("port_select"),
               field<&PortSlRcvBecn::counter_select, 16>("counter_select"),
               field<&PortSlRcvBecn::rcv_becn, 512>("rcv_becn"));
};

struct PortXmitConCtrl {
    static constexpr size_t kSize = 8;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    uint32_t xmit_time_congested = 0;
    static constexpr auto kFields =
        fields(field<&PortXmitConCtrl::reserved, 8>("reserved"),
               field<&PortXmitConCtrl::port_select, 8>("port_select"),
               field<&PortXmitConCtrl::counter_select, 16>("counter_select"),
               field<&PortXmitConCtrl::xmit_time_congested, 32>("xmit_time_congested"));
};

struct PortVlXmitTimeCong {
    static constexpr size_t kSize = 64;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    std::array<uint32_t, 15> xmit_time_congested{};
    static constexpr auto kFields =
        fields(field<&PortVlXmitTimeCong::reserved, 8>("reserved"),
               field<&PortVlXmitTimeCong::port_select, 8>("port_select"),
               field<&PortVlXmitTimeCong::counter_select, 16>("counter_select"),
               field<&PortVlXmitTimeCong::xmit_time_congested, 480>("xmit_time_congested"));
};

struct PortXmitDataSl {
    static constexpr size_t kSize = 68;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    std::array<uint32_t, 16> xmit_data{};
    static constexpr auto kFields =
        fields(field<&PortXmitDataSl::reserved, 8>("reserved"),
               field<&PortXmitDataSl::port_select, 8>("port_select"),
               field<&PortXmitDataSl::counter_select, 16>("counter_select"),
               field<&PortXmitDataSl::xmit_data, 512>("xmit_data"));
};

struct PortRcvDataSl {
    static constexpr size_t kSize = 68;
    Bits8 reserved;
    uint8_t port_select = 0;
    Bits16 counter_select;
    std::array<uint32_t, 16> rcv_data{};
    static constexpr auto kFields =
        fields(field<&PortRcvDataSl::reserved, 8>("reserved"),
               field<&PortRcvDataSl::port_select, 8>("port_select"),
               field<&PortRcvDataSl::counter_select, 16>("counter_select"),
               field<&PortRcvDataSl::rcv_data, 512>("rcv_data"));
};

}  // namespace tulle::wire
