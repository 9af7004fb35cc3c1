// Finds out that switches form a torus or a mesh, and where each stands in it. Names and numbers do
// not matter, only cables.
//
// Cables that lie opposite each other in a square of four switches go the same way. Two neighbours
// of a switch that share no other neighbour lie in one dimension. A dimension's coordinate is which
// of the slices one stands in that are left when all its cables are taken away; the slices have to
// form a ring or a line. A ring of four is two dimensions of two, which is the same graph.
#pragma once

#include <optional>
#include <vector>

#include "control/subnet/subnet.h"

namespace tulle::control {

struct TorusShape {
    struct Dimension {
        uint32_t size = 0;
        bool is_ring = false;
    };
    std::vector<Dimension> dimensions;
    std::vector<uint32_t> coordinates;  // by switch and dimension
    std::vector<uint8_t> dimension_of;  // by link

    uint32_t at(uint32_t s, uint32_t dimension) const {
        return coordinates[size_t{s} * dimensions.size() + dimension];
    }
};

// Nothing where the switches form none, for instance since a cable of it is broken.
std::optional<TorusShape> torus_shape(const Subnet& subnet);

}  // namespace tulle::control
