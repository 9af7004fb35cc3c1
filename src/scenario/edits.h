// Values that a command line changes inside what a scenario has written: `bytes=64MiB` in all work,
// `work.0.incast.bytes=1MB` in one piece of it, `topology.spines=2` in a fabric by name, and
// `hosts=32` as the parameter of it that says how many.
#pragma once

#include <string_view>

#include "scenario/fields.h"
#include "scenario/tree.h"

namespace tulle::scenario {

// Which part of a scenario a path goes into: "work" or "topology"; empty where the path is that of
// a setting, which is not edited but set in a layer of its own.
std::string_view edited_part(std::string_view path, const Value& value);

// What is at a path of maps, which are made where they are missing: "fabric.ecn.kmin".
Value& value_at(Value& root, std::string_view path);

// Changes the part, or says why that cannot be.
Complaint edit(std::string_view path, const Value& value, Value& part);

}  // namespace tulle::scenario
