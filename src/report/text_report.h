// One run for a person.
#pragma once

#include <string>

#include "report/verdict.h"

namespace tulle::report {

// What the run did, from flows to the engine's own figures, then the verdict.
std::string text_report(const Facts& facts, const Verdict& verdict);

// The verdict alone: its sentence, then a line for each finding that the sentence does not tell.
std::string verdict_text(const Verdict& verdict);

}  // namespace tulle::report
