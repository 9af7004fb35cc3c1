// A comparison as one page that needs nothing else: the decision, the question, the reasons, tables
// and charts that the page draws itself from the figures in it (page/compare.js).
#pragma once

#include <string>

#include "report/compare/comparison.h"
#include "report/page/frame.h"

namespace tulle::report {

std::string compare_page(const Comparison& comparison, const About& about);

}  // namespace tulle::report
