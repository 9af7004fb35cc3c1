// Detects a torus or a mesh, and the coordinates of each switch. Only cables matter, not names or
// numbers.
//
// Opposite cables in a square of four switches go in the same direction. Two neighbours of a switch
// that share no other neighbour lie in one dimension. Without the cables of one dimension, the
// fabric falls into slices; the slice of a switch is its coordinate. The slices must form a ring or
// a line. A ring of four is two dimensions of two, which is the same graph.
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

// Nothing if the switches form neither, for instance because a cable is broken.
std::optional<TorusShape> torus_shape(const Subnet& subnet);

}  // namespace tulle::control
