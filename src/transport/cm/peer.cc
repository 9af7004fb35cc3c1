// Two sides that connect to each other at once (12.10, peer to peer): each sends a REQ for the same
// service, and the two cross. The side with the greater GUID, or on one node with the greater QPN,
// stays active. The other handles the REQ that it received as if it had listened.
#include <tuple>

#include "transport/cm/roles.h"

namespace tulle::transport::cm {

// Our own request that this one crosses; also drops answered requests from the list.
Connection* crossed_by(Desk& desk, const Arrival& from, const wire::CmReq& req) {
    std::erase_if(desk.peers, [&](CmHandle handle) {
        const Connection* c = desk.table.find(handle);
        return c == nullptr || c->state != State::req_sent;
    });
    for (const CmHandle handle : desk.peers) {
        Connection* c = desk.table.find(handle);
        if (c->endpoint == from.endpoint && c->service_id == req.service_id) return c;
    }
    return nullptr;
}

bool stays_active(Desk& desk, const Connection& c, const wire::CmReq& req) {
    return std::tie(desk.config.ca_guid.value, c.local_qpn.value) >
           std::tie(req.local_ca_guid.value, req.local_qpn.value);
}

// The peer may not have called connect() yet; its own REQ will follow.
bool is_early(const Connection& c, const wire::CmRej& rej) {
    return c.peer_to_peer && c.state == State::req_sent &&
           rej.reason == wire::kCmRejectInvalidServiceId;
}

}  // namespace tulle::transport::cm
