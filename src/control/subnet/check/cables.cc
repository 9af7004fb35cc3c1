#include "control/subnet/check/cables.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tulle::control {

using topology::Cable;
using topology::Graph;

std::vector<OddCable> odd_cables(const Graph& graph) {
    using Tiers = std::pair<uint8_t, uint8_t>;
    const auto tiers_of = [&](const Cable& cable) {
        const uint8_t a = graph.nodes[cable.a.node].tier;
        const uint8_t b = graph.nodes[cable.b.node].tier;
        return Tiers{std::min(a, b), std::max(a, b)};
    };
    std::map<Tiers, std::map<uint64_t, uint32_t>> count;  // of rates
    for (const Cable& cable : graph.cables)
        if (cable.rate_bps != 0) ++count[tiers_of(cable)][cable.rate_bps];
    std::map<Tiers, uint64_t> usual;  // the most frequent rate, the faster of equals
    for (const auto& [tiers, rates] : count)
        for (const auto& [rate, times] : rates)
            if (times >= rates.at(usual.try_emplace(tiers, rate).first->second))
                usual[tiers] = rate;
    std::vector<OddCable> odd;
    for (uint32_t i = 0; i < graph.cables.size(); ++i) {
        const Cable& cable = graph.cables[i];
        if (cable.rate_bps != 0 && cable.rate_bps != usual[tiers_of(cable)])
            odd.push_back({i, cable.rate_bps, usual[tiers_of(cable)]});
    }
    return odd;
}

std::vector<SharedGuid> shared_guids(const Graph& graph) {
    std::vector<SharedGuid> shared;
    std::unordered_map<uint64_t, uint32_t> first;
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
        const uint64_t guid = graph.nodes[node].guid;
        if (guid == 0) continue;
        const auto [found, is_new] = first.try_emplace(guid, node);
        if (!is_new) shared.push_back({guid, found->second, node});
    }
    return shared;
}

std::vector<SharedLid> shared_lids(std::span<const topology::GivenLid> lids) {
    std::vector<SharedLid> shared;
    std::unordered_map<uint32_t, topology::CableEnd> owner;
    for (const topology::GivenLid& given : lids)
        for (uint32_t lid = given.lid; lid < given.lid + (1u << given.lmc); ++lid) {
            const auto [found, is_new] = owner.try_emplace(lid, given.owner);
            if (!is_new) shared.push_back({static_cast<uint16_t>(lid), found->second, given.owner});
        }
    return shared;
}

}  // namespace tulle::control
