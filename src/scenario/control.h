// The key `control` of a scenario: who programs the forwarding tables of switches.
#pragma once

#include <span>

#include "scenario/names.h"
#include "scenario/notes.h"
#include "scenario/tree.h"
#include "sim/setup.h"

namespace tulle::scenario {

// The keys of a `control` map.
std::span<const KnownKey> control_keys();

// The fabric of the setup must be complete.
void read_control(const Value& value, const Names& names, Notes& notes, sim::Setup& setup);

}  // namespace tulle::scenario
