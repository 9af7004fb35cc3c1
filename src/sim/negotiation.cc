#include "sim/negotiation.h"

#include <algorithm>
#include <string>

namespace tulle::sim {
namespace {

// "priorities 3 and 4", "no priority".
std::string priorities_text(uint16_t mask) {
    std::vector<std::string> names;
    for (uint32_t priority = 0; priority < fabric::kLanes; ++priority)
        if ((mask >> priority & 1) != 0) names.push_back(std::to_string(priority));
    if (names.empty()) return "no priority";
    std::string text = names.size() == 1 ? "priority " : "priorities ";
    for (size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    return text;
}

}  // namespace

uint16_t settled_priorities(const DcbxOffer& own, const DcbxOffer& other) {
    const bool gives_way = own.is_willing && (!other.is_willing || own.address > other.address);
    return gives_way ? other.pfc_priorities : own.pfc_priorities;
}

const fabric::EtsSettings& settled_ets(const DcbxOffer& own, const DcbxOffer& other) {
    return own.is_willing ? other.ets : own.ets;
}

Negotiation::Negotiation(const Setup& setup) : setup_(setup) {
    for (uint32_t i = 0; i < setup.graph.cables.size(); ++i) {
        const topology::Cable& cable = setup.graph.cables[i];
        const DcbxOffer a = offer_of(cable.a.node);
        const DcbxOffer b = offer_of(cable.b.node);
        const uint16_t at_a = settled_priorities(a, b);
        const uint16_t at_b = settled_priorities(b, a);
        priorities_.insert(priorities_.end(), {at_a, at_b});
        if (at_a == at_b) continue;
        disagreements_.push_back(
            {i, "PFC is on for " + priorities_text(at_a) + " at " +
                    setup.graph.nodes[cable.a.node].name + " and for " + priorities_text(at_b) +
                    " at " + setup.graph.nodes[cable.b.node].name +
                    ", neither of which is willing to change: pauses that one sends mean nothing "
                    "to the other"});
    }
}

DcbxOffer Negotiation::offer_of(uint32_t node) const {
    const bool has_pfc = setup_.fabric.flow_control == fabric::FlowControl::pfc;
    const auto own = std::ranges::find(setup_.qos, node, &QosOverride::node);
    if (own == setup_.qos.end())
        return {has_pfc ? setup_.fabric.pfc.priorities : uint16_t{0}, setup_.fabric.ets, false,
                node};
    return {own->pfc_priorities, own->ets, own->willing, node};
}

std::vector<fabric::EtsSettings> Negotiation::ets_of(uint32_t node,
                                                     const topology::Ports& ports) const {
    const DcbxOffer own = offer_of(node);
    if (!own.is_willing) return {};
    std::vector<fabric::EtsSettings> settled;
    for (const topology::Ports::Link& link : ports.of(node))
        settled.push_back(link.is_cabled() ? settled_ets(own, offer_of(link.peer.node)) : own.ets);
    return settled;
}

}  // namespace tulle::sim
