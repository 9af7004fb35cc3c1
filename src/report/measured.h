// Simulated collectives next to nccl-tests' measurements of the same size.
#pragma once

#include <string>

#include "report/facts.h"
#include "report/json_values.h"
#include "scenario/measured.h"

namespace tulle::report {

std::string measured_text(const Facts& facts, const scenario::Measured& measured);
Json measured_json(const Facts& facts, const scenario::Measured& measured);

}  // namespace tulle::report
