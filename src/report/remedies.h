// A run without one of its causes, to prove the cause: the same setup with the slow cable as fast
// as the others, without the other work, without marks.
//
// Work that goes is put off to a time when the rest has ended, and the run stops there. So what is
// left keeps its number, from which its draws follow, and the run differs in nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/causes.h"

namespace tulle::report {

struct Remedy {
    sim::Setup setup;
    std::string without;  // what was removed: "without the loss on the cable s0[1] - s1[4]"
    std::vector<bool> lacks_flow{};  // work that was removed; empty: none
    std::vector<bool> lacks_job{};
};

// Nothing if the cause cannot be removed alone.
std::optional<Remedy> without(const Facts& facts, const Cause& cause);

// How long the work takes that was not removed; nothing if it did not end.
std::optional<Duration> time_without(const Remedy& remedy, const sim::Result& result);

}  // namespace tulle::report
