// The records of subnet administration (IBTA vol 1, 15.2.5). Most are an attribute of a node with
// the LID it belongs to before it; PathRecord and MCMemberRecord are the two that hosts live by.
// The components that a mask counts are the fields as they stand in the specification.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/ids.h"
#include "wire/layout.h"
#include "wire/mad/port_info.h"
#include "wire/mad/smp_attributes.h"
#include "wire/mad/smp_tables.h"

namespace tulle::wire {

// What a *_selector says of the value beside it.
enum Selector : uint8_t {
    kSelectGreater = 0,
    kSelectLess = 1,
    kSelectExactly = 2,
    kSelectLargest = 3,
};

// Rates of paths and groups, in Gb/s on the wire.
enum RateCode : uint8_t {
    kRate2_5 = 2,
    kRate10 = 3,
    kRate30 = 4,
    kRate5 = 5,
    kRate20 = 6,
    kRate40 = 7,
    kRate60 = 8,
    kRate80 = 9,
    kRate120 = 10,
    kRate14 = 11,
    kRate56 = 12,
    kRate112 = 13,
    kRate168 = 14,
    kRate25 = 15,
    kRate100 = 16,
    kRate200 = 17,
    kRate300 = 18,
    kRate28 = 19,
    kRate50 = 20,
    kRate400 = 21,
    kRate600 = 22,
    kRate800 = 23,
    kRate1200 = 24,
};

struct NodeRecord {
    static constexpr size_t kSize = 108;
    Lid lid;
    Bits16 reserved;
    NodeInfo node_info;
    NodeDescription node_description;
    static constexpr auto kFields =
        fields(field<&NodeRecord::lid, 16>("lid"), field<&NodeRecord::reserved, 16>("reserved"),
               field<&NodeRecord::node_info, 320>("node_info"),
               field<&NodeRecord::node_description, 512>("node_description"));
};

struct PortInfoRecord {
    static constexpr size_t kSize = 68;
    Lid lid;
    uint8_t port = 0;
    Bits8 options;
    PortInfo port_info;
    static constexpr auto kFields =
        fields(field<&PortInfoRecord::lid, 16>("lid"), field<&PortInfoRecord::port, 8>("port"),
               field<&PortInfoRecord::options, 8>("options"),
               field<&PortInfoRecord::port_info, 512>("port_info"));
};

struct SlToVlMappingTableRecord {
    static constexpr size_t kSize = 16;
    Lid lid;
    uint8_t input_port = 0;
    uint8_t output_port = 0;
    Bits32 reserved;
    SlToVlMappingTable table;
    static constexpr auto kFields =
        fields(field<&SlToVlMappingTableRecord::lid, 16>("lid"),
               field<&SlToVlMappingTableRecord::input_port, 8>("input_port"),
               field<&SlToVlMappingTableRecord::output_port, 8>("output_port"),
               field<&SlToVlMappingTableRecord::reserved, 32>("reserved"),
               field<&SlToVlMappingTableRecord::table, 64>("table"));
};

struct SwitchInfoRecord {
    static constexpr size_t kSize = 24;
    Lid lid;
    Bits16 reserved;
    SwitchInfo switch_info;
    static constexpr auto kFields =
        fields(field<&SwitchInfoRecord::lid, 16>("lid"),
               field<&SwitchInfoRecord::reserved, 16>("reserved"),
               field<&SwitchInfoRecord::switch_info, 160>("switch_info"));
};

struct LinearForwardingTableRecord {
    static constexpr size_t kSize = 72;
    Lid lid;
    uint16_t block = 0;
    Bits32 reserved;
    LinearForwardingTable table;
    static constexpr auto kFields =
        fields(field<&LinearForwardingTableRecord::lid, 16>("lid"),
               field<&LinearForwardingTableRecord::block, 16>("block"),
               field<&LinearForwardingTableRecord::reserved, 32>("reserved"),
               field<&LinearForwardingTableRecord::table, 512>("table"));
};

struct RandomForwardingTableRecord {
    static constexpr size_t kSize = 72;
    Lid lid;
    uint16_t block = 0;
    Bits32 reserved;
    RandomForwardingTable table;
    static constexpr auto kFields =
        fields(field<&RandomForwardingTableRecord::lid, 16>("lid"),
               field<&RandomForwardingTableRecord::block, 16>("block"),
               field<&RandomForwardingTableRecord::reserved, 32>("reserved"),
               field<&RandomForwardingTableRecord::table, 512>("table"));
};

struct MulticastForwardingTableRecord {
    static constexpr size_t kSize = 72;
    Lid lid;
    uint8_t position = 0;
    Bits8 reserved;
    uint16_t block = 0;
    Bits32 reserved2;
    MulticastForwardingTable table;
    static constexpr auto kFields =
        fields(field<&MulticastForwardingTableRecord::lid, 16>("lid"),
               field<&MulticastForwardingTableRecord::position, 4>("position"),
               field<&MulticastForwardingTableRecord::reserved, 3>("reserved"),
               field<&MulticastForwardingTableRecord::block, 9>("block"),
               field<&MulticastForwardingTableRecord::reserved2, 32>("reserved2"),
               field<&MulticastForwardingTableRecord::table, 512>("table"));
};

struct SmInfoRecord {
    static constexpr size_t kSize = 25;
    Lid lid;
    Bits16 reserved;
    SmInfo sm_info;
    static constexpr auto kFields =
        fields(field<&SmInfoRecord::lid, 16>("lid"), field<&SmInfoRecord::reserved, 16>("reserved"),
               field<&SmInfoRecord::sm_info, 168>("sm_info"));
};

struct LinkRecord {
    static constexpr size_t kSize = 6;
    Lid from_lid;
    uint8_t from_port = 0;
    uint8_t to_port = 0;
    Lid to_lid;
    static constexpr auto kFields = fields(
        field<&LinkRecord::from_lid, 16>("from_lid"), field<&LinkRecord::from_port, 8>("from_port"),
        field<&LinkRecord::to_port, 8>("to_port"), field<&LinkRecord::to_lid, 16>("to_lid"));
};

struct GuidInfoRecord {
    static constexpr size_t kSize = 72;
    Lid lid;
    uint8_t block = 0;
    Bits8 reserved;
    Bits32 reserved2;
    GuidInfo guid_info;
    static constexpr auto kFields =
        fields(field<&GuidInfoRecord::lid, 16>("lid"), field<&GuidInfoRecord::block, 8>("block"),
               field<&GuidInfoRecord::reserved, 8>("reserved"),
               field<&GuidInfoRecord::reserved2, 32>("reserved2"),
               field<&GuidInfoRecord::guid_info, 512>("guid_info"));
};

struct ServiceRecord {
    static constexpr size_t kSize = 176;
    Key64 service_id;
    Gid service_gid;
    PKey service_pkey;
    Bits16 reserved;
    uint32_t service_lease = 0;  // seconds; all ones: for ever
    std::array<uint8_t, 16> service_key{};
    std::array<char, 64> service_name{};
    std::array<uint8_t, 16> data8{};
    std::array<uint16_t, 8> data16{};
    std::array<uint32_t, 4> data32{};
    std::array<uint64_t, 2> data64{};
    static constexpr auto kFields = fields(
        field<&ServiceRecord::service_id, 64>("service_id"),
        field<&ServiceRecord::service_gid, 128>("service_gid"),
        field<&ServiceRecord::service_pkey, 16>("service_pkey"),
        field<&ServiceRecord::reserved, 16>("reserved"),
        field<&ServiceRecord::service_lease, 32>("service_lease"),
        field<&ServiceRecord::service_key, 128>("service_key"),
        field<&ServiceRecord::service_name, 512>("service_name"),
        field<&ServiceRecord::data8, 128>("data8"), field<&ServiceRecord::data16, 128>("data16"),
        field<&ServiceRecord::data32, 128>("data32"), field<&ServiceRecord::data64, 128>("data64"));
};

struct PKeyTableRecord {
    static constexpr size_t kSize = 72;
    Lid lid;
    uint16_t block = 0;
    uint8_t port = 0;
    Bits32 reserved;
    PKeyTable table;
    static constexpr auto kFields = fields(
        field<&PKeyTableRecord::lid, 16>("lid"), field<&PKeyTableRecord::block, 16>("block"),
        field<&PKeyTableRecord::port, 8>("port"), field<&PKeyTableRecord::reserved, 24>("reserved"),
        field<&PKeyTableRecord::table, 512>("table"));
};

struct PathRecord {
    static constexpr size_t kSize = 64;
    Key64 service_id;
    Gid dgid;
    Gid sgid;
    Lid dlid;
    Lid slid;
    bool raw_traffic = false;
    Bits8 reserved;
    Bits32 flow_label;
    uint8_t hop_limit = 0;
    uint8_t traffic_class = 0;
    bool reversible = false;
    uint8_t path_count = 0;
    PKey pkey;
    uint16_t qos_class = 0;
    uint8_t service_level = 0;
    uint8_t mtu_selector = 0;
    uint8_t mtu = 0;  // MtuCode
    uint8_t rate_selector = 0;
    uint8_t rate = 0;  // RateCode
    uint8_t life_time_selector = 0;
    uint8_t life_time = 0;  // 4.096 us * 2^n
    uint8_t preference = 0;
    std::array<uint8_t, 6> reserved2{};
    static constexpr auto kFields = fields(
        field<&PathRecord::service_id, 64>("service_id"), field<&PathRecord::dgid, 128>("dgid"),
        field<&PathRecord::sgid, 128>("sgid"), field<&PathRecord::dlid, 16>("dlid"),
        field<&PathRecord::slid, 16>("slid"), field<&PathRecord::raw_traffic, 1>("raw_traffic"),
        field<&PathRecord::reserved, 3>("reserved"),
        field<&PathRecord::flow_label, 20>("flow_label"),
        field<&PathRecord::hop_limit, 8>("hop_limit"),
        field<&PathRecord::traffic_class, 8>("traffic_class"),
        field<&PathRecord::reversible, 1>("reversible"),
        field<&PathRecord::path_count, 7>("path_count"), field<&PathRecord::pkey, 16>("pkey"),
        field<&PathRecord::qos_class, 12>("qos_class"),
        field<&PathRecord::service_level, 4>("service_level"),
        field<&PathRecord::mtu_selector, 2>("mtu_selector"), field<&PathRecord::mtu, 6>("mtu"),
        field<&PathRecord::rate_selector, 2>("rate_selector"), field<&PathRecord::rate, 6>("rate"),
        field<&PathRecord::life_time_selector, 2>("life_time_selector"),
        field<&PathRecord::life_time, 6>("life_time"),
        field<&PathRecord::preference, 8>("preference"),
        field<&PathRecord::reserved2, 48>("reserved2"));
};

struct VlArbitrationTableRecord {
    static constexpr size_t kSize = 72;
    Lid lid;
    uint8_t output_port = 0;
    uint8_t block = 0;
    Bits32 reserved;
    VlArbitrationTable table;
    static constexpr auto kFields =
        fields(field<&VlArbitrationTableRecord::lid, 16>("lid"),
               field<&VlArbitrationTableRecord::output_port, 8>("output_port"),
               field<&VlArbitrationTableRecord::block, 8>("block"),
               field<&VlArbitrationTableRecord::reserved, 32>("reserved"),
               field<&VlArbitrationTableRecord::table, 512>("table"));
};

enum JoinState : uint8_t {
    kJoinFullMember = 1,
    kJoinNonMember = 2,
    kJoinSendOnlyNonMember = 4,
    kJoinSendOnlyFullMember = 8,
};

struct McMemberRecord {
    static constexpr size_t kSize = 52;
    Gid mgid;
    Gid port_gid;
    QKey qkey;
    Lid mlid;
    uint8_t mtu_selector = 0;
    uint8_t mtu = 0;
    uint8_t traffic_class = 0;
    PKey pkey;
    uint8_t rate_selector = 0;
    uint8_t rate = 0;
    uint8_t life_time_selector = 0;
    uint8_t life_time = 0;
    uint8_t service_level = 0;
    Bits32 flow_label;
    uint8_t hop_limit = 0;
    Bits8 scope;
    Bits8 join_state;
    bool proxy_join = false;
    Bits32 reserved;
    static constexpr auto kFields =
        fields(field<&McMemberRecord::mgid, 128>("mgid"),
               field<&McMemberRecord::port_gid, 128>("port_gid"),
               field<&McMemberRecord::qkey, 32>("qkey"), field<&McMemberRecord::mlid, 16>("mlid"),
               field<&McMemberRecord::mtu_selector, 2>("mtu_selector"),
               field<&McMemberRecord::mtu, 6>("mtu"),
               field<&McMemberRecord::traffic_class, 8>("traffic_class"),
               field<&McMemberRecord::pkey, 16>("pkey"),
               field<&McMemberRecord::rate_selector, 2>("rate_selector"),
               field<&McMemberRecord::rate, 6>("rate"),
               field<&McMemberRecord::life_time_selector, 2>("life_time_selector"),
               field<&McMemberRecord::life_time, 6>("life_time"),
               field<&McMemberRecord::service_level, 4>("service_level"),
               field<&McMemberRecord::flow_label, 20>("flow_label"),
               field<&McMemberRecord::hop_limit, 8>("hop_limit"),
               field<&McMemberRecord::scope, 4>("scope"),
               field<&McMemberRecord::join_state, 4>("join_state"),
               field<&McMemberRecord::proxy_join, 1>("proxy_join"),
               field<&McMemberRecord::reserved, 23>("reserved"));
};

struct TraceRecord {
    static constexpr size_t kSize = 46;
    Key64 gid_prefix;
    uint16_t id_generation = 0;
    Bits8 reserved;
    uint8_t node_type = 0;
    Guid node_id;
    Guid chassis_id;
    Guid entry_port_id;
    Guid exit_port_id;
    uint8_t entry_port = 0;
    uint8_t exit_port = 0;
    static constexpr auto kFields = fields(field<&TraceRecord::gid_prefix, 64>("gid_prefix"),
                                           field<&TraceRecord::id_generation, 16>("id_generation"),
                                           field<&TraceRecord::reserved, 8>("reserved"),
                                           field<&TraceRecord::node_type, 8>("node_type"),
                                           field<&TraceRecord::node_id, 64>("node_id"),
                                           field<&TraceRecord::chassis_id, 64>("chassis_id"),
                                           field<&TraceRecord::entry_port_id, 64>("entry_port_id"),
                                           field<&TraceRecord::exit_port_id, 64>("exit_port_id"),
                                           field<&TraceRecord::entry_port, 8>("entry_port"),
                                           field<&TraceRecord::exit_port, 8>("exit_port"));
};

// Without its list of source and destination GIDs, which follows and may go on in later segments.
struct MultiPathRecord {
    static constexpr size_t kSize = 24;
    bool raw_traffic = false;
    Bits8 reserved;
    Bits32 flow_label;
    uint8_t hop_limit = 0;
    uint8_t traffic_class = 0;
    bool reversible = false;
    uint8_t path_count = 0;
    PKey pkey;
    uint16_t qos_class = 0;
    uint8_t service_level = 0;
    uint8_t mtu_selector = 0;
    uint8_t mtu = 0;
    uint8_t rate_selector = 0;
    uint8_t rate = 0;
    uint8_t life_time_selector = 0;
    uint8_t life_time = 0;
    Bits8 service_id_high;
    uint8_t independence_selector = 0;
    Bits8 gid_scope;
    uint8_t sgid_count = 0;
    uint8_t dgid_count = 0;
    Key64 service_id_low;
    static constexpr auto kFields =
        fields(field<&MultiPathRecord::raw_traffic, 1>("raw_traffic"),
               field<&MultiPathRecord::reserved, 3>("reserved"),
               field<&MultiPathRecord::flow_label, 20>("flow_label"),
               field<&MultiPathRecord::hop_limit, 8>("hop_limit"),
               field<&MultiPathRecord::traffic_class, 8>("traffic_class"),
               field<&MultiPathRecord::reversible, 1>("reversible"),
               field<&MultiPathRecord::path_count, 7>("path_count"),
               field<&MultiPathRecord::pkey, 16>("pkey"),
               field<&MultiPathRecord::qos_class, 12>("qos_class"),
               field<&MultiPathRecord::service_level, 4>("service_level"),
               field<&MultiPathRecord::mtu_selector, 2>("mtu_selector"),
               field<&MultiPathRecord::mtu, 6>("mtu"),
               field<&MultiPathRecord::rate_selector, 2>("rate_selector"),
               field<&MultiPathRecord::rate, 6>("rate"),
               field<&MultiPathRecord::life_time_selector, 2>("life_time_selector"),
               field<&MultiPathRecord::life_time, 6>("life_time"),
               field<&MultiPathRecord::service_id_high, 8>("service_id_high"),
               field<&MultiPathRecord::independence_selector, 2>("independence_selector"),
               field<&MultiPathRecord::gid_scope, 6>("gid_scope"),
               field<&MultiPathRecord::sgid_count, 8>("sgid_count"),
               field<&MultiPathRecord::dgid_count, 8>("dgid_count"),
               field<&MultiPathRecord::service_id_low, 56>("service_id_low"));
};

struct ServiceAssociationRecord {
    static constexpr size_t kSize = 80;
    std::array<uint8_t, 16> service_key{};
    std::array<char, 64> service_name{};
    static constexpr auto kFields =
        fields(field<&ServiceAssociationRecord::service_key, 128>("service_key"),
               field<&ServiceAssociationRecord::service_name, 512>("service_name"));
};

struct InformInfo {
    static constexpr size_t kSize = 36;
    Gid gid;
    Lid lid_range_begin;  // all ones: every LID
    Lid lid_range_end;
    Bits16 reserved;
    uint8_t is_generic = 0;
    uint8_t subscribe = 0;
    Bits16 type;               // NoticeType; all ones: every type
    uint16_t trap_number = 0;  // all ones: every trap; the device's identifier if not generic
    Qpn qp;
    Bits8 reserved2;
    uint8_t response_time = 0;
    Bits8 reserved3;
    Bits32 producer_type;  // a NodeType; all ones: all; the vendor's OUI if not generic
    static constexpr auto kFields =
        fields(field<&InformInfo::gid, 128>("gid"),
               field<&InformInfo::lid_range_begin, 16>("lid_range_begin"),
               field<&InformInfo::lid_range_end, 16>("lid_range_end"),
               field<&InformInfo::reserved, 16>("reserved"),
               field<&InformInfo::is_generic, 8>("is_generic"),
               field<&InformInfo::subscribe, 8>("subscribe"), field<&InformInfo::type, 16>("type"),
               field<&InformInfo::trap_number, 16>("trap_number"), field<&InformInfo::qp, 24>("qp"),
               field<&InformInfo::reserved2, 3>("reserved2"),
               field<&InformInfo::response_time, 5>("response_time"),
               field<&InformInfo::reserved3, 8>("reserved3"),
               field<&InformInfo::producer_type, 24>("producer_type"));
};

struct InformInfoRecord {
    static constexpr size_t kSize = 60;
    Gid subscriber_gid;
    uint16_t enumeration = 0;
    std::array<uint8_t, 6> reserved{};
    InformInfo inform_info;
    static constexpr auto kFields =
        fields(field<&InformInfoRecord::subscriber_gid, 128>("subscriber_gid"),
               field<&InformInfoRecord::enumeration, 16>("enumeration"),
               field<&InformInfoRecord::reserved, 48>("reserved"),
               field<&InformInfoRecord::inform_info, 288>("inform_info"));
};

}  // namespace tulle::wire
