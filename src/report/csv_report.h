// Flows and links as comma-separated values (RFC 4180), a row each under a row of names.
#pragma once

#include <string>

#include "report/facts.h"

namespace tulle::report {

std::string flows_csv(const Facts& facts);
std::string links_csv(const Facts& facts);

}  // namespace tulle::report
