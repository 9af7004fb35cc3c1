// The control plane in reports: bring-up, and the consequences of each fault.
#pragma once

#include <optional>
#include <string>

#include "report/facts.h"

namespace tulle::report {

// "leaf0-spine1 went down".
std::string disturbance_text(const Facts& facts, const control::Disturbance& cause);
// Packets lost to a fault until the next one: on a dead link, without a route, or in a loop.
uint64_t lost_by_fault(const sim::RepairResult& repair);
// The longest time without a route; none if it was never repaired, or nothing broke.
std::optional<Duration> longest_repair(const Facts& facts);
uint64_t lost_by_faults(const Facts& facts);
// A table for the text report; empty if forwarding tables are given.
std::string control_text(const Facts& facts);

}  // namespace tulle::report
