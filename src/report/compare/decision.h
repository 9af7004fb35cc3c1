// The result of a comparison for the top of its page: a headline, and further findings.
#pragma once

#include <string>
#include <vector>

#include "report/compare/comparison.h"

namespace tulle::report {

struct Decision {
    std::string headline;
    std::vector<std::string> sentences;
};

Decision decision_of(const Comparison& comparison);

}  // namespace tulle::report
