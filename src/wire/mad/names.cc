#include "wire/mad/names.h"

#include <array>

#include "wire/mad/cm.h"
#include "wire/mad/congestion.h"
#include "wire/mad/mad.h"
#include "wire/mad/perf.h"
#include "wire/mad/sa.h"
#include "wire/mad/smp.h"

namespace tulle::wire {
namespace {

constexpr std::string_view kUnknown = "unknown";

template <class Number>
struct Name {
    Number number;
    std::string_view name;
};

template <class Number, size_t N>
constexpr std::string_view look_up(const std::array<Name<Number>, N>& table, Number number) {
    for (const auto& entry : table) {
        if (entry.number == number) return entry.name;
    }
    return kUnknown;
}

constexpr std::array kClasses = std::to_array<Name<uint8_t>>({
    {kClassSubnetLidRouted, "SubnMgt"},
    {kClassSubnetDirectedRoute, "SubnMgtDR"},
    {kClassSubnetAdministration, "SubnAdm"},
    {kClassPerformance, "Perf"},
    {kClassBoard, "BM"},
    {kClassDevice, "DevMgt"},
    {kClassCommunication, "ComMgt"},
    {kClassSnmp, "SNMP"},
    {kClassDeviceAdministration, "DevAdm"},
    {kClassBootInformation, "BIS"},
    {kClassCongestionControl, "CongMgt"},
});

constexpr std::array kMethods = std::to_array<Name<uint8_t>>({
    {kMethodGet, "Get"},
    {kMethodSet, "Set"},
    {kMethodSend, "Send"},
    {kMethodTrap, "Trap"},
    {kMethodReport, "Report"},
    {kMethodTrapRepress, "TrapRepress"},
    {kMethodGetResp, "GetResp"},
    {kMethodReportResp, "ReportResp"},
});

constexpr std::array kSaMethods = std::to_array<Name<uint8_t>>({
    {kMethodGetTable, "GetTable"},
    {kMethodGetTraceTable, "GetTraceTable"},
    {kMethodGetMulti, "GetMulti"},
    {kMethodDelete, "Delete"},
    {kMethodGetTableResp, "GetTableResp"},
    {kMethodGetMultiResp, "GetMultiResp"},
    {kMethodDeleteResp, "DeleteResp"},
});

constexpr std::array kCommonAttributes = std::to_array<Name<uint16_t>>({
    {kAttributeClassPortInfo, "ClassPortInfo"},
    {kAttributeNotice, "Notice"},
    {kAttributeInformInfo, "InformInfo"},
});

constexpr std::array kSmpAttributes = std::to_array<Name<uint16_t>>({
    {kSmpNotice, "Notice"},
    {kSmpNodeDescription, "NodeDescription"},
    {kSmpNodeInfo, "NodeInfo"},
    {kSmpSwitchInfo, "SwitchInfo"},
    {kSmpGuidInfo, "GUIDInfo"},
    {kSmpPortInfo, "PortInfo"},
    {kSmpPKeyTable, "P_KeyTable"},
    {kSmpSlToVlMappingTable, "SLtoVLMappingTable"},
    {kSmpVlArbitrationTable, "VLArbitrationTable"},
    {kSmpLinearForwardingTable, "LinearForwardingTable"},
    {kSmpRandomForwardingTable, "RandomForwardingTable"},
    {kSmpMulticastForwardingTable, "MulticastForwardingTable"},
    {kSmpLinkSpeedWidthPairsTable, "LinkSpeedWidthPairsTable"},
    {kSmpVendorMadsTable, "VendorSpecificMadsTable"},
    {kSmpSmInfo, "SMInfo"},
    {kSmpVendorDiag, "VendorDiag"},
    {kSmpLedInfo, "LedInfo"},
    {kSmpCableInfo, "CableInfo"},
    {kSmpPortInfoExtended, "PortInfoExtended"},
});

constexpr std::array kSaAttributes = std::to_array<Name<uint16_t>>({
    {kSaNodeRecord, "NodeRecord"},
    {kSaPortInfoRecord, "PortInfoRecord"},
    {kSaSlToVlMappingTableRecord, "SLtoVLMappingTableRecord"},
    {kSaSwitchInfoRecord, "SwitchInfoRecord"},
    {kSaLinearForwardingTableRecord, "LinearForwardingTableRecord"},
    {kSaRandomForwardingTableRecord, "RandomForwardingTableRecord"},
    {kSaMulticastForwardingTableRecord, "MulticastForwardingTableRecord"},
    {kSaSmInfoRecord, "SMInfoRecord"},
    {kSaLinkSpeedWidthPairsTableRecord, "LinkSpeedWidthPairsTableRecord"},
    {kSaLinkRecord, "LinkRecord"},
    {kSaGuidInfoRecord, "GuidInfoRecord"},
    {kSaServiceRecord, "ServiceRecord"},
    {kSaPKeyTableRecord, "P_KeyTableRecord"},
    {kSaPathRecord, "PathRecord"},
    {kSaVlArbitrationTableRecord, "VLArbitrationTableRecord"},
    {kSaMcMemberRecord, "MCMemberRecord"},
    {kSaTraceRecord, "TraceRecord"},
    {kSaMultiPathRecord, "MultiPathRecord"},
    {kSaServiceAssociationRecord, "ServiceAssociationRecord"},
    {kSaInformInfoRecord, "InformInfoRecord"},
});

constexpr std::array kPerfAttributes = std::to_array<Name<uint16_t>>({
    {kPerfPortSamplesControl, "PortSamplesControl"},
    {kPerfPortSamplesResult, "PortSamplesResult"},
    {kPerfPortCounters, "PortCounters"},
    {kPerfPortRcvErrorDetails, "PortRcvErrorDetails"},
    {kPerfPortXmitDiscardDetails, "PortXmitDiscardDetails"},
    {kPerfPortOpRcvCounters, "PortOpRcvCounters"},
    {kPerfPortFlowCtlCounters, "PortFlowCtlCounters"},
    {kPerfPortVlOpPackets, "PortVLOpPackets"},
    {kPerfPortVlOpData, "PortVLOpData"},
    {kPerfPortVlXmitFlowCtlUpdateErrors, "PortVLXmitFlowCtlUpdateErrors"},
    {kPerfPortVlXmitWaitCounters, "PortVLXmitWaitCounters"},
    {kPerfPortCountersExtended, "PortCountersExtended"},
    {kPerfPortExtendedSpeedsCounters, "PortExtendedSpeedsCounters"},
    {kPerfSwPortVlCongestion, "SwPortVLCongestion"},
    {kPerfPortRcvConCtrl, "PortRcvConCtrl"},
    {kPerfPortSlRcvFecn, "PortSLRcvFECN"},
    {kPerfPortSlRcvBecn, "PortSLRcvBECN"},
    {kPerfPortXmitConCtrl, "PortXmitConCtrl"},
    {kPerfPortVlXmitTimeCong, "PortVLXmitTimeCong"},
    {kPerfPortXmitDataSl, "PortXmitDataSL"},
    {kPerfPortRcvDataSl, "PortRcvDataSL"},
});

constexpr std::array kCmAttributes = std::to_array<Name<uint16_t>>({
    {kCmReq, "ConnectRequest"},
    {kCmMra, "MsgRcptAck"},
    {kCmRej, "ConnectReject"},
    {kCmRep, "ConnectReply"},
    {kCmRtu, "ReadyToUse"},
    {kCmDreq, "DisconnectRequest"},
    {kCmDrep, "DisconnectReply"},
    {kCmSidrReq, "ServiceIDResReq"},
    {kCmSidrRep, "ServiceIDResReqResp"},
    {kCmLap, "LoadAlternatePath"},
    {kCmApr, "AlternatePathResponse"},
    {kCmSap, "SuggestAlternatePath"},
    {kCmSpr, "SuggestPathResponse"},
});

constexpr std::array kCongestionAttributes = std::to_array<Name<uint16_t>>({
    {kCongestionInfo, "CongestionInfo"},
    {kCongestionKeyInfo, "CongestionKeyInfo"},
    {kCongestionLog, "CongestionLog"},
    {kCongestionSwitchSetting, "SwitchCongestionSetting"},
    {kCongestionSwitchPortSetting, "SwitchPortCongestionSetting"},
    {kCongestionCaSetting, "CACongestionSetting"},
    {kCongestionControlTable, "CongestionControlTable"},
    {kCongestionTimeStamp, "TimeStamp"},
});

constexpr std::array kInvalidFields = std::to_array<Name<uint16_t>>({
    {kStatusOk, "ok"},
    {kStatusBadVersion, "bad version"},
    {kStatusMethodUnsupported, "method not supported"},
    {kStatusMethodAttributeUnsupported, "method and attribute not supported"},
    {kStatusInvalidValue, "invalid value"},
});

constexpr std::array kSaStatuses = std::to_array<Name<uint16_t>>({
    {kStatusSaNoResources, "no resources"},
    {kStatusSaRequestInvalid, "request invalid"},
    {kStatusSaNoRecords, "no records"},
    {kStatusSaTooManyRecords, "too many records"},
    {kStatusSaInvalidGid, "invalid GID"},
    {kStatusSaInsufficientComponents, "insufficient components"},
    {kStatusSaDenied, "request denied"},
    {kStatusSaPrioritySuggested, "priority suggested"},
});

constexpr std::array kRmppTypes = std::to_array<Name<uint8_t>>({
    {0, "none"},
    {kRmppData, "DATA"},
    {kRmppAck, "ACK"},
    {kRmppStop, "STOP"},
    {kRmppAbort, "ABORT"},
});

constexpr std::array kRmppFlags = std::to_array<std::string_view>({
    "none",
    "Active",
    "First",
    "Active First",
    "Last",
    "Active Last",
    "First Last",
    "Active First Last",
});

constexpr std::array kRmppStatuses = std::to_array<Name<uint8_t>>({
    {kRmppOk, "ok"},
    {kRmppResourcesExhausted, "resources exhausted"},
    {kRmppTotalTimeTooLong, "total time too long"},
    {kRmppBadLastLength, "inconsistent last and payload length"},
    {kRmppBadFirstSegment, "inconsistent first and segment number"},
    {kRmppBadType, "bad type"},
    {kRmppWindowTooSmall, "new window last too small"},
    {kRmppSegmentTooBig, "segment number too big"},
    {kRmppIllegalStatus, "illegal status"},
    {kRmppBadVersion, "unsupported version"},
    {kRmppTooManyRetries, "too many retries"},
    {kRmppUnspecified, "unspecified"},
});

std::string_view own_attribute_name(uint8_t management_class, uint16_t attribute_id) {
    switch (management_class) {
        case kClassSubnetLidRouted:
        case kClassSubnetDirectedRoute: return look_up(kSmpAttributes, attribute_id);
        case kClassSubnetAdministration: return look_up(kSaAttributes, attribute_id);
        case kClassPerformance: return look_up(kPerfAttributes, attribute_id);
        case kClassCommunication: return look_up(kCmAttributes, attribute_id);
        case kClassCongestionControl: return look_up(kCongestionAttributes, attribute_id);
        default: return kUnknown;
    }
}

bool is_subnet_management(uint8_t management_class) {
    return management_class == kClassSubnetLidRouted ||
           management_class == kClassSubnetDirectedRoute;
}

}  // namespace

std::string_view class_name(uint8_t management_class) {
    if (management_class >= kClassVendorFirst && management_class <= kClassVendorLast)
        return "Vendor";
    if (management_class >= kClassVendorOuiFirst && management_class <= kClassVendorOuiLast)
        return "VendorOUI";
    return look_up(kClasses, management_class);
}

std::string_view method_name(uint8_t management_class, uint8_t method) {
    const std::string_view name = look_up(kMethods, method);
    if (name != kUnknown || management_class != kClassSubnetAdministration) return name;
    return look_up(kSaMethods, method);
}

std::string_view attribute_name(uint8_t management_class, uint16_t attribute_id) {
    const std::string_view name = own_attribute_name(management_class, attribute_id);
    if (name != kUnknown || is_subnet_management(management_class)) return name;
    return look_up(kCommonAttributes, attribute_id);
}

std::string_view status_name(uint8_t management_class, uint16_t status) {
    const uint16_t own = status & kStatusClassMask;
    if (own != 0 && management_class == kClassSubnetAdministration)
        return look_up(kSaStatuses, own);
    if (own != 0) return "class-specific";
    if ((status & kStatusInvalidFieldMask) != 0)
        return look_up(kInvalidFields, static_cast<uint16_t>(status & kStatusInvalidFieldMask));
    if ((status & kStatusBusy) != 0) return "busy";
    if ((status & kStatusRedirect) != 0) return "redirect";
    return look_up(kInvalidFields, status);
}

std::string_view rmpp_type_name(uint8_t type) {
    return look_up(kRmppTypes, type);
}

std::string_view rmpp_flags_name(uint8_t flags) {
    return flags < kRmppFlags.size() ? kRmppFlags[flags] : kUnknown;
}

std::string_view rmpp_status_name(uint8_t status) {
    return look_up(kRmppStatuses, status);
}

}  // namespace tulle::wire
