// The result of `tulle why`: each suspected cause, and the time of the run without it.
#pragma once

#include <string>
#include <vector>

#include "report/json_values.h"
#include "report/remedies.h"

namespace tulle::report {

struct Trial {
    Cause cause;
    std::string without;  // what was removed; empty: it cannot be removed alone
    bool ended = false;   // the run without it
    Duration before{};
    Duration after{};
};

enum class Judgement : uint8_t { untried, cause, part, not_the_cause };

// Whether removing it saved what its share promised: most of it, some of it, or nothing.
Judgement judge_trial(const Trial& trial);

std::string why_text(const Facts& facts, const Verdict& verdict, const std::vector<Trial>& trials);
Json why_json(const Facts& facts, const Verdict& verdict, const std::vector<Trial>& trials);

}  // namespace tulle::report
