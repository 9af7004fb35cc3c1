// Dispatch of messages, and listeners.
#include "transport/cm/connection_manager.h"

#include <algorithm>

#include "transport/cm/messages.h"
#include "transport/cm/roles.h"
#include "transport/cm/times.h"

namespace tulle::transport::cm {
namespace {

void dispatch(Desk& desk, const Arrival& from, uint16_t attribute, wire::Bytes data) {
    switch (attribute) {
        case wire::kCmReq: return on_req(desk, from, *wire::parse<wire::CmReq>(data));
        case wire::kCmMra: return on_mra(desk, from, *wire::parse<wire::CmMra>(data));
        case wire::kCmRej: return on_rej(desk, from, *wire::parse<wire::CmRej>(data));
        case wire::kCmRep: return on_rep(desk, from, *wire::parse<wire::CmRep>(data));
        case wire::kCmRtu: return on_rtu(desk, from, *wire::parse<wire::CmRtu>(data));
        case wire::kCmDreq: return on_dreq(desk, from, *wire::parse<wire::CmDreq>(data));
        case wire::kCmDrep: return on_drep(desk, from, *wire::parse<wire::CmDrep>(data));
        case wire::kCmSidrReq: return on_sidr_req(desk, from, *wire::parse<wire::CmSidrReq>(data));
        case wire::kCmSidrRep: return on_sidr_rep(desk, from, *wire::parse<wire::CmSidrRep>(data));
        case wire::kCmLap: return on_lap(desk, from, *wire::parse<wire::CmLap>(data));
        case wire::kCmApr: return on_apr(desk, from, *wire::parse<wire::CmApr>(data));
        default: ++desk.stats.malformed;
    }
}

// Rejects requests of an unsupported version with that reason (12.6.7.2, reason 31). The IDs have
// the same offsets in all versions.
void on_other_version(Desk& desk, const Arrival& from, uint16_t attribute, wire::Bytes data) {
    ++desk.stats.malformed;
    if (attribute == wire::kCmReq)
        refuse(desk, from, *wire::parse<wire::CmReq>(data), wire::kCmRejectClassVersion);
    else if (attribute == wire::kCmSidrReq)
        refuse_service(desk, from, *wire::parse<wire::CmSidrReq>(data),
                       wire::kSidrVersionUnsupported);
}

}  // namespace
}  // namespace tulle::transport::cm

namespace tulle::transport {

using base::Instant;

void ConnectionManager::on_mad(Instant now, uint32_t source_endpoint, wire::Qpn source_qpn,
                               wire::Bytes mad) {
    ++desk_.stats.received;
    if (std::max(desk_.outgoing.size(), desk_.events.size()) >= desk_.config.max_waiting) {
        ++desk_.stats.overload;
        return;
    }
    const auto header = wire::parse<wire::MadHeader>(mad);
    const bool ours =
        header && mad.size() == wire::kMadSize && source_qpn.value != 0 &&
        header->base_version == wire::kMadBaseVersion &&
        header->management_class.value == wire::kClassCommunication &&
        (header->method.value == wire::kMethodSend || header->method.value == wire::kMethodGet);
    if (!ours) {
        ++desk_.stats.malformed;
        return;
    }
    const cm::Arrival from{now, source_endpoint, source_qpn, header->transaction_id};
    const wire::Bytes data = mad.subspan(wire::kCmDataOffset);
    if (header->method.value == wire::kMethodGet)
        on_get(desk_, from, header->attribute_id.value);
    else if (header->class_version == wire::kCmClassVersion)
        cm::dispatch(desk_, from, header->attribute_id.value, data);
    else
        cm::on_other_version(desk_, from, header->attribute_id.value, data);
}

std::optional<CmOutgoing> ConnectionManager::poll_mad(Instant) {
    if (desk_.outgoing.empty()) return std::nullopt;
    return desk_.outgoing.pop_front();
}

std::optional<CmEvent> ConnectionManager::poll_event() {
    if (desk_.events.empty()) return std::nullopt;
    return desk_.events.pop_front();
}

CmListening ConnectionManager::listen(wire::Key64 service_id, wire::Key64 mask, uint32_t backlog) {
    if (desk_.listeners.size() >= desk_.config.max_listeners) return {CmStatus::no_room, {}};
    const uint64_t id = service_id.value & mask.value;
    for (const cm::Listener& other : desk_.listeners)
        if (((id ^ other.service_id) & mask.value & other.mask) == 0) return {CmStatus::in_use, {}};
    const CmListener name{++desk_.last_listener};
    desk_.listeners.push_back({name, id, mask.value, backlog, 0});
    return {CmStatus::ok, name};
}

CmStatus ConnectionManager::stop_listening(CmListener listener) {
    const auto removed =
        std::erase_if(desk_.listeners, [&](const cm::Listener& l) { return l.name == listener; });
    return removed == 1 ? CmStatus::ok : CmStatus::no_such_connection;
}

}  // namespace tulle::transport
