// What the control plane did: bring-up, and what followed each fault.
#pragma once

#include <optional>
#include <string>

#include "report/facts.h"

namespace tulle::report {

// "leaf0-spine1 went down".
std::string disturbance_text(const Facts& facts, const control::Disturbance& cause);
// Packets that a fault cost until the next one: on a dead link, without a route, or in a circle.
uint64_t lost_by_fault(const sim::RepairResult& repair);
// The longest time that somebody had no route; none: it was never repaired, or nothing broke.
std::optional<Duration> longest_repair(const Facts& facts);
uint64_t lost_by_faults(const Facts& facts);
// A table for the text report; empty where tables are given.
std::string control_text(const Facts& facts);

}  // namespace tulle::report
