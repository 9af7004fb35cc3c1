#include "control/subnet/check/spread.h"

#include <algorithm>

#include "control/subnet/routing/tree_order.h"

namespace tulle::control {
namespace {

std::vector<uint16_t> hosts_in_tree_order(const Subnet& subnet) {
    std::vector<uint16_t> hosts;
    for (const uint32_t home : homes_in_tree_order(subnet))
        for (const uint16_t lid : subnet.lids_at(home))
            if (subnet.is_host(lid) && subnet.place(lid).path == 0) hosts.push_back(lid);
    return hosts;
}

template <class Take>
void walk(const Subnet& subnet, const ForwardingTables& tables, uint32_t source, uint32_t lid,
          Take&& take) {
    const auto row = tables.row(lid);
    uint32_t s = source;
    for (uint32_t hops = 0; hops < subnet.switch_count(); ++hops) {
        const uint32_t link = subnet.link_at(s, row[s]);
        if (link == kNone) return;
        take(link);
        s = subnet.link(link).to;
    }
}

}  // namespace

ShiftSpread measure_shifts(const Subnet& subnet, const ForwardingTables& tables,
                           uint32_t most_shifts) {
    const std::vector<uint16_t> hosts = hosts_in_tree_order(subnet);
    ShiftSpread spread;
    spread.hosts = static_cast<uint32_t>(hosts.size());
    const uint32_t all = spread.hosts < 2 ? 0 : spread.hosts - 1;
    spread.shifts = std::min(all, most_shifts);
    std::vector<uint32_t> flows(subnet.link_count());
    for (uint32_t i = 0; i < spread.shifts; ++i) {
        const auto shift = static_cast<uint32_t>(1 + uint64_t{i} * all / spread.shifts);
        std::fill(flows.begin(), flows.end(), 0);
        for (uint32_t from = 0; from < spread.hosts; ++from) {
            const uint32_t to =
                from + shift < spread.hosts ? from + shift : from + shift - spread.hosts;
            walk(subnet, tables, subnet.place(hosts[from]).home, hosts[to],
                 [&](uint32_t link) { ++flows[link]; });
        }
        const auto worst = std::max_element(flows.begin(), flows.end());
        const uint32_t most = worst == flows.end() ? 0 : *worst;
        spread.sum_of_most += most;
        spread.shifts_without_conflict += most <= 1;
        if (most <= spread.most_flows) continue;
        spread.most_flows = most;
        spread.worst_shift = shift;
        spread.worst_link = static_cast<uint32_t>(worst - flows.begin());
    }
    return spread;
}

PathSpread measure_paths(const Subnet& subnet, const ForwardingTables& tables) {
    std::vector<uint64_t> paths(subnet.link_count());
    for (uint32_t lid = 0; lid < subnet.lid_end(); ++lid) {
        if (!subnet.is_host(lid)) continue;
        for (uint32_t s = 0; s < subnet.switch_count(); ++s)
            if (subnet.hosts_at(s) > 0)
                walk(subnet, tables, s, lid,
                     [&](uint32_t link) { paths[link] += subnet.hosts_at(s); });
    }
    PathSpread spread;
    spread.links = paths.size();
    for (const uint64_t count : paths) {
        spread.most = std::max(spread.most, count);
        spread.sum += count;
    }
    return spread;
}

}  // namespace tulle::control
