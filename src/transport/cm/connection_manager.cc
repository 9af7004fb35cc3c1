// Which message goes where, and what all roles share.
#include "transport/cm/connection_manager.h"

#include <algorithm>

#include "transport/cm/messages.h"
#include "transport/cm/times.h"

namespace tulle::transport {

using base::Instant;

void ConnectionManager::on_mad(Instant now, uint32_t source_endpoint, wire::Qpn source_qpn,
                               wire::Bytes mad) {
    ++stats_.received;
    if (std::max(outgoing_.size(), events_.size()) >= config_.max_waiting) {
        ++stats_.overload;
        return;
    }
    const auto header = wire::parse<wire::MadHeader>(mad);
    const bool ours =
        header && mad.size() == wire::kMadSize && source_qpn.value != 0 &&
        header->base_version == wire::kMadBaseVersion &&
        header->management_class.value == wire::kClassCommunication &&
        (header->method.value == wire::kMethodSend || header->method.value == wire::kMethodGet);
    if (!ours) {
        ++stats_.malformed;
        return;
    }
    const Arrival from{now, source_endpoint, source_qpn, header->transaction_id};
    const wire::Bytes data = mad.subspan(wire::kCmDataOffset);
    if (header->method.value == wire::kMethodGet)
        on_get(from, header->attribute_id.value);
    else if (header->class_version == wire::kCmClassVersion)
        dispatch(from, header->attribute_id.value, data);
    else
        on_other_version(from, header->attribute_id.value, data);
}

void ConnectionManager::dispatch(const Arrival& from, uint16_t attribute, wire::Bytes data) {
    switch (attribute) {
        case wire::kCmReq: return on_req(from, *wire::parse<wire::CmReq>(data));
        case wire::kCmMra: return on_mra(from, *wire::parse<wire::CmMra>(data));
        case wire::kCmRej: return on_rej(from, *wire::parse<wire::CmRej>(data));
        case wire::kCmRep: return on_rep(from, *wire::parse<wire::CmRep>(data));
        case wire::kCmRtu: return on_rtu(from, *wire::parse<wire::CmRtu>(data));
        case wire::kCmDreq: return on_dreq(from, *wire::parse<wire::CmDreq>(data));
        case wire::kCmDrep: return on_drep(from, *wire::parse<wire::CmDrep>(data));
        case wire::kCmSidrReq: return on_sidr_req(from, *wire::parse<wire::CmSidrReq>(data));
        case wire::kCmSidrRep: return on_sidr_rep(from, *wire::parse<wire::CmSidrRep>(data));
        case wire::kCmLap: return on_lap(from, *wire::parse<wire::CmLap>(data));
        default: ++stats_.malformed;
    }
}

// Requests of a version that we do not speak are refused as such (12.6.7.2, reason 31); the places
// of the IDs are the same in all versions.
void ConnectionManager::on_other_version(const Arrival& from, uint16_t attribute,
                                         wire::Bytes data) {
    ++stats_.malformed;
    if (attribute == wire::kCmReq)
        refuse(from, *wire::parse<wire::CmReq>(data), wire::kCmRejectClassVersion);
    else if (attribute == wire::kCmSidrReq)
        refuse_service(from, *wire::parse<wire::CmSidrReq>(data), wire::kSidrVersionUnsupported);
}

std::optional<CmOutgoing> ConnectionManager::poll_mad(Instant) {
    if (outgoing_.empty()) return std::nullopt;
    return outgoing_.pop_front();
}

std::optional<CmEvent> ConnectionManager::poll_event() {
    if (events_.empty()) return std::nullopt;
    return events_.pop_front();
}

CmListening ConnectionManager::listen(wire::Key64 service_id, wire::Key64 mask, uint32_t backlog) {
    if (listeners_.size() >= config_.max_listeners) return {CmStatus::no_room, {}};
    const uint64_t id = service_id.value & mask.value;
    for (const Listener& other : listeners_)
        if (((id ^ other.service_id) & mask.value & other.mask) == 0) return {CmStatus::in_use, {}};
    const CmListener name{++last_listener_};
    listeners_.push_back({name, id, mask.value, backlog, 0});
    return {CmStatus::ok, name};
}

CmStatus ConnectionManager::stop_listening(CmListener listener) {
    const auto removed =
        std::erase_if(listeners_, [&](const Listener& l) { return l.name == listener; });
    return removed == 1 ? CmStatus::ok : CmStatus::no_such_connection;
}

// No two listeners match the same ID, so the order does not matter.
ConnectionManager::Listener* ConnectionManager::listener_of(wire::Key64 service_id) {
    for (Listener& l : listeners_)
        if (((service_id.value ^ l.service_id) & l.mask) == 0) return &l;
    return nullptr;
}

// The owner has decided, or nobody asks any more.
void ConnectionManager::leave_backlog(Connection& c) {
    for (Listener& l : listeners_)
        if (l.name == c.backlog) --l.waiting;
    c.backlog = {};
}

cm::Connection* ConnectionManager::owned(CmHandle handle) {
    Connection* c = table_.find(handle);
    return c != nullptr && !c->abandoned ? c : nullptr;
}

cm::Connection* ConnectionManager::by_ids(uint32_t local_id, uint32_t remote_id) {
    Connection* c = table_.by_local_id(local_id);
    const bool same = c != nullptr && c->has_remote && c->remote_id == remote_id;
    if (!same) ++stats_.unknown;
    return same ? c : nullptr;
}

void ConnectionManager::send(uint32_t endpoint, wire::Qpn qpn, const CmDatagram& mad) {
    ++stats_.sent;
    if (outgoing_.full()) outgoing_.grow();
    outgoing_.push_back({endpoint, qpn, mad});
}

// A time that a peer asks for. It must not be able to keep a place occupied for hours.
base::Duration ConnectionManager::peer_time(uint8_t code) const {
    return cm_time(std::min(code, config_.max_peer_time));
}

// Sends a message that wants an answer, and waits for it.
void ConnectionManager::ask(Instant now, Connection& c, const CmDatagram& mad,
                            base::Duration wait) {
    c.question = mad;
    c.wait = wait;
    c.retries_left = c.max_retries;
    send(c, mad);
    table_.set_deadline(c, now + wait);
}

void ConnectionManager::answer(Connection& c, const CmDatagram& mad) {
    c.answer = mad;
    c.has_answer = true;
    send(c, mad);
}

void ConnectionManager::repeat_answer(Connection& c) {
    if (c.has_answer) send(c, c.answer);
}

void ConnectionManager::repeat_answer(Connection& c, uint16_t only) {
    if (c.has_answer && cm::attribute_of(c.answer) == only) send(c, c.answer);
}

// The owner is done with it; we are not: the answer may be lost and the question come again. Each
// time it does, the connection is kept for as long as the peer could take to ask once more.
void ConnectionManager::remember(Instant now, Connection& c, State state) {
    leave_backlog(c);
    c.state = state;
    c.abandoned = true;
    table_.forget_remote_qpn(c);
    table_.set_deadline(c, now + 2 * c.peer_patience);
}

}  // namespace tulle::transport
