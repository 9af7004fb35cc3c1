// Gives paths service levels, one lane each, so that on no lane packets can wait for one another in
// a circle (Domke, Hoefler and Nagel, 2011).
//
// A packet that holds a buffer behind one link and wants another makes the first depend on the
// second. All paths begin on lane 0. Where dependencies close a circle, the one of them that fewest
// paths need is given up: those paths move to the next lane. Once a lane has no circle the next one
// is looked at.
//
// A path counts where a host is at one end; what a switch sends to a switch itself is management,
// which has a lane of its own. The sender is known by its switch: hosts of one switch share paths.
#pragma once

#include <optional>

#include "control/subnet/tables.h"

namespace tulle::control {

// Nothing where more than `max_lanes` were needed. `now` are lanes to begin with, whose paths move
// only where they have to; their rule is empty.
std::optional<Lanes> assign_lanes(const Subnet& subnet, const ForwardingTables& tables,
                                  uint8_t max_lanes, const Lanes& now = {});

// For tables that go up and down in an order, the highest switch first, but for some paths to some
// LIDs: `detoured` names these. Legal paths close no circle, so they stay on lane 0, and only the
// others are looked at.
std::optional<Lanes> assign_lanes_to_detours(const Subnet& subnet, const ForwardingTables& tables,
                                             const std::vector<uint32_t>& order,
                                             const std::vector<uint32_t>& detoured,
                                             uint8_t max_lanes, const Lanes& now = {});

// Whether the path from a switch to a LID is one that counts.
inline bool path_counts(const Subnet& subnet, uint32_t source, uint32_t lid) {
    return subnet.is_host(lid) || subnet.hosts_at(source) > 0;
}

}  // namespace tulle::control
