// The typical cable: the verdict looks for cables that differ from it, and a remedy makes them
// equal to it.
#pragma once

#include <array>
#include <optional>

#include "sim/setup.h"

namespace tulle::report {

struct UsualCable {
    base::Duration delay{};
    base::Rate rate;
};

bool is_at_host(const topology::Graph& graph, const topology::Cable& cable);

// For cables between switches and for those at hosts: the median by delay and the median by rate.
// Of two in the middle it takes the better one, so half of all cables cannot make slow ones
// typical.
std::array<std::optional<UsualCable>, 2> usual_cables(const sim::Setup& setup);

}  // namespace tulle::report
