// A run without one of its causes, to prove that it was one: the same setup with the slow cable as
// fast as the others, without the other work, without marks.
#pragma once

#include <optional>
#include <string>

#include "report/causes.h"

namespace tulle::report {

struct Remedy {
    sim::Setup setup;
    std::string without;  // what was taken away: "without the loss on the cable s0[1] - s1[4]"
};

// Nothing if the cause cannot be taken away by itself.
std::optional<Remedy> without(const Facts& facts, const Cause& cause);

}  // namespace tulle::report
