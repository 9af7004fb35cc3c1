// Subnet administration (IBTA vol 1, 15.2): queries and registrations at the subnet manager's
// database, on QP 1. A query is a record with some components filled in and a mask of which; the
// answer to GetTable is a list of records, cut by RMPP. The records are in sa_records.h.
#pragma once

#include "wire/mad/mad.h"

namespace tulle::wire {

inline constexpr size_t kSaDataOffset = 56;
inline constexpr size_t kSaDataSize = 200;

enum SaAttribute : uint16_t {
    kSaClassPortInfo = kAttributeClassPortInfo,
    kSaNotice = kAttributeNotice,
    kSaInformInfo = kAttributeInformInfo,
    kSaNodeRecord = 0x0011,
    kSaPortInfoRecord = 0x0012,
    kSaSlToVlMappingTableRecord = 0x0013,
    kSaSwitchInfoRecord = 0x0014,
    kSaLinearForwardingTableRecord = 0x0015,
    kSaRandomForwardingTableRecord = 0x0016,
    kSaMulticastForwardingTableRecord = 0x0017,
    kSaSmInfoRecord = 0x0018,
    kSaLinkSpeedWidthPairsTableRecord = 0x0019,
    kSaLinkRecord = 0x0020,
    kSaGuidInfoRecord = 0x0030,
    kSaServiceRecord = 0x0031,
    kSaPKeyTableRecord = 0x0033,
    kSaPathRecord = 0x0035,
    kSaVlArbitrationTableRecord = 0x0036,
    kSaMcMemberRecord = 0x0038,
    kSaTraceRecord = 0x0039,
    kSaMultiPathRecord = 0x003a,
    kSaServiceAssociationRecord = 0x003b,
    kSaInformInfoRecord = 0x00f3,
};

// Bytes 36 to 55, behind the RMPP header.
struct SaHeader {
    static constexpr size_t kSize = 20;
    Key64 sm_key;
    uint16_t attribute_offset = 0;  // from one record to the next, in units of 8 bytes
    Bits16 reserved;
    Key64 component_mask;  // bit n: component n of the record is meant
    static constexpr auto kFields =
        fields(field<&SaHeader::sm_key, 64>("sm_key"),
               field<&SaHeader::attribute_offset, 16>("attribute_offset"),
               field<&SaHeader::reserved, 16>("reserved"),
               field<&SaHeader::component_mask, 64>("component_mask"));
};

struct SaMad {
    static constexpr size_t kSize = 256;
    MadHeader header;
    RmppHeader rmpp;
    SaHeader sa;
    std::array<uint8_t, 200> data{};
    static constexpr auto kFields =
        fields(field<&SaMad::header, 192>("header"), field<&SaMad::rmpp, 96>("rmpp"),
               field<&SaMad::sa, 160>("sa"), field<&SaMad::data, 1600>("data"));
};

}  // namespace tulle::wire
