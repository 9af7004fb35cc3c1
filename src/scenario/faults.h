// The lists `faults`, `qos` and `capture` of a scenario: failures of cables, switches and hosts,
// nodes with other QoS settings, and what is recorded.
#pragma once

#include <span>

#include "scenario/names.h"
#include "scenario/notes.h"
#include "sim/setup.h"

namespace tulle::scenario {

std::span<const KnownKey> fault_keys();
std::span<const KnownKey> qos_keys();

void read_faults(const Value& list, const Names& names, Notes& notes, sim::Setup& setup);
void read_qos(const Value& list, const Names& names, Notes& notes, sim::Setup& setup);
void read_capture(const Value& list, const Names& names, Notes& notes, sim::Setup& setup);

}  // namespace tulle::scenario
