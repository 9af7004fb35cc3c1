// Two sides that connect to each other at once (12.10, peer to peer): each sends a REQ for the same
// service, and the two cross. The side with the greater GUID, on one node the greater QPN, stays
// active; the other takes the REQ that it received as if it had listened.
#include <tuple>

#include "transport/cm/connection_manager.h"

namespace tulle::transport {

// Our own request that this one crosses; those that are answered are forgotten on the way.
cm::Connection* ConnectionManager::crossed_by(const Arrival& from, const wire::CmReq& req) {
    std::erase_if(peers_, [&](CmHandle handle) {
        const Connection* c = table_.find(handle);
        return c == nullptr || c->state != State::req_sent;
    });
    for (const CmHandle handle : peers_) {
        Connection* c = table_.find(handle);
        if (c->endpoint == from.endpoint && c->service_id == req.service_id) return c;
    }
    return nullptr;
}

bool ConnectionManager::stays_active(const Connection& c, const wire::CmReq& req) const {
    return std::tie(config_.ca_guid.value, c.local_qpn.value) >
           std::tie(req.local_ca_guid.value, req.local_qpn.value);
}

// The peer may not have got to its own connect() yet; it has something to say when it has.
bool ConnectionManager::is_early(const Connection& c, const wire::CmRej& rej) const {
    return c.peer_to_peer && c.state == State::req_sent &&
           rej.reason == wire::kCmRejectInvalidServiceId;
}

}  // namespace tulle::transport
