// Flows and links as comma-separated values (RFC 4180), one row each after a header.
#pragma once

#include <string>

#include "report/facts.h"

namespace tulle::report {

std::string flows_csv(const Facts& facts);
std::string links_csv(const Facts& facts);

}  // namespace tulle::report
