// A comparison for programs: `runs`, each with the keys of `tulle sim`, `cost`, `verdict`, `rules`;
// and as comma-separated values, a row for each run and collective.
#pragma once

#include <string>

#include "report/compare/comparison.h"
#include "report/json_values.h"

namespace tulle::report {

Json comparison_json(const Comparison& comparison);
std::string compare_csv(const Comparison& comparison);

}  // namespace tulle::report
