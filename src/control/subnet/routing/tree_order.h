// Orders that keep the parts of a tree together, independent of the order of nodes and cables in a
// file.
#pragma once

#include <cstdint>
#include <vector>

#include "control/subnet/subnet.h"

namespace tulle::control {

// Switches from leaf to leaf: those of a branch are adjacent, and branches are ordered by their
// lowest LID. Hosts in this order are numbered as a shift permutation numbers them.
std::vector<uint32_t> homes_in_tree_order(const Subnet& subnet);

// By switch: its place in an order that keeps planes together. A plane is a part that stays
// connected without the tiers below: the spines of one column of a fat tree, one of each pod, with
// the cores above them.
std::vector<uint32_t> places_by_plane(const Subnet& subnet);

}  // namespace tulle::control
