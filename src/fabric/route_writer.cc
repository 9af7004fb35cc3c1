#include "fabric/route_writer.h"

namespace tulle::fabric {

RouteWriter::RouteWriter(const topology::Graph& graph, const std::vector<uint32_t>& target_of,
                         uint32_t target_count) {
    routes_.pool_.push_back(0);  // Routes::kNoPorts
    routes_.target_count_ = target_count;
    uint32_t row = 0;
    for (const topology::Node& node : graph.nodes)
        routes_.rows_.push_back(node.is_host() ? 0 : row++);
    routes_.lists_.assign(size_t{row} * target_count, Routes::kNoPorts);
    add_last_hops(graph, target_of);
}

void RouteWriter::add_last_hops(const topology::Graph& graph,
                                const std::vector<uint32_t>& target_of) {
    const topology::Ports ports(graph);
    const std::vector<uint32_t> hosts = graph.endpoints();
    for (uint32_t i = 0; i < hosts.size(); ++i) {
        const topology::CableEnd peer = ports.at({hosts[i], 0}).peer;
        routes_.endpoints_.push_back(
            {hosts[i], target_of[i], static_cast<uint32_t>(routes_.hops_in_.size())});
        routes_.hops_in_.push_back({peer.node, list({&peer.port, 1})});
    }
    routes_.endpoints_.push_back(
        {topology::kNone, 0, static_cast<uint32_t>(routes_.hops_in_.size())});
}

uint32_t RouteWriter::list(std::span<const uint16_t> ports) {
    if (ports.empty()) return Routes::kNoPorts;
    const auto [place, is_new] = known_.try_emplace({ports.begin(), ports.end()},
                                                    static_cast<uint32_t>(routes_.pool_.size()));
    if (is_new) {
        routes_.pool_.push_back(static_cast<uint16_t>(ports.size()));
        routes_.pool_.insert(routes_.pool_.end(), ports.begin(), ports.end());
    }
    return place->second;
}

void RouteWriter::set(uint32_t node, uint32_t target, uint32_t list) {
    routes_.lists_[size_t{routes_.rows_[node]} * routes_.target_count_ + target] = list;
}

Routes RouteWriter::finish() && {
    return std::move(routes_);
}

}  // namespace tulle::fabric
