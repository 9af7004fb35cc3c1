// Which cables and switches of a fabric work. A cable works while it and the nodes at both ends are
// up. Its outages are counted: a message that was on the cable when it broke is lost, even if the
// cable works again by the time of its arrival.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/graph.h"

namespace tulle::control {

class CableStates {
public:
    // `graph` must outlive this object.
    explicit CableStates(const topology::Graph& graph)
        : graph_(graph),
          cable_up_(graph.cables.size(), true),
          node_up_(graph.nodes.size(), true),
          works_(graph.cables.size(), true),
          outages_(graph.cables.size()) {}

    bool is_up(uint32_t node) const { return node_up_[node]; }
    bool works(uint32_t cable) const { return works_[cable]; }
    uint32_t outages(uint32_t cable) const { return outages_[cable]; }
    bool is_between_switches(uint32_t cable) const {
        return !graph_.nodes[graph_.cables[cable].a.node].is_host() &&
               !graph_.nodes[graph_.cables[cable].b.node].is_host();
    }

    void set_cable(uint32_t cable, bool is_up) { cable_up_[cable] = is_up; }
    void set_node(uint32_t node, bool is_up) { node_up_[node] = is_up; }
    // Call it for each cable that a change above may affect. True if the cable began or ceased to
    // work.
    bool update(uint32_t cable) {
        const topology::Cable& at = graph_.cables[cable];
        const bool works = cable_up_[cable] && node_up_[at.a.node] && node_up_[at.b.node];
        if (works == works_[cable]) return false;
        works_[cable] = works;
        if (!works) ++outages_[cable];
        return true;
    }

private:
    const topology::Graph& graph_;
    std::vector<bool> cable_up_;  // by cable: itself
    std::vector<bool> node_up_;
    std::vector<bool> works_;  // by cable: it and its ends
    std::vector<uint32_t> outages_;
};

}  // namespace tulle::control
