// A comparison for a person: a table with a column a fabric, what held each one up, and the
// verdict. Fits 100 columns. A sweep is a table with a row a value, and a chart.
#pragma once

#include <string>

#include "report/compare/comparison.h"

namespace tulle::report {

std::string compare_text(const Comparison& comparison);
// The verdict alone.
std::string compare_verdict_text(const Comparison& comparison);

}  // namespace tulle::report
