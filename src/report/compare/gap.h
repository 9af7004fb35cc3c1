// Why one run took longer than another: the difference of their shares of time, by kind. The parts
// add up to the gap exactly; the remainder is called unexplained.
#pragma once

#include <string>
#include <vector>

#include "report/compare/comparison.h"
#include "report/time_shares.h"

namespace tulle::report {

struct GapPart {
    fabric::ShareKind kind = fabric::ShareKind::unexplained;
    std::string text;  // with the place where most of it was spent
    Duration time{};   // compared with the other run; negative: less
};

// The largest first. Empty if one of the runs was not explained.
std::vector<GapPart> gap_between(const ComparedRun& run, const ComparedRun& best);

// "573 us more: 480 us held by ..., 60 us ..."; small parts are summed up.
std::string gap_text(const std::vector<GapPart>& parts);

}  // namespace tulle::report
