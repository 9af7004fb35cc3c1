// The key `control` of a scenario: who fills the tables of switches.
#pragma once

#include <span>

#include "scenario/names.h"
#include "scenario/notes.h"
#include "scenario/tree.h"
#include "sim/setup.h"

namespace tulle::scenario {

// What a map of `control` may have.
std::span<const KnownKey> control_keys();

// The fabric of the setup is complete.
void read_control(const Value& value, const Names& names, Notes& notes, sim::Setup& setup);

}  // namespace tulle::scenario
