// An entry `experts` of the list `work`: layers of experts, as DeepEP runs them.
#pragma once

#include <span>

#include "scenario/notes.h"
#include "workload/expert_layers.h"

namespace tulle::scenario {

std::span<const KnownKey> expert_keys();

workload::ExpertLayers read_experts(const Value& map, uint64_t seed, Notes& notes);

}  // namespace tulle::scenario
