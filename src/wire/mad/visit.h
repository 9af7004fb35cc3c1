// A management datagram taken apart: for printers, tests and whoever shows packets to people.
//
//     visit_mad(bytes, [](const char* layer, const auto& header) { ... });
//
// Each layer is handed over as the struct of its header, in the order of the wire: the common
// header, the class's own, then the attribute. The bytes may be anything; what nobody knows comes
// as RawData. The price of one instantiation is a parser and a visit for each of some eighty
// structs: include this in one file of a program, not in a header.
#pragma once

#include <algorithm>
#include <tuple>

#include "wire/mad/cm.h"
#include "wire/mad/congestion.h"
#include "wire/mad/ip_cm.h"
#include "wire/mad/mad.h"
#include "wire/mad/names.h"
#include "wire/mad/notice.h"
#include "wire/mad/perf.h"
#include "wire/mad/port_info.h"
#include "wire/mad/sa.h"
#include "wire/mad/sa_records.h"
#include "wire/mad/smp.h"
#include "wire/mad/smp_attributes.h"
#include "wire/mad/smp_tables.h"

namespace tulle::wire {

// Calls visit(const char* layer, const Header& header) for each layer. True if all was understood;
// false if bytes came as RawData, or nothing did because there are fewer than 256. Bytes behind
// these are not looked at.
template <class Visitor>
bool visit_mad(Bytes mad, Visitor&& visit);

// ---------------------------------------------------------------------------------------------

namespace mad_layers {

template <uint16_t Number, Header H>
struct Known {
    static constexpr uint16_t kNumber = Number;
    using Layer = H;
};

using Traps =
    std::tuple<Known<kTrapInService, TrapGid>, Known<kTrapOutOfService, TrapGid>,
               Known<kTrapMulticastGroupCreated, TrapGid>,
               Known<kTrapMulticastGroupDeleted, TrapGid>,
               Known<kTrapLinkStateChanged, TrapLinkState>, Known<kTrapLinkIntegrity, TrapPort>,
               Known<kTrapBufferOverrun, TrapPort>, Known<kTrapFlowControlWatchdog, TrapPort>,
               Known<kTrapCapabilityChanged, TrapCapability>,
               Known<kTrapSystemImageGuidChanged, TrapSystemImageGuid>,
               Known<kTrapBadMKey, TrapMKey>, Known<kTrapBadPKey, TrapKey>,
               Known<kTrapBadQKey, TrapKey>, Known<kTrapSwitchBadPKey, TrapSwitchPKey>>;

using CongestionTraps = std::tuple<Known<0, TrapCcKey>>;

using SmpAttributes =
    std::tuple<Known<kSmpNotice, Notice>, Known<kSmpNodeDescription, NodeDescription>,
               Known<kSmpNodeInfo, NodeInfo>, Known<kSmpSwitchInfo, SwitchInfo>,
               Known<kSmpGuidInfo, GuidInfo>, Known<kSmpPortInfo, PortInfo>,
               Known<kSmpPKeyTable, PKeyTable>, Known<kSmpSlToVlMappingTable, SlToVlMappingTable>,
               Known<kSmpVlArbitrationTable, VlArbitrationTable>,
               Known<kSmpLinearForwardingTable, LinearForwardingTable>,
               Known<kSmpRandomForwardingTable, RandomForwardingTable>,
               Known<kSmpMulticastForwardingTable, MulticastForwardingTable>,
               Known<kSmpSmInfo, SmInfo>, Known<kSmpVendorDiag, VendorDiag>,
               Known<kSmpLedInfo, LedInfo>, Known<kSmpPortInfoExtended, PortInfoExtended>>;

using SaAttributes =
    std::tuple<Known<kSaClassPortInfo, ClassPortInfo>, Known<kSaNotice, ForwardedNotice>,
               Known<kSaInformInfo, InformInfo>, Known<kSaNodeRecord, NodeRecord>,
               Known<kSaPortInfoRecord, PortInfoRecord>,
               Known<kSaSlToVlMappingTableRecord, SlToVlMappingTableRecord>,
               Known<kSaSwitchInfoRecord, SwitchInfoRecord>,
               Known<kSaLinearForwardingTableRecord, LinearForwardingTableRecord>,
               Known<kSaRandomForwardingTableRecord, RandomForwardingTableRecord>,
               Known<kSaMulticastForwardingTableRecord, MulticastForwardingTableRecord>,
               Known<kSaSmInfoRecord, SmInfoRecord>, Known<kSaLinkRecord, LinkRecord>,
               Known<kSaGuidInfoRecord, GuidInfoRecord>, Known<kSaServiceRecord, ServiceRecord>,
               Known<kSaPKeyTableRecord, PKeyTableRecord>, Known<kSaPathRecord, PathRecord>,
               Known<kSaVlArbitrationTableRecord, VlArbitrationTableRecord>,
               Known<kSaMcMemberRecord, McMemberRecord>, Known<kSaTraceRecord, TraceRecord>,
               Known<kSaMultiPathRecord, MultiPathRecord>,
               Known<kSaServiceAssociationRecord, ServiceAssociationRecord>,
               Known<kSaInformInfoRecord, InformInfoRecord>>;

using PerfAttributes = std::tuple<
    Known<kPerfClassPortInfo, ClassPortInfo>, Known<kPerfPortSamplesControl, PortSamplesControl>,
    Known<kPerfPortSamplesResult, PortSamplesResult>, Known<kPerfPortCounters, PortCounters>,
    Known<kPerfPortRcvErrorDetails, PortRcvErrorDetails>,
    Known<kPerfPortXmitDiscardDetails, PortXmitDiscardDetails>,
    Known<kPerfPortOpRcvCounters, PortOpRcvCounters>,
    Known<kPerfPortFlowCtlCounters, PortFlowCtlCounters>,
    Known<kPerfPortVlOpPackets, PortVlOpPackets>, Known<kPerfPortVlOpData, PortVlOpData>,
    Known<kPerfPortVlXmitFlowCtlUpdateErrors, PortVlXmitFlowCtlUpdateErrors>,
    Known<kPerfPortVlXmitWaitCounters, PortVlXmitWaitCounters>,
    Known<kPerfPortCountersExtended, PortCountersExtended>,
    Known<kPerfPortExtendedSpeedsCounters, PortExtendedSpeedsCounters>,
    Known<kPerfSwPortVlCongestion, SwPortVlCongestion>, Known<kPerfPortRcvConCtrl, PortRcvConCtrl>,
    Known<kPerfPortSlRcvFecn, PortSlRcvFecn>, Known<kPerfPortSlRcvBecn, PortSlRcvBecn>,
    Known<kPerfPortXmitConCtrl, PortXmitConCtrl>,
    Known<kPerfPortVlXmitTimeCong, PortVlXmitTimeCong>, Known<kPerfPortXmitDataSl, PortXmitDataSl>,
    Known<kPerfPortRcvDataSl, PortRcvDataSl>>;

using CmAttributes =
    std::tuple<Known<kAttributeClassPortInfo, ClassPortInfo>, Known<kCmReq, CmReq>,
               Known<kCmMra, CmMra>, Known<kCmRej, CmRej>, Known<kCmRep, CmRep>,
               Known<kCmRtu, CmRtu>, Known<kCmDreq, CmDreq>, Known<kCmDrep, CmDrep>,
               Known<kCmSidrReq, CmSidrReq>, Known<kCmSidrRep, CmSidrRep>, Known<kCmLap, CmLap>,
               Known<kCmApr, CmApr>>;

using CongestionAttributes =
    std::tuple<Known<kCongestionClassPortInfo, ClassPortInfo>,
               Known<kCongestionNotice, ForwardedNotice>, Known<kCongestionInfo, CongestionInfo>,
               Known<kCongestionKeyInfo, CongestionKeyInfo>,
               Known<kCongestionSwitchSetting, SwitchCongestionSetting>,
               Known<kCongestionSwitchPortSetting, SwitchPortCongestionSetting>,
               Known<kCongestionCaSetting, CaCongestionSetting>,
               Known<kCongestionControlTable, CongestionControlTable>,
               Known<kCongestionTimeStamp, CongestionTimeStamp>>;

// Finds the layer of that number in the list and calls found.template operator()<Layer>().
template <class List, class Found>
bool with_layer(uint16_t number, Found&& found) {
    return [&]<class... K>(std::type_identity<std::tuple<K...>>) {
        return ((K::kNumber == number && (found.template operator()<typename K::Layer>(), true)) ||
                ...);
    }(std::type_identity<List>{});
}

// One datagram under way to one visitor.
template <class Visitor>
class Walk {
public:
    Walk(Bytes mad, Visitor& visit) : mad_(mad), header_(*parse<MadHeader>(mad)), visit_(visit) {}

    bool run() {
        const uint8_t management_class = header_.management_class.value;
        if (management_class == kClassSubnetDirectedRoute) return directed_route();
        visit_("MAD", header_);
        switch (management_class) {
            case kClassSubnetLidRouted: return lid_routed();
            case kClassSubnetAdministration: return administration();
            case kClassPerformance:
                return attribute<PerfAttributes, kPerfDataSize>(mad_.subspan(kPerfDataOffset));
            case kClassCommunication:
                return attribute<CmAttributes, kCmDataSize>(mad_.subspan(kCmDataOffset));
            case kClassCongestionControl: return congestion();
            default: return unknown_class();
        }
    }

private:
    bool lid_routed() {
        layer<LidRoutedHeader>("SMP", mad_.subspan(MadHeader::kSize));
        return attribute<SmpAttributes, kSmpDataSize>(mad_.subspan(kSmpDataOffset, kSmpDataSize));
    }

    bool directed_route() {
        layer<DirectedMadHeader>("MAD", mad_);
        layer<DirectedRouteHeader>("DR SMP", mad_.subspan(MadHeader::kSize));
        const bool known =
            attribute<SmpAttributes, kSmpDataSize>(mad_.subspan(kSmpDataOffset, kSmpDataSize));
        layer<DirectedRoutePaths>("DR paths", mad_.subspan(kSmpDataOffset + kSmpDataSize));
        return known;
    }

    bool administration() {
        const auto rmpp = layer<RmppHeader>("RMPP", mad_.subspan(MadHeader::kSize));
        const auto sa = layer<SaHeader>("SA", mad_.subspan(MadHeader::kSize + RmppHeader::kSize));
        const Bytes data = mad_.subspan(kSaDataOffset);
        if ((rmpp.flags.value & kRmppActive) == 0)
            return attribute<SaAttributes, kSaDataSize>(data);
        if (rmpp.type != kRmppData) return true;  // ACK, STOP, ABORT: nothing behind the header
        if (rmpp.segment_number != 1) return raw<kSaDataSize>(data);  // begins amid a record
        // The length of the first segment counts all segments, that of the last itself; both count
        // the SA header that each of them has.
        const bool only = (rmpp.flags.value & kRmppLast) != 0;
        const size_t length =
            rmpp.payload_length - std::min<size_t>(rmpp.payload_length, SaHeader::kSize);
        const size_t used = only ? std::min(length, kSaDataSize) : kSaDataSize;
        return attribute<SaAttributes, kSaDataSize>(data, used, size_t{8} * sa.attribute_offset);
    }

    bool congestion() {
        layer<CongestionHeader>("CC", mad_.subspan(MadHeader::kSize));
        if (header_.attribute_id.value != kCongestionLog)
            return attribute<CongestionAttributes, kCongestionDataSize>(
                mad_.subspan(kCongestionDataOffset));
        const Bytes log = mad_.subspan(kCongestionLogOffset);
        switch (std::to_integer<uint8_t>(log[0])) {
            case kCongestionLogSwitch:
                layer<SwitchCongestionLog>("CongestionLog", log);
                return true;
            case kCongestionLogCa: layer<CaCongestionLog>("CongestionLog", log); return true;
            default: return raw<kMadSize - kCongestionLogOffset>(log);
        }
    }

    bool unknown_class() {
        const Bytes data = mad_.subspan(MadHeader::kSize);
        const uint8_t management_class = header_.management_class.value;
        if (management_class < kClassVendorOuiFirst || management_class > kClassVendorOuiLast)
            return raw<kMadSize - MadHeader::kSize>(data);
        layer<VendorHeader>("vendor", data);
        return raw<kMadSize - MadHeader::kSize - VendorHeader::kSize>(
            data.subspan(VendorHeader::kSize));
    }

    // The attribute at the start of the class's data; a stride says that more may follow, as far as
    // the used bytes go.
    template <class List, size_t Size>
    bool attribute(Bytes data, size_t used = Size, size_t stride = 0) {
        const uint16_t id = header_.attribute_id.value;
        const char* name = attribute_name(header_.management_class.value, id).data();
        const bool known = with_layer<List>(id, [&]<class A>() {
            static_assert(A::kSize <= Size);
            Bytes rest = data.first(used);
            while (rest.size() >= A::kSize) {
                look_inside(layer<A>(name, rest));
                if (stride == 0 || stride > rest.size()) break;
                rest = rest.subspan(stride);
            }
        });
        return known || raw<Size>(data);
    }

    // What some attributes carry in their own byte arrays.
    void look_inside(const auto&) {}

    void look_inside(const Notice& notice) { trap(notice); }

    void look_inside(const ForwardedNotice& forwarded) { trap(forwarded.notice); }

    void look_inside(const CmReq& req) { ip_addresses(req.service_id, req.private_data); }

    void look_inside(const CmSidrReq& req) { ip_addresses(req.service_id, req.private_data); }

    void trap(const Notice& notice) {
        if (!notice.is_generic) return;
        const auto details = [&]<class T>() { visit_("trap", attribute_in<T>(notice.details)); };
        if (header_.management_class.value == kClassCongestionControl)
            with_layer<CongestionTraps>(notice.trap_number, details);
        else
            with_layer<Traps>(notice.trap_number, details);
    }

    void ip_addresses(Key64 service_id, const auto& private_data) {
        if (ip_cm_service(service_id)) visit_("IP CM", attribute_in<IpCmHeader>(private_data));
    }

    template <Header H>
    H layer(const char* name, Bytes bytes) {
        const auto header = parse<H>(bytes);
        TULLE_CHECK(header.has_value());  // every caller has measured
        visit_(name, *header);
        return *header;
    }

    template <size_t N>
    bool raw(Bytes bytes) {
        layer<RawData<N>>("data", bytes);
        return false;
    }

    Bytes mad_;
    MadHeader header_;
    Visitor& visit_;
};

}  // namespace mad_layers

template <class Visitor>
bool visit_mad(Bytes mad, Visitor&& visit) {
    if (mad.size() < kMadSize) return false;
    return mad_layers::Walk<std::remove_reference_t<Visitor>>(mad.first(kMadSize), visit).run();
}

}  // namespace tulle::wire
