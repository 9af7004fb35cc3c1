// One run as text.
#pragma once

#include <string>

#include "report/verdict.h"

namespace tulle::report {

// All figures of the run, from flows to the engine, then the verdict.
std::string text_report(const Facts& facts, const Verdict& verdict);

// Only the verdict: its sentence, then one line per finding that the sentence does not mention.
std::string verdict_text(const Verdict& verdict);

}  // namespace tulle::report
