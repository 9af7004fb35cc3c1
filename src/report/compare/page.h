// A comparison as one self-contained page: the decision, the question, the reasons, tables, and
// charts that page/compare.js draws from the figures in the page.
#pragma once

#include <string>

#include "report/compare/comparison.h"
#include "report/page/frame.h"

namespace tulle::report {

std::string compare_page(const Comparison& comparison, const About& about);

}  // namespace tulle::report
