// Changes of a scenario's values from a command line: `bytes=64MiB` in all work,
// `work.0.incast.bytes=1MB` in one entry, `topology.spines=2` in a fabric, and `hosts=32` as the
// fabric's parameter for the number of hosts.
#pragma once

#include <string_view>

#include "scenario/fields.h"
#include "scenario/tree.h"

namespace tulle::scenario {

// The part of a scenario that a path changes: "work" or "topology". Empty if the path is that of a
// setting, which is not edited but set in a layer of its own.
std::string_view edited_part(std::string_view path, const Value& value);

// The value at a path such as "fabric.ecn.kmin". Maps that are missing are created.
Value& value_at(Value& root, std::string_view path);

// Changes the part, or says why that is impossible.
Complaint edit(std::string_view path, const Value& value, Value& part);

}  // namespace tulle::scenario
