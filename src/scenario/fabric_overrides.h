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

// True if a key of `fabric` is one of these lists, not a setting.
bool is_override_list(std::string_view key);

// Reads the lists of a `fabric` section. Later entries override earlier ones, and so do entries of
// a section that is read later.
void read_fabric_overrides(const Value& fabric, Notes& notes, sim::Setup& setup);

}  // namespace tulle::scenario
