// What a run with --skip did not simulate, in words and as JSON.
#pragma once

#include <string>

#include "report/facts.h"
#include "report/json_values.h"

namespace tulle::report {

// Thousandths of the run's time that were skipped.
uint64_t skipped_permille(const Facts& facts);
// "97.3 % of the time in 1 jump, ..."; nothing if nothing was to be skipped.
std::string skipping_text(const Facts& facts);
// Left out where nothing was to be skipped.
void add_skipping(const Facts& facts, Json& json);

}  // namespace tulle::report
