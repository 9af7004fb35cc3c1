// Orders in which what belongs together in a tree follows each other, whatever the order in which a
// file lists nodes and cables.
#pragma once

#include <cstdint>
#include <vector>

#include "control/subnet/subnet.h"

namespace tulle::control {

// Switches from leaf to leaf: those of a branch follow each other, branches by their lowest LID.
// Hosts taken in that order are numbered as a shift permutation numbers them.
std::vector<uint32_t> homes_in_tree_order(const Subnet& subnet);

// By switch: its place in an order in which switches of a plane follow each other. A plane is what
// is still joined when the tiers below are taken away: the spines of one column of a fat tree, one
// of each pod, with the cores above them.
std::vector<uint32_t> places_by_plane(const Subnet& subnet);

}  // namespace tulle::control
