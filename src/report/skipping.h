// What a run with --skip extrapolated, as text and JSON.
#pragma once

#include <string>

#include "report/facts.h"
#include "report/json_values.h"

namespace tulle::report {

// Thousandths of the run's time that were extrapolated.
uint64_t skipped_permille(const Facts& facts);
// "97.3 % of the time in 1 jump, ..."; empty without --skip.
std::string skipping_text(const Facts& facts);
// Left out without --skip.
void add_skipping(const Facts& facts, Json& json);

}  // namespace tulle::report
