// The table of a comparison: one row per figure, one cell per run.
#pragma once

#include <string>
#include <vector>

#include "report/compare/comparison.h"

namespace tulle::report {

struct ComparedRow {
    std::string label;
    std::vector<std::string> cells;
};

std::vector<ComparedRow> compared_rows(const std::vector<const ComparedRun*>& runs);

// None if the run does not have it.
const CollectiveFacts* phase_of(const ComparedRun& run, size_t phase);

std::string short_time(Duration duration);              // "1.23 ms"
std::string gigabytes_text(uint64_t bytes_per_second);  // "371.02", without its unit

}  // namespace tulle::report
