// Congestion control (IBTA vol 1, annex A10): how a manager sets when a switch marks packets
// (FECN), by how much a channel adapter slows down when it is told (BECN), and reads what happened.
// Attributes lie in the 192 bytes from byte 64 on, but for the log, which begins at byte 32.
#pragma once

#include "wire/mad/mad.h"

namespace tulle::wire {

inline constexpr size_t kCongestionLogOffset = 32;
inline constexpr size_t kCongestionDataOffset = 64;
inline constexpr size_t kCongestionDataSize = 192;

enum CongestionAttribute : uint16_t {
    kCongestionClassPortInfo = kAttributeClassPortInfo,
    kCongestionNotice = kAttributeNotice,
    kCongestionInfo = 0x0011,
    kCongestionKeyInfo = 0x0012,
    kCongestionLog = 0x0013,
    kCongestionSwitchSetting = 0x0014,
    kCongestionSwitchPortSetting = 0x0015,
    kCongestionCaSetting = 0x0016,
    kCongestionControlTable = 0x0017,
    kCongestionTimeStamp = 0x0018,
};

enum CongestionLogType : uint8_t { kCongestionLogSwitch = 1, kCongestionLogCa = 2 };

// Bytes 24 to 31.
struct CongestionHeader {
    static constexpr size_t kSize = 8;
    Key64 cc_key;
    static constexpr auto kFields = fields(field<&CongestionHeader::cc_key, 64>("cc_key"));
};

struct CongestionMad {
    static constexpr size_t kSize = 256;
    MadHeader header;
    CongestionHeader congestion;
    std::array<uint8_t, 32> log_data{};
    std::array<uint8_t, 192> data{};
    static constexpr auto kFields = fields(field<&CongestionMad::header, 192>("header"),
                                           field<&CongestionMad::congestion, 64>("congestion"),
                                           field<&CongestionMad::log_data, 256>("log_data"),
                                           field<&CongestionMad::data, 1536>("data"));
};

struct CongestionInfo {
    static constexpr size_t kSize = 4;
    Bits16 capabilities;                 // bit 0: a switch that honours credit starvation
    uint8_t control_table_capacity = 0;  // in blocks of 64 entries
    Bits8 reserved;
    static constexpr auto kFields =
        fields(field<&CongestionInfo::capabilities, 16>("capabilities"),
               field<&CongestionInfo::control_table_capacity, 8>("control_table_capacity"),
               field<&CongestionInfo::reserved, 8>("reserved"));
};

struct CongestionKeyInfo {
    static constexpr size_t kSize = 14;
    Key64 cc_key;
    bool protect = false;
    Bits16 reserved;
    uint16_t lease_period = 0;
    uint16_t violations = 0;
    static constexpr auto kFields =
        fields(field<&CongestionKeyInfo::cc_key, 64>("cc_key"),
               field<&CongestionKeyInfo::protect, 1>("protect"),
               field<&CongestionKeyInfo::reserved, 15>("reserved"),
               field<&CongestionKeyInfo::lease_period, 16>("lease_period"),
               field<&CongestionKeyInfo::violations, 16>("violations"));
};

struct SwitchCongestionEvent {
    static constexpr size_t kSize = 12;
    Lid slid;
    Lid dlid;
    uint8_t service_level = 0;
    Bits32 reserved;
    uint32_t time_stamp = 0;
    static constexpr auto kFields =
        fields(field<&SwitchCongestionEvent::slid, 16>("slid"),
               field<&SwitchCongestionEvent::dlid, 16>("dlid"),
               field<&SwitchCongestionEvent::service_level, 4>("service_level"),
               field<&SwitchCongestionEvent::reserved, 28>("reserved"),
               field<&SwitchCongestionEvent::time_stamp, 32>("time_stamp"));
};

struct SwitchCongestionLog {
    static constexpr size_t kSize = 220;
    uint8_t log_type = 0;
    Bits8 congestion_flags;
    uint16_t event_count = 0;
    uint32_t current_time_stamp = 0;     // in units of 1.024 us
    std::array<uint8_t, 32> port_map{};  // ports that marked packets; port 0 is the last bit
    std::array<SwitchCongestionEvent, 15> events{};
    static constexpr auto kFields =
        fields(field<&SwitchCongestionLog::log_type, 8>("log_type"),
               field<&SwitchCongestionLog::congestion_flags, 8>("congestion_flags"),
               field<&SwitchCongestionLog::event_count, 16>("event_count"),
               field<&SwitchCongestionLog::current_time_stamp, 32>("current_time_stamp"),
               field<&SwitchCongestionLog::port_map, 256>("port_map"),
               field<&SwitchCongestionLog::events, 1440>("events"));
};

struct CaCongestionEvent {
    static constexpr size_t kSize = 16;
    Qpn local_qp;
    Bits8 reserved;
    Qpn remote_qp;
    uint8_t service_level = 0;
    uint8_t service_type = 0;  // 0: RC, 1: UC, 2: RD, 3: UD
    Lid remote_lid;
    Bits16 reserved2;
    uint32_t time_stamp = 0;
    static constexpr auto kFields =
        fields(field<&CaCongestionEvent::local_qp, 24>("local_qp"),
               field<&CaCongestionEvent::reserved, 8>("reserved"),
               field<&CaCongestionEvent::remote_qp, 24>("remote_qp"),
               field<&CaCongestionEvent::service_level, 4>("service_level"),
               field<&CaCongestionEvent::service_type, 4>("service_type"),
               field<&CaCongestionEvent::remote_lid, 16>("remote_lid"),
               field<&CaCongestionEvent::reserved2, 16>("reserved2"),
               field<&CaCongestionEvent::time_stamp, 32>("time_stamp"));
};

struct CaCongestionLog {
    static constexpr size_t kSize = 220;
    uint8_t log_type = 0;
    Bits8 congestion_flags;
    uint16_t event_count = 0;
    Bits16 event_map;  // a bit for each service level
    Bits16 reserved;
    uint32_t current_time_stamp = 0;
    std::array<CaCongestionEvent, 13> events{};
    static constexpr auto kFields =
        fields(field<&CaCongestionLog::log_type, 8>("log_type"),
               field<&CaCongestionLog::congestion_flags, 8>("congestion_flags"),
               field<&CaCongestionLog::event_count, 16>("event_count"),
               field<&CaCongestionLog::event_map, 16>("event_map"),
               field<&CaCongestionLog::reserved, 16>("reserved"),
               field<&CaCongestionLog::current_time_stamp, 32>("current_time_stamp"),
               field<&CaCongestionLog::events, 1664>("events"));
};

struct SwitchCongestionSetting {
    static constexpr size_t kSize = 76;
    Bits32 control_map;  // which of the fields below a Set means
    std::array<uint8_t, 32> victim_mask{};
    std::array<uint8_t, 32> credit_mask{};
    uint8_t threshold = 0;  // 0: never mark; 15: mark soonest
    Bits8 reserved;
    uint8_t packet_size = 0;  // in units of 64 bytes: smaller packets are not marked
    uint8_t cs_threshold = 0;
    Bits16 reserved2;
    Bits16 cs_return_delay;
    uint16_t marking_rate = 0;  // packets between two marked ones, on average
    static constexpr auto kFields =
        fields(field<&SwitchCongestionSetting::control_map, 32>("control_map"),
               field<&SwitchCongestionSetting::victim_mask, 256>("victim_mask"),
               field<&SwitchCongestionSetting::credit_mask, 256>("credit_mask"),
               field<&SwitchCongestionSetting::threshold, 4>("threshold"),
               field<&SwitchCongestionSetting::reserved, 4>("reserved"),
               field<&SwitchCongestionSetting::packet_size, 8>("packet_size"),
               field<&SwitchCongestionSetting::cs_threshold, 4>("cs_threshold"),
               field<&SwitchCongestionSetting::reserved2, 12>("reserved2"),
               field<&SwitchCongestionSetting::cs_return_delay, 16>("cs_return_delay"),
               field<&SwitchCongestionSetting::marking_rate, 16>("marking_rate"));
};

struct SwitchPortCongestionElement {
    static constexpr size_t kSize = 4;
    bool valid = false;
    uint8_t control_type = 0;  // 0: congestion control, 1: credit starvation
    Bits8 reserved;
    uint8_t threshold = 0;
    uint8_t packet_size = 0;
    uint16_t marking_rate = 0;
    static constexpr auto kFields =
        fields(field<&SwitchPortCongestionElement::valid, 1>("valid"),
               field<&SwitchPortCongestionElement::control_type, 1>("control_type"),
               field<&SwitchPortCongestionElement::reserved, 2>("reserved"),
               field<&SwitchPortCongestionElement::threshold, 4>("threshold"),
               field<&SwitchPortCongestionElement::packet_size, 8>("packet_size"),
               field<&SwitchPortCongestionElement::marking_rate, 16>("marking_rate"));
};

struct SwitchPortCongestionSetting {
    static constexpr size_t kSize = 128;
    std::array<SwitchPortCongestionElement, 32> elements{};
    static constexpr auto kFields =
        fields(field<&SwitchPortCongestionSetting::elements, 1024>("elements"));
};

struct CaCongestionEntry {
    static constexpr size_t kSize = 8;
    uint16_t ccti_timer = 0;  // in units of 1.024 us
    uint8_t ccti_increase = 0;
    uint8_t trigger_threshold = 0;
    uint8_t ccti_min = 0;
    Bits32 reserved;
    static constexpr auto kFields =
        fields(field<&CaCongestionEntry::ccti_timer, 16>("ccti_timer"),
               field<&CaCongestionEntry::ccti_increase, 8>("ccti_increase"),
               field<&CaCongestionEntry::trigger_threshold, 8>("trigger_threshold"),
               field<&CaCongestionEntry::ccti_min, 8>("ccti_min"),
               field<&CaCongestionEntry::reserved, 24>("reserved"));
};

struct CaCongestionSetting {
    static constexpr size_t kSize = 132;
    Bits16 port_control;  // bit 0: by service level instead of by queue pair
    Bits16 control_map;
    std::array<CaCongestionEntry, 16> entries{};
    static constexpr auto kFields =
        fields(field<&CaCongestionSetting::port_control, 16>("port_control"),
               field<&CaCongestionSetting::control_map, 16>("control_map"),
               field<&CaCongestionSetting::entries, 1024>("entries"));
};

// The injection rate delay is the packet's time on the wire shifted right by `shift`, times
// `multiplier`.
struct CongestionControlEntry {
    static constexpr size_t kSize = 2;
    uint8_t shift = 0;
    uint16_t multiplier = 0;
    static constexpr auto kFields =
        fields(field<&CongestionControlEntry::shift, 2>("shift"),
               field<&CongestionControlEntry::multiplier, 14>("multiplier"));
};

struct CongestionControlTable {
    static constexpr size_t kSize = 132;
    uint16_t ccti_limit = 0;
    Bits16 reserved;
    std::array<CongestionControlEntry, 64> entries{};
    static constexpr auto kFields =
        fields(field<&CongestionControlTable::ccti_limit, 16>("ccti_limit"),
               field<&CongestionControlTable::reserved, 16>("reserved"),
               field<&CongestionControlTable::entries, 1024>("entries"));
};

// Details of the class's notice 0: a wrong CC_Key.
struct TrapCcKey {
    static constexpr size_t kSize = 54;
    Lid slid;
    Bits8 method;
    Bits8 reserved;
    Bits16 attribute_id;
    Bits16 reserved2;
    Bits32 attribute_modifier;
    Bits8 reserved3;
    Qpn qp;
    Key64 cc_key;
    Gid source_gid;
    std::array<uint8_t, 14> padding{};
    static constexpr auto kFields = fields(
        field<&TrapCcKey::slid, 16>("slid"), field<&TrapCcKey::method, 8>("method"),
        field<&TrapCcKey::reserved, 8>("reserved"),
        field<&TrapCcKey::attribute_id, 16>("attribute_id"),
        field<&TrapCcKey::reserved2, 16>("reserved2"),
        field<&TrapCcKey::attribute_modifier, 32>("attribute_modifier"),
        field<&TrapCcKey::reserved3, 8>("reserved3"), field<&TrapCcKey::qp, 24>("qp"),
        field<&TrapCcKey::cc_key, 64>("cc_key"), field<&TrapCcKey::source_gid, 128>("source_gid"),
        field<&TrapCcKey::padding, 112>("padding"));
};

struct CongestionTimeStamp {
    static constexpr size_t kSize = 4;
    uint32_t time_stamp = 0;
    static constexpr auto kFields =
        fields(field<&CongestionTimeStamp::time_stamp, 32>("time_stamp"));
};

}  // namespace tulle::wire
