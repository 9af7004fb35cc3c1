// Hosts that differ from the others: `hosts.overrides`, a list of entries that match names.
#pragma once

#include <span>

#include "scenario/notes.h"
#include "sim/setup.h"

namespace tulle::scenario {

inline constexpr std::string_view kHostOverrides = "overrides";

// The keys of an entry.
std::span<const KnownKey> host_override_keys();

// The setup must have its graph, its fabric and the settings of all hosts. If two entries match a
// host, the later one wins, setting by setting.
void read_host_overrides(const Value& list, Notes& notes, sim::Setup& setup);

// The section `hosts` without its overrides.
Value without_overrides(const Value& hosts);

}  // namespace tulle::scenario
