// Management datagrams (IBTA vol 1, 13.4): 256 bytes, of which the first 24 are common to every
// class of management. What follows them depends on the class: see smp.h, sa.h, perf.h, cm.h and
// congestion.h. Long answers are cut into segments by RMPP (13.6), whose header is also here.
//
// A MAD is moved rarely and read by people often: one struct a layer, an attribute a struct.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/ids.h"
#include "wire/layout.h"

namespace tulle::wire {

inline constexpr size_t kMadSize = 256;
inline constexpr uint8_t kMadBaseVersion = 1;

enum ManagementClass : uint8_t {
    kClassSubnetLidRouted = 0x01,
    kClassSubnetAdministration = 0x03,
    kClassPerformance = 0x04,
    kClassBoard = 0x05,
    kClassDevice = 0x06,
    kClassCommunication = 0x07,
    kClassSnmp = 0x08,
    kClassVendorFirst = 0x09,  // to 0x0f: no RMPP, no OUI
    kClassVendorLast = 0x0f,
    kClassDeviceAdministration = 0x10,
    kClassBootInformation = 0x12,
    kClassCongestionControl = 0x21,
    kClassVendorOuiFirst = 0x30,  // to 0x4f: with RMPP and an OUI
    kClassVendorOuiLast = 0x4f,
    kClassSubnetDirectedRoute = 0x81,
};

enum MadMethod : uint8_t {
    kMethodGet = 0x01,
    kMethodSet = 0x02,
    kMethodSend = 0x03,
    kMethodTrap = 0x05,
    kMethodReport = 0x06,
    kMethodTrapRepress = 0x07,
    kMethodGetTable = 0x12,  // this and the next three: subnet administration only
    kMethodGetTraceTable = 0x13,
    kMethodGetMulti = 0x14,
    kMethodDelete = 0x15,
    kMethodResponse = 0x80,  // bit R: an answer to the method in the other bits
    kMethodGetResp = 0x81,
    kMethodReportResp = 0x86,
    kMethodGetTableResp = 0x92,
    kMethodGetMultiResp = 0x94,
    kMethodDeleteResp = 0x95,
};

// The low byte of the status is common, the high byte belongs to the class (13.4.7).
enum MadStatus : uint16_t {
    kStatusOk = 0,
    kStatusBusy = 0x0001,
    kStatusRedirect = 0x0002,
    kStatusInvalidFieldMask = 0x001c,
    kStatusBadVersion = 0x0004,
    kStatusMethodUnsupported = 0x0008,
    kStatusMethodAttributeUnsupported = 0x000c,
    kStatusInvalidValue = 0x001c,
    kStatusClassMask = 0xff00,
    kStatusSaNoResources = 0x0100,  // from here on: subnet administration (15.2.2)
    kStatusSaRequestInvalid = 0x0200,
    kStatusSaNoRecords = 0x0300,
    kStatusSaTooManyRecords = 0x0400,
    kStatusSaInvalidGid = 0x0500,
    kStatusSaInsufficientComponents = 0x0600,
    kStatusSaDenied = 0x0700,
    kStatusSaPrioritySuggested = 0x0800,
};

// Attributes that mean the same in every class that has them (13.4.8).
enum CommonAttribute : uint16_t {
    kAttributeClassPortInfo = 0x0001,
    kAttributeNotice = 0x0002,
    kAttributeInformInfo = 0x0003,
};

// What every MAD begins with (13.4.2).
struct MadHeader {
    static constexpr size_t kSize = 24;
    uint8_t base_version = 0;
    Bits8 management_class;
    uint8_t class_version = 0;
    Bits8 method;  // bit 7: response
    Bits16 status;
    Bits16 class_specific;
    Key64 transaction_id;
    Bits16 attribute_id;
    Bits16 reserved;
    Bits32 attribute_modifier;
    static constexpr auto kFields =
        fields(field<&MadHeader::base_version, 8>("base_version"),
               field<&MadHeader::management_class, 8>("management_class"),
               field<&MadHeader::class_version, 8>("class_version"),
               field<&MadHeader::method, 8>("method"), field<&MadHeader::status, 16>("status"),
               field<&MadHeader::class_specific, 16>("class_specific"),
               field<&MadHeader::transaction_id, 64>("transaction_id"),
               field<&MadHeader::attribute_id, 16>("attribute_id"),
               field<&MadHeader::reserved, 16>("reserved"),
               field<&MadHeader::attribute_modifier, 32>("attribute_modifier"));
};

// Any MAD: for code that routes or answers them without a look inside.
struct Mad {
    static constexpr size_t kSize = 256;
    MadHeader header;
    std::array<uint8_t, 232> data{};
    static constexpr auto kFields =
        fields(field<&Mad::header, 192>("header"), field<&Mad::data, 1856>("data"));
};

enum RmppType : uint8_t { kRmppData = 1, kRmppAck = 2, kRmppStop = 3, kRmppAbort = 4 };

enum RmppFlag : uint8_t { kRmppActive = 0x1, kRmppFirst = 0x2, kRmppLast = 0x4 };

enum RmppStatus : uint8_t {
    kRmppOk = 0,
    kRmppResourcesExhausted = 1,
    kRmppTotalTimeTooLong = 118,
    kRmppBadLastLength = 119,
    kRmppBadFirstSegment = 120,
    kRmppBadType = 121,
    kRmppWindowTooSmall = 122,
    kRmppSegmentTooBig = 123,
    kRmppIllegalStatus = 124,
    kRmppBadVersion = 125,
    kRmppTooManyRetries = 126,
    kRmppUnspecified = 127,
};

// Reliable multi-packet transaction protocol (13.6.2).
struct RmppHeader {
    static constexpr size_t kSize = 12;
    uint8_t version = 0;
    uint8_t type = 0;
    uint8_t response_time = 0;  // 31: none given
    Bits8 flags;
    uint8_t status = 0;
    uint32_t segment_number = 0;  // STOP and ABORT: reserved
    uint32_t payload_length = 0;  // DATA; in an ACK the last segment of the new window
    static constexpr auto kFields =
        fields(field<&RmppHeader::version, 8>("version"), field<&RmppHeader::type, 8>("type"),
               field<&RmppHeader::response_time, 5>("response_time"),
               field<&RmppHeader::flags, 3>("flags"), field<&RmppHeader::status, 8>("status"),
               field<&RmppHeader::segment_number, 32>("segment_number"),
               field<&RmppHeader::payload_length, 32>("payload_length"));
};

// How to reach an agent of a class, and where its traps go (13.4.8.1).
struct ClassPortInfo {
    static constexpr size_t kSize = 72;
    uint8_t base_version = 0;
    uint8_t class_version = 0;
    Bits16
        capability_mask;  // bit 0: sends traps, bit 1: answers Get(Notice); from bit 8: the class's
    Bits32 capability_mask2;
    uint8_t response_time = 0;  // 4.096 us * 2^n
    Gid redirect_gid;
    uint8_t redirect_traffic_class = 0;
    uint8_t redirect_service_level = 0;
    Bits32 redirect_flow_label;
    Lid redirect_lid;
    PKey redirect_pkey;
    Bits8 reserved;
    Qpn redirect_qp;
    QKey redirect_qkey;
    Gid trap_gid;
    uint8_t trap_traffic_class = 0;
    uint8_t trap_service_level = 0;
    Bits32 trap_flow_label;
    Lid trap_lid;
    PKey trap_pkey;
    uint8_t trap_hop_limit = 0;
    Qpn trap_qp;
    QKey trap_qkey;
    static constexpr auto kFields =
        fields(field<&ClassPortInfo::base_version, 8>("base_version"),
               field<&ClassPortInfo::class_version, 8>("class_version"),
               field<&ClassPortInfo::capability_mask, 16>("capability_mask"),
               field<&ClassPortInfo::capability_mask2, 27>("capability_mask2"),
               field<&ClassPortInfo::response_time, 5>("response_time"),
               field<&ClassPortInfo::redirect_gid, 128>("redirect_gid"),
               field<&ClassPortInfo::redirect_traffic_class, 8>("redirect_traffic_class"),
               field<&ClassPortInfo::redirect_service_level, 4>("redirect_service_level"),
               field<&ClassPortInfo::redirect_flow_label, 20>("redirect_flow_label"),
               field<&ClassPortInfo::redirect_lid, 16>("redirect_lid"),
               field<&ClassPortInfo::redirect_pkey, 16>("redirect_pkey"),
               field<&ClassPortInfo::reserved, 8>("reserved"),
               field<&ClassPortInfo::redirect_qp, 24>("redirect_qp"),
               field<&ClassPortInfo::redirect_qkey, 32>("redirect_qkey"),
               field<&ClassPortInfo::trap_gid, 128>("trap_gid"),
               field<&ClassPortInfo::trap_traffic_class, 8>("trap_traffic_class"),
               field<&ClassPortInfo::trap_service_level, 4>("trap_service_level"),
               field<&ClassPortInfo::trap_flow_label, 20>("trap_flow_label"),
               field<&ClassPortInfo::trap_lid, 16>("trap_lid"),
               field<&ClassPortInfo::trap_pkey, 16>("trap_pkey"),
               field<&ClassPortInfo::trap_hop_limit, 8>("trap_hop_limit"),
               field<&ClassPortInfo::trap_qp, 24>("trap_qp"),
               field<&ClassPortInfo::trap_qkey, 32>("trap_qkey"));
};

// Classes 0x30 to 0x4f: RMPP, then who defined the rest (16.5); 216 bytes of data follow.
struct VendorHeader {
    static constexpr size_t kSize = 16;
    RmppHeader rmpp;
    Bits8 reserved;
    Bits32 oui;
    static constexpr auto kFields =
        fields(field<&VendorHeader::rmpp, 96>("rmpp"),
               field<&VendorHeader::reserved, 8>("reserved"), field<&VendorHeader::oui, 24>("oui"));
};

// Bytes without a meaning that this room knows.
template <size_t N>
struct RawData {
    static constexpr size_t kSize = N;
    std::array<uint8_t, N> data{};
    static constexpr auto kFields = fields(field<&RawData::data, 8 * N>("data"));
};

// The attribute at the start of a MAD's data area; that it fits is checked when this compiles.
template <Header A, size_t N>
A attribute_in(const std::array<uint8_t, N>& data) {
    static_assert(A::kSize <= N);
    return *parse<A>(std::as_bytes(std::span(data)));
}

// Puts an attribute at the start of a MAD's data area; the bytes behind it stay.
template <Header A, size_t N>
void put_attribute(const A& attribute, std::array<uint8_t, N>& data) {
    static_assert(A::kSize <= N);
    write(attribute, std::as_writable_bytes(std::span(data)));
}

}  // namespace tulle::wire
