// What a cable is like if nothing is wrong with it: the verdict looks for cables that differ from
// it, and a remedy makes them so.
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

// Of cables between switches and of those at hosts. In each, the middle one by delay and the middle
// one by rate; of two in the middle the better one, so half of all cannot make slow what is usual.
std::array<std::optional<UsualCable>, 2> usual_cables(const sim::Setup& setup);

}  // namespace tulle::report
