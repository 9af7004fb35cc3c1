#include "decode/mad_text.h"

#include <fmt/format.h>

#include "wire/mad/cm.h"
#include "wire/mad/ip_cm.h"
#include "wire/mad/mad.h"
#include "wire/mad/names.h"

namespace tulle::decode {
namespace {

std::string service_text(wire::Key64 service_id) {
    if (const auto service = wire::ip_cm_service(service_id))
        return fmt::format("port {}", service->port);
    return fmt::format("service 0x{:x}", service_id.value);
}

// The one or two things that a reader of a connection's life looks for.
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
        default: return {};
    }
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
    return text;
}

}  // namespace tulle::decode
