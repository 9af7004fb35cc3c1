// A comparison for programs: as JSON with `runs` (each with the keys of `tulle sim`), `cost`,
// `verdict` and `rules`; and as comma-separated values, one row per run and collective.
#pragma once

#include <string>

#include "report/compare/comparison.h"
#include "report/json_values.h"

namespace tulle::report {

Json comparison_json(const Comparison& comparison);
std::string compare_csv(const Comparison& comparison);

}  // namespace tulle::report
