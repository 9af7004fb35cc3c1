#include "cluster/datagrams.h"

namespace tulle::cluster {

transport::RdDomainId Datagrams::domain() {
    if (!domain_) domain_ = adapter_.rd_domains().create();
    return *domain_;
}

wire::EeContext Datagrams::open(const Peer& peer) {
    Context& context = contexts_[peer];
    context.ee = *adapter_.ee_contexts().create(domain());
    return context.ee;
}

std::optional<wire::EeContext> Datagrams::find(const Peer& peer) const {
    const auto found = contexts_.find(peer);
    if (found == contexts_.end()) return std::nullopt;
    return found->second.ee;
}

void Datagrams::set_route(transport::Qpn qpn, const Route& route) {
    routes_[qpn.value] = route;
    ++contexts_.at(route.peer).users;
}

void Datagrams::forget(transport::Qpn qpn) {
    const auto route = routes_.find(qpn.value);
    const auto context = contexts_.find(route->second.peer);
    routes_.erase(route);
    if (--context->second.users != 0) return;
    TULLE_CHECK(adapter_.ee_contexts().destroy(context->second.ee) == transport::Refusal::none);
    contexts_.erase(context);
    if (!contexts_.empty()) return;
    TULLE_CHECK(adapter_.rd_domains().destroy(*domain_) == transport::Refusal::none);
    domain_.reset();
}

void Datagrams::address(transport::Qpn qpn, transport::SendRequest& request) const {
    const Route& to = route(qpn);
    request.datagram = {
        .endpoint = transport::EndpointIndex{to.peer.endpoint}, .qpn = to.qpn, .qkey = {}};
    request.ee_context = contexts_.at(to.peer).ee;
}

}  // namespace tulle::cluster
