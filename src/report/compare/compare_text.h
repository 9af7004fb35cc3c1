// A comparison as text: a table with one column per fabric, what held each one up, and the verdict.
// Fits 100 columns. A sweep is a table with one row per value, and a chart.
#pragma once

#include <string>

#include "report/compare/comparison.h"

namespace tulle::report {

std::string compare_text(const Comparison& comparison);
// Only the verdict.
std::string compare_verdict_text(const Comparison& comparison);

}  // namespace tulle::report
