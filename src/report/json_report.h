// One run for programs. Keys are stable across versions, and the name of a quantity ends with its
// unit. Everything but cpu_s, wall_s, hops_per_cpu_s and peak_rss_bytes of the engine is the same
// in every run of one input.
#pragma once

#include <string>

#include "report/verdict.h"

namespace tulle::report {

std::string json_report(const Facts& facts, const Verdict& verdict);

}  // namespace tulle::report
