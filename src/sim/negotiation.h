// DCBX (IEEE 802.1Qaz, clause 38): when a cable comes up, its ends tell each other in LLDP which
// priorities are lossless and how lanes share the line, and whether they are willing to adopt the
// settings of the other end.
#pragma once

#include <vector>

#include "sim/result.h"
#include "sim/setup.h"
#include "topology/graph.h"

namespace tulle::sim {

// What one end of a cable says.
struct DcbxOffer {
    uint16_t pfc_priorities = 0;
    fabric::EtsSettings ets;
    bool is_willing = false;
    uint32_t address = 0;
};

// 38.4.2, symmetric: if both ends are willing, the one with the higher address adopts the other's
// priorities; if neither is, each keeps its own.
uint16_t settled_priorities(const DcbxOffer& own, const DcbxOffer& other);
// 38.4.1, asymmetric: a willing end adopts the ETS settings that its neighbour recommends.
const fabric::EtsSettings& settled_ets(const DcbxOffer& own, const DcbxOffer& other);

// What all cables of a setup settle on.
class Negotiation {
public:
    explicit Negotiation(const Setup& setup);

    DcbxOffer offer_of(uint32_t node) const;
    // The priorities in which an end is lossless and obeys pauses.
    uint16_t priorities(uint32_t cable, bool is_a) const { return priorities_[2 * cable + !is_a]; }
    // By port of a switch; empty if all ports use the settings of the node.
    std::vector<fabric::EtsSettings> ets_of(uint32_t node, const topology::Ports& ports) const;
    const std::vector<Disagreement>& disagreements() const { return disagreements_; }

private:
    const Setup& setup_;
    std::vector<uint16_t> priorities_;  // by cable and end
    std::vector<Disagreement> disagreements_;
};

}  // namespace tulle::sim
