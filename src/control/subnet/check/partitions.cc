#include "control/subnet/check/partitions.h"

#include <algorithm>
#include <map>

#include "control/subnet/agent/node_tables.h"

namespace tulle::control {
namespace {

constexpr size_t kRoomForKeys = size_t{32} * kPartitionBlocks;

PortIdentity identity_of(const topology::Graph& graph, const std::vector<uint64_t>& guids,
                         uint32_t node, uint32_t manager) {
    const bool is_host = graph.nodes[node].is_host();
    return {guids[node] + (is_host ? 1 : 0), graph.nodes[node].name, !is_host, node == manager};
}

}  // namespace

PartitionCheck check_partitions(const topology::Graph& graph, const std::vector<uint64_t>& guids,
                                const PartitionPolicy& policy) {
    PartitionCheck check;
    const std::vector<uint32_t> hosts = graph.endpoints();
    std::vector<PortIdentity> ports;
    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
        ports.push_back(identity_of(graph, guids, node, hosts.front()));
    for (const Partition& partition : policy.partitions) {
        bool has_full = false;
        for (const Partition::Member& member : partition.members) {
            has_full |= member.membership != Partition::Membership::limited;
            const auto is_named = [&](const PortIdentity& port) { return member.is(port); };
            if (std::ranges::none_of(ports, is_named))
                check.unknown.push_back({partition.name, member.name, member.line});
        }
        if (!partition.members.empty() && !has_full)
            check.without_full_member.push_back(partition.name);
    }
    // Hosts with equal tables are alike, so pairs are counted by kinds of tables.
    std::map<std::vector<uint16_t>, std::vector<uint32_t>> kinds;
    for (const uint32_t host : hosts) kinds[policy.keys_of(ports[host])].push_back(host);
    const std::vector<uint16_t> of_manager = policy.keys_of(ports[hosts.front()]);
    check.pairs = hosts.size() * (hosts.size() - 1);
    for (const auto& [keys, alike] : kinds) {
        uint64_t others = 0;
        for (const auto& [theirs, them] : kinds)
            if (shared_key(keys, theirs) != 0) others += them.size() - (keys == theirs ? 1 : 0);
        check.pairs_that_may += others * alike.size();
        if (others == 0 && hosts.size() > 1)
            check.isolated.insert(check.isolated.end(), alike.begin(), alike.end());
        const bool has_manager =
            shared_key(keys, of_manager) != 0 || alike == std::vector<uint32_t>{hosts.front()};
        if (!has_manager)
            check.without_manager.insert(check.without_manager.end(), alike.begin(), alike.end());
        if (keys.size() > kRoomForKeys)
            check.too_many.insert(check.too_many.end(), alike.begin(), alike.end());
    }
    for (auto* const list : {&check.isolated, &check.without_manager, &check.too_many})
        std::ranges::sort(*list);
    return check;
}

}  // namespace tulle::control
