// The list `tenants` of a scenario: which hosts may talk to each other.
#pragma once

#include <span>

#include "scenario/names.h"
#include "scenario/notes.h"
#include "scenario/tree.h"
#include "sim/setup.h"

namespace tulle::scenario {

std::span<const KnownKey> tenant_keys();

void read_tenants(const Value& list, const Names& names, Notes& notes, sim::Setup& setup);

}  // namespace tulle::scenario
