// The lists `fabric.switches` and `fabric.cables` of a scenario: switches and cables, by name or
// pattern, that differ from the rest.
#pragma once

#include <span>

#include "scenario/fields.h"
#include "scenario/notes.h"
#include "sim/setup.h"

namespace tulle::scenario {

std::span<const KnownKey> switch_override_keys();
std::span<const KnownKey> cable_override_keys();

// Whether a key of `fabric` is one of these lists and not a setting.
bool is_override_list(std::string_view key);

// Reads the lists that a `fabric` section has. Entries are put on top of one another in the order
// in which they stand; those of a section that is read later come last.
void read_fabric_overrides(const Value& fabric, Notes& notes, sim::Setup& setup);

}  // namespace tulle::scenario
