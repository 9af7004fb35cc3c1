// A comparison as one page that needs nothing else: tables, and charts that the page draws itself
// from the figures in it (page.html).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/compare/comparison.h"

namespace tulle::report {

struct PageText {
    std::string_view name;
    std::string_view text;
};

// page.html, compiled in.
std::span<const PageText> page_texts();

std::string compare_page(const Comparison& comparison);

}  // namespace tulle::report
