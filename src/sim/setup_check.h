// Finds what does not go together in a setup, before a network is built from it.
#pragma once

#include <optional>

#include "base/result.h"
#include "sim/wiring.h"

namespace tulle::sim {

std::optional<base::Error> find_wrong(const Setup& setup, const Wiring& wiring);

}  // namespace tulle::sim
