// Assigns service levels to paths, one for each lane, so that no lane has a credit loop (Domke,
// Hoefler and Nagel, 2011).
//
// A packet that holds a buffer behind one link and waits for another link makes the first depend on
// the second. All paths begin on lane 0. While dependencies form a cycle, the one that the fewest
// paths need is removed: those paths move to the next lane. Once a lane has no cycle, the next one
// is treated.
//
// A path counts if a host is at one end. Traffic between switches is management, which has its own
// lane. A sender is identified by its switch: hosts of one switch share paths.
#pragma once

#include <algorithm>
#include <optional>

#include "control/subnet/tables.h"

namespace tulle::control {

// Nothing if it needs more than `max_lanes`. `now` are lanes to begin with; their paths move only
// if they must. Their rule is empty.
std::optional<Lanes> assign_lanes(const Subnet& subnet, const ForwardingTables& tables,
                                  uint8_t max_lanes, const Lanes& now = {});

// For tables that go up and down in an order, highest switch first, except for some paths to the
// LIDs in `detoured`. Legal paths form no cycle, so they stay on lane 0, and only the others are
// examined.
std::optional<Lanes> assign_lanes_to_detours(const Subnet& subnet, const ForwardingTables& tables,
                                             const std::vector<uint32_t>& order,
                                             const std::vector<uint32_t>& detoured,
                                             uint8_t max_lanes, const Lanes& now = {});

// Keeps lanes free of loops after the paths to some LIDs have changed. A path stays on its lane if
// it fits its layers, or else moves to one that it fits. Those that fit none go on the last lane,
// or on a second one, and only that one is examined. False: this needs more than `max_lanes`, or
// the layers are not known.
bool update_lanes(const Subnet& subnet, const ForwardingTables& tables,
                  const std::vector<uint32_t>& changed, uint8_t max_lanes, Lanes& lanes);

// The layers of links that depend on one another as `depends(in, out)` says. `order` holds all
// links, and each comes before those that depend on it.
template <class Depends>
LinkLayers layers_in_order(const Subnet& subnet, const std::vector<uint32_t>& order,
                           Depends&& depends) {
    LinkLayers layers(subnet.port_index_count());
    const auto layer = [&](uint32_t link) -> uint32_t& {
        return layers[subnet.port_index(subnet.link(link).from, subnet.link(link).port)];
    };
    for (const uint32_t in : order) {
        const uint32_t s = subnet.link(in).to;
        for (uint32_t out = subnet.first_link(s); out < subnet.end_link(s); ++out)
            if (depends(in, out)) layer(out) = std::max(layer(out), layer(in) + 1);
    }
    return layers;
}

// Whether the path from a switch to a LID is one that counts.
inline bool path_counts(const Subnet& subnet, uint32_t source, uint32_t lid) {
    return subnet.is_host(lid) || subnet.hosts_at(source) > 0;
}

// Calls take(in, out) for each dependency of the path from a switch to a LID. Requires tables
// without loops.
template <class Take>
void for_each_dependency(const Subnet& subnet, const ForwardingTables& tables, uint32_t lid,
                         uint32_t source, Take&& take) {
    const auto row = tables.row(lid);
    uint32_t in = subnet.link_at(source, row[source]);
    while (in != kNone) {
        const uint32_t s = subnet.link(in).to;
        const uint32_t out = subnet.link_at(s, row[s]);
        if (out == kNone) return;
        take(in, out);
        in = out;
    }
}

}  // namespace tulle::control
