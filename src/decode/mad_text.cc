#include "decode/mad_text.h"

#include <fmt/format.h>

#include "wire/mad/cm.h"
#include "wire/mad/ip_cm.h"
#include "wire/mad/mad.h"
#include "wire/mad/names.h"
#include "wire/mad/sa.h"

namespace tulle::decode {
namespace {

std::string service_text(wire::Key64 service_id) {
    if (const auto service = wire::ip_cm_service(service_id))
        return fmt::format("port {}", service->port);
    return fmt::format("service 0x{:x}", service_id.value);
}

// The one or two fields that matter to a reader who follows a connection.
std::string cm_text(uint16_t attribute, wire::Bytes data) {
    switch (attribute) {
        case wire::kCmReq: {
            const auto req = *wire::parse<wire::CmReq>(data);
            return fmt::format(": QP 0x{:06x}, PSN 0x{:06x}, {}", req.local_qpn.value,
                               req.starting_psn.value, service_text(req.service_id));
        }
        case wire::kCmRep: {
            const auto rep = *wire::parse<wire::CmRep>(data);
            return fmt::format(": QP 0x{:06x}, PSN 0x{:06x}", rep.local_qpn.value,
                               rep.starting_psn.value);
        }
        case wire::kCmRej:
            return fmt::format(": {}",
                               wire::cm_reject_reason_name(wire::parse<wire::CmRej>(data)->reason));
        case wire::kCmSidrReq:
            return fmt::format(": {}",
                               service_text(wire::parse<wire::CmSidrReq>(data)->service_id));
        case wire::kCmSidrRep: {
            const auto rep = *wire::parse<wire::CmSidrRep>(data);
            return fmt::format(": {}, QP 0x{:06x}", wire::cm_sidr_status_name(rep.status),
                               rep.qpn.value);
        }
        case wire::kCmApr:
            return fmt::format(": {}",
                               wire::cm_apr_status_name(wire::parse<wire::CmApr>(data)->status));
        default: return {};
    }
}

// The segment of a long answer, and how the transfer ends.
std::string rmpp_text(const wire::RmppHeader& rmpp) {
    std::string text = fmt::format(": {} {}", wire::rmpp_type_name(rmpp.type), rmpp.segment_number);
    if (rmpp.type == wire::kRmppData)
        text += fmt::format(" ({})", wire::rmpp_flags_name(rmpp.flags.value));
    if (rmpp.status != 0) text += fmt::format(", {}", wire::rmpp_status_name(rmpp.status));
    return text;
}

}  // namespace

std::string mad_text(wire::Bytes mad) {
    if (mad.size() < wire::kMadSize) return fmt::format("MAD of {} bytes", mad.size());
    const auto header = *wire::parse<wire::MadHeader>(mad);
    const uint8_t management_class = header.management_class.value;
    const uint16_t attribute = header.attribute_id.value;
    std::string text = fmt::format("{} {} {}", wire::class_name(management_class),
                                   wire::method_name(management_class, header.method.value),
                                   wire::attribute_name(management_class, attribute));
    if (management_class == wire::kClassCommunication)
        text += cm_text(attribute, mad.subspan(wire::kCmDataOffset));
    if (management_class == wire::kClassSubnetAdministration)
        if (const auto rmpp = wire::parse<wire::SaMad>(mad)->rmpp; rmpp.type != 0)
            text += rmpp_text(rmpp);
    return text;
}

}  // namespace tulle::decode
