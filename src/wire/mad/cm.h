// Communication management (IBTA vol 1, 12.6): the 232 bytes after the common header are one
// message; the attribute says which. REQ, REP and RTU join two queue pairs, DREQ and DREP part
// them, MRA asks for time, REJ refuses, LAP and APR move to another path, SIDR finds a datagram
// service. The vendor bytes, once reserved, are the enhanced connection establishment of later
// releases. How the message says IP addresses and ports is in ip_cm.h.
#pragma once

#include <string_view>

#include "wire/mad/mad.h"

namespace tulle::wire {

inline constexpr size_t kCmDataOffset = 24;
inline constexpr size_t kCmDataSize = 232;
inline constexpr uint8_t kCmClassVersion = 2;

enum CmAttribute : uint16_t {
    kCmReq = 0x0010,
    kCmMra = 0x0011,
    kCmRej = 0x0012,
    kCmRep = 0x0013,
    kCmRtu = 0x0014,
    kCmDreq = 0x0015,
    kCmDrep = 0x0016,
    kCmSidrReq = 0x0017,
    kCmSidrRep = 0x0018,
    kCmLap = 0x0019,
    kCmApr = 0x001a,
    kCmSap = 0x001b,
    kCmSpr = 0x001c,
};

// Transport service type of a REQ; kCmExtended: see its extended transport type.
enum CmService : uint8_t { kCmRc = 0, kCmUc = 1, kCmRd = 2, kCmExtended = 3 };
inline constexpr uint8_t kCmExtendedXrc = 1;

// Which message an MRA or a REJ answers.
enum CmAnswered : uint8_t { kCmAnswersReq = 0, kCmAnswersRep = 1, kCmAnswersOther = 2 };

enum CmRejectReason : uint16_t {
    kCmRejectNoQp = 1,
    kCmRejectNoEec = 2,
    kCmRejectNoResources = 3,
    kCmRejectTimeout = 4,
    kCmRejectUnsupported = 5,
    kCmRejectInvalidCommunicationId = 6,
    kCmRejectInvalidInstance = 7,
    kCmRejectInvalidServiceId = 8,
    kCmRejectInvalidTransport = 9,
    kCmRejectStaleConnection = 10,
    kCmRejectNoRdc = 11,
    kCmRejectPrimaryGid = 12,
    kCmRejectPrimaryLid = 13,
    kCmRejectPrimarySl = 14,
    kCmRejectPrimaryTrafficClass = 15,
    kCmRejectPrimaryHopLimit = 16,
    kCmRejectPrimaryPacketRate = 17,
    kCmRejectAlternateGid = 18,
    kCmRejectAlternateLid = 19,
    kCmRejectAlternateSl = 20,
    kCmRejectAlternateTrafficClass = 21,
    kCmRejectAlternateHopLimit = 22,
    kCmRejectAlternatePacketRate = 23,
    kCmRejectPortAndCmRedirect = 24,
    kCmRejectPortRedirect = 25,
    kCmRejectInvalidMtu = 26,
    kCmRejectResponderResources = 27,
    kCmRejectConsumer = 28,
    kCmRejectRnrRetry = 29,
    kCmRejectDuplicateCommunicationId = 30,
    kCmRejectClassVersion = 31,
    kCmRejectPrimaryFlowLabel = 32,
    kCmRejectAlternateFlowLabel = 33,
    kCmRejectVendorOption = 35,
};

enum CmSidrStatus : uint8_t {
    kSidrValid = 0,
    kSidrServiceIdUnsupported = 1,
    kSidrRejected = 2,
    kSidrNoQp = 3,
    kSidrRedirect = 4,
    kSidrVersionUnsupported = 5,
};

enum CmAprStatus : uint8_t {
    kAprLoaded = 0,
    kAprInvalidCommunicationId = 1,
    kAprUnsupported = 2,
    kAprRejected = 3,
    kAprRedirect = 4,
    kAprIsCurrent = 5,
    kAprQpnMismatch = 6,
    kAprRemoteLid = 7,
    kAprRemoteGid = 8,
    kAprFlowLabel = 9,
    kAprTrafficClass = 10,
    kAprHopLimit = 11,
    kAprPacketRate = 12,
    kAprServiceLevel = 13,
};

// In words; "reserved" for numbers without a meaning.
std::string_view cm_reject_reason_name(uint16_t reason);
std::string_view cm_sidr_status_name(uint8_t status);
std::string_view cm_apr_status_name(uint8_t status);

// The primary or the alternate path in a REQ, seen from its sender.
struct CmReqPath {
    static constexpr size_t kSize = 44;
    Lid local_lid;
    Lid remote_lid;
    Gid local_gid;
    Gid remote_gid;
    Bits32 flow_label;
    Bits8 reserved;
    uint8_t packet_rate = 0;  // RateCode
    uint8_t traffic_class = 0;
    uint8_t hop_limit = 0;
    uint8_t service_level = 0;
    bool subnet_local = false;
    Bits8 reserved2;
    uint8_t local_ack_timeout = 0;  // 4.096 us * 2^n
    bool sap_supported = false;     // in the alternate path only
    Bits8 reserved3;
    static constexpr auto kFields = fields(
        field<&CmReqPath::local_lid, 16>("local_lid"),
        field<&CmReqPath::remote_lid, 16>("remote_lid"),
        field<&CmReqPath::local_gid, 128>("local_gid"),
        field<&CmReqPath::remote_gid, 128>("remote_gid"),
        field<&CmReqPath::flow_label, 20>("flow_label"), field<&CmReqPath::reserved, 6>("reserved"),
        field<&CmReqPath::packet_rate, 6>("packet_rate"),
        field<&CmReqPath::traffic_class, 8>("traffic_class"),
        field<&CmReqPath::hop_limit, 8>("hop_limit"),
        field<&CmReqPath::service_level, 4>("service_level"),
        field<&CmReqPath::subnet_local, 1>("subnet_local"),
        field<&CmReqPath::reserved2, 3>("reserved2"),
        field<&CmReqPath::local_ack_timeout, 5>("local_ack_timeout"),
        field<&CmReqPath::sap_supported, 1>("sap_supported"),
        field<&CmReqPath::reserved3, 2>("reserved3"));
};

struct CmReq {
    static constexpr size_t kSize = 232;
    Bits32 local_communication_id;
    Bits8 reserved;
    Bits32 vendor_id;
    Key64 service_id;
    Guid local_ca_guid;
    Bits32 reserved2;
    QKey local_qkey;
    Qpn local_qpn;
    uint8_t responder_resources = 0;
    EeContext local_eecn;
    uint8_t initiator_depth = 0;
    EeContext remote_eecn;
    uint8_t remote_cm_response_timeout = 0;  // 4.096 us * 2^n, as are all of this message
    uint8_t transport_service = 0;
    bool end_to_end_flow_control = false;
    Psn starting_psn;
    uint8_t local_cm_response_timeout = 0;
    uint8_t retry_count = 0;
    PKey pkey;
    uint8_t path_mtu = 0;  // MtuCode
    bool rdc_exists = false;
    uint8_t rnr_retry_count = 0;
    uint8_t max_cm_retries = 0;
    bool srq = false;
    uint8_t extended_transport = 0;
    CmReqPath primary;
    CmReqPath alternate;
    std::array<uint8_t, 92> private_data{};
    static constexpr auto kFields = fields(
        field<&CmReq::local_communication_id, 32>("local_communication_id"),
        field<&CmReq::reserved, 8>("reserved"), field<&CmReq::vendor_id, 24>("vendor_id"),
        field<&CmReq::service_id, 64>("service_id"),
        field<&CmReq::local_ca_guid, 64>("local_ca_guid"),
        field<&CmReq::reserved2, 32>("reserved2"), field<&CmReq::local_qkey, 32>("local_qkey"),
        field<&CmReq::local_qpn, 24>("local_qpn"),
        field<&CmReq::responder_resources, 8>("responder_resources"),
        field<&CmReq::local_eecn, 24>("local_eecn"),
        field<&CmReq::initiator_depth, 8>("initiator_depth"),
        field<&CmReq::remote_eecn, 24>("remote_eecn"),
        field<&CmReq::remote_cm_response_timeout, 5>("remote_cm_response_timeout"),
        field<&CmReq::transport_service, 2>("transport_service"),
        field<&CmReq::end_to_end_flow_control, 1>("end_to_end_flow_control"),
        field<&CmReq::starting_psn, 24>("starting_psn"),
        field<&CmReq::local_cm_response_timeout, 5>("local_cm_response_timeout"),
        field<&CmReq::retry_count, 3>("retry_count"), field<&CmReq::pkey, 16>("pkey"),
        field<&CmReq::path_mtu, 4>("path_mtu"), field<&CmReq::rdc_exists, 1>("rdc_exists"),
        field<&CmReq::rnr_retry_count, 3>("rnr_retry_count"),
        field<&CmReq::max_cm_retries, 4>("max_cm_retries"), field<&CmReq::srq, 1>("srq"),
        field<&CmReq::extended_transport, 3>("extended_transport"),
        field<&CmReq::primary, 352>("primary"), field<&CmReq::alternate, 352>("alternate"),
        field<&CmReq::private_data, 736>("private_data"));
};

struct CmMra {
    static constexpr size_t kSize = 232;
    Bits32 local_communication_id;
    Bits32 remote_communication_id;
    uint8_t message_mraed = 0;
    Bits8 reserved;
    uint8_t service_timeout = 0;
    Bits8 reserved2;
    std::array<uint8_t, 222> private_data{};
    static constexpr auto kFields = fields(
        field<&CmMra::local_communication_id, 32>("local_communication_id"),
        field<&CmMra::remote_communication_id, 32>("remote_communication_id"),
        field<&CmMra::message_mraed, 2>("message_mraed"), field<&CmMra::reserved, 6>("reserved"),
        field<&CmMra::service_timeout, 5>("service_timeout"),
        field<&CmMra::reserved2, 3>("reserved2"),
        field<&CmMra::private_data, 1776>("private_data"));
};

struct CmRej {
    static constexpr size_t kSize = 232;
    Bits32 local_communication_id;
    Bits32 remote_communication_id;
    uint8_t message_rejected = 0;
    Bits8 reserved;
    uint8_t reject_info_length = 0;
    Bits8 reserved2;
    uint16_t reason = 0;
    std::array<uint8_t, 72> additional_info{};
    std::array<uint8_t, 148> private_data{};
    static constexpr auto kFields =
        fields(field<&CmRej::local_communication_id, 32>("local_communication_id"),
               field<&CmRej::remote_communication_id, 32>("remote_communication_id"),
               field<&CmRej::message_rejected, 2>("message_rejected"),
               field<&CmRej::reserved, 6>("reserved"),
               field<&CmRej::reject_info_length, 7>("reject_info_length"),
               field<&CmRej::reserved2, 1>("reserved2"), field<&CmRej::reason, 16>("reason"),
               field<&CmRej::additional_info, 576>("additional_info"),
               field<&CmRej::private_data, 1184>("private_data"));
};

struct CmRep {
    static constexpr size_t kSize = 232;
    Bits32 local_communication_id;
    Bits32 remote_communication_id;
    QKey local_qkey;
    Qpn local_qpn;
    Bits8 vendor_id_high;
    EeContext local_eecn;
    Bits8 vendor_id_middle;
    Psn starting_psn;
    Bits8 vendor_id_low;
    uint8_t responder_resources = 0;
    uint8_t initiator_depth = 0;
    uint8_t target_ack_delay = 0;
    uint8_t failover_accepted = 0;
    bool end_to_end_flow_control = false;
    uint8_t rnr_retry_count = 0;
    bool srq = false;
    Bits8 reserved;
    Guid local_ca_guid;
    std::array<uint8_t, 196> private_data{};
    static constexpr auto kFields = fields(
        field<&CmRep::local_communication_id, 32>("local_communication_id"),
        field<&CmRep::remote_communication_id, 32>("remote_communication_id"),
        field<&CmRep::local_qkey, 32>("local_qkey"), field<&CmRep::local_qpn, 24>("local_qpn"),
        field<&CmRep::vendor_id_high, 8>("vendor_id_high"),
        field<&CmRep::local_eecn, 24>("local_eecn"),
        field<&CmRep::vendor_id_middle, 8>("vendor_id_middle"),
        field<&CmRep::starting_psn, 24>("starting_psn"),
        field<&CmRep::vendor_id_low, 8>("vendor_id_low"),
        field<&CmRep::responder_resources, 8>("responder_resources"),
        field<&CmRep::initiator_depth, 8>("initiator_depth"),
        field<&CmRep::target_ack_delay, 5>("target_ack_delay"),
        field<&CmRep::failover_accepted, 2>("failover_accepted"),
        field<&CmRep::end_to_end_flow_control, 1>("end_to_end_flow_control"),
        field<&CmRep::rnr_retry_count, 3>("rnr_retry_count"), field<&CmRep::srq, 1>("srq"),
        field<&CmRep::reserved, 4>("reserved"), field<&CmRep::local_ca_guid, 64>("local_ca_guid"),
        field<&CmRep::private_data, 1568>("private_data"));
};

struct CmRtu {
    static constexpr size_t kSize = 232;
    Bits32 local_communication_id;
    Bits32 remote_communication_id;
    std::array<uint8_t, 224> private_data{};
    static constexpr auto kFields =
        fields(field<&CmRtu::local_communication_id, 32>("local_communication_id"),
               field<&CmRtu::remote_communication_id, 32>("remote_communication_id"),
               field<&CmRtu::private_data, 1792>("private_data"));
};

struct CmDreq {
    static constexpr size_t kSize = 232;
    Bits32 local_communication_id;
    Bits32 remote_communication_id;
    Qpn remote_qpn;  // or end-to-end context
    Bits8 reserved;
    std::array<uint8_t, 220> private_data{};
    static constexpr auto kFields = fields(
        field<&CmDreq::local_communication_id, 32>("local_communication_id"),
        field<&CmDreq::remote_communication_id, 32>("remote_communication_id"),
        field<&CmDreq::remote_qpn, 24>("remote_qpn"), field<&CmDreq::reserved, 8>("reserved"),
        field<&CmDreq::private_data, 1760>("private_data"));
};

struct CmDrep {
    static constexpr size_t kSize = 232;
    Bits32 local_communication_id;
    Bits32 remote_communication_id;
    std::array<uint8_t, 224> private_data{};
    static constexpr auto kFields =
        fields(field<&CmDrep::local_communication_id, 32>("local_communication_id"),
               field<&CmDrep::remote_communication_id, 32>("remote_communication_id"),
               field<&CmDrep::private_data, 1792>("private_data"));
};

struct CmSidrReq {
    static constexpr size_t kSize = 232;
    Bits32 request_id;
    PKey pkey;
    Bits16 reserved;
    Key64 service_id;
    std::array<uint8_t, 216> private_data{};
    static constexpr auto kFields =
        fields(field<&CmSidrReq::request_id, 32>("request_id"), field<&CmSidrReq::pkey, 16>("pkey"),
               field<&CmSidrReq::reserved, 16>("reserved"),
               field<&CmSidrReq::service_id, 64>("service_id"),
               field<&CmSidrReq::private_data, 1728>("private_data"));
};

struct CmSidrRep {
    static constexpr size_t kSize = 232;
    Bits32 request_id;
    uint8_t status = 0;
    uint8_t additional_info_length = 0;
    Bits16 vendor_id_high;
    Qpn qpn;
    Bits8 vendor_id_low;
    Key64 service_id;
    QKey qkey;
    std::array<uint8_t, 72> additional_info{};
    std::array<uint8_t, 136> private_data{};
    static constexpr auto kFields = fields(
        field<&CmSidrRep::request_id, 32>("request_id"), field<&CmSidrRep::status, 8>("status"),
        field<&CmSidrRep::additional_info_length, 8>("additional_info_length"),
        field<&CmSidrRep::vendor_id_high, 16>("vendor_id_high"), field<&CmSidrRep::qpn, 24>("qpn"),
        field<&CmSidrRep::vendor_id_low, 8>("vendor_id_low"),
        field<&CmSidrRep::service_id, 64>("service_id"), field<&CmSidrRep::qkey, 32>("qkey"),
        field<&CmSidrRep::additional_info, 576>("additional_info"),
        field<&CmSidrRep::private_data, 1088>("private_data"));
};

struct CmLap {
    static constexpr size_t kSize = 232;
    Bits32 local_communication_id;
    Bits32 remote_communication_id;
    Bits32 reserved;
    Qpn remote_qpn;  // or end-to-end context
    uint8_t remote_cm_response_timeout = 0;
    Bits8 reserved2;
    Bits32 reserved3;
    Lid alternate_local_lid;
    Lid alternate_remote_lid;
    Gid alternate_local_gid;
    Gid alternate_remote_gid;
    Bits32 alternate_flow_label;
    Bits8 reserved4;
    uint8_t alternate_traffic_class = 0;
    uint8_t alternate_hop_limit = 0;
    Bits8 reserved5;
    uint8_t alternate_packet_rate = 0;
    uint8_t alternate_service_level = 0;
    bool alternate_subnet_local = false;
    Bits8 reserved6;
    uint8_t alternate_local_ack_timeout = 0;
    Bits8 reserved7;
    std::array<uint8_t, 168> private_data{};
    static constexpr auto kFields =
        fields(field<&CmLap::local_communication_id, 32>("local_communication_id"),
               field<&CmLap::remote_communication_id, 32>("remote_communication_id"),
               field<&CmLap::reserved, 32>("reserved"), field<&CmLap::remote_qpn, 24>("remote_qpn"),
               field<&CmLap::remote_cm_response_timeout, 5>("remote_cm_response_timeout"),
               field<&CmLap::reserved2, 3>("reserved2"), field<&CmLap::reserved3, 32>("reserved3"),
               field<&CmLap::alternate_local_lid, 16>("alternate_local_lid"),
               field<&CmLap::alternate_remote_lid, 16>("alternate_remote_lid"),
               field<&CmLap::alternate_local_gid, 128>("alternate_local_gid"),
               field<&CmLap::alternate_remote_gid, 128>("alternate_remote_gid"),
               field<&CmLap::alternate_flow_label, 20>("alternate_flow_label"),
               field<&CmLap::reserved4, 4>("reserved4"),
               field<&CmLap::alternate_traffic_class, 8>("alternate_traffic_class"),
               field<&CmLap::alternate_hop_limit, 8>("alternate_hop_limit"),
               field<&CmLap::reserved5, 2>("reserved5"),
               field<&CmLap::alternate_packet_rate, 6>("alternate_packet_rate"),
               field<&CmLap::alternate_service_level, 4>("alternate_service_level"),
               field<&CmLap::alternate_subnet_local, 1>("alternate_subnet_local"),
               field<&CmLap::reserved6, 3>("reserved6"),
               field<&CmLap::alternate_local_ack_timeout, 5>("alternate_local_ack_timeout"),
               field<&CmLap::reserved7, 3>("reserved7"),
               field<&CmLap::private_data, 1344>("private_data"));
};

struct CmApr {
    static constexpr size_t kSize = 232;
    Bits32 local_communication_id;
    Bits32 remote_communication_id;
    uint8_t additional_info_length = 0;
    uint8_t status = 0;
    Bits16 reserved;
    std::array<uint8_t, 72> additional_info{};
    std::array<uint8_t, 148> private_data{};
    static constexpr auto kFields =
        fields(field<&CmApr::local_communication_id, 32>("local_communication_id"),
               field<&CmApr::remote_communication_id, 32>("remote_communication_id"),
               field<&CmApr::additional_info_length, 8>("additional_info_length"),
               field<&CmApr::status, 8>("status"), field<&CmApr::reserved, 16>("reserved"),
               field<&CmApr::additional_info, 576>("additional_info"),
               field<&CmApr::private_data, 1184>("private_data"));
};

}  // namespace tulle::wire
