// One seed: a case that is drawn until the cause matters, run, and judged.
#pragma once

#include <string>

#include "plants.h"

namespace tulle::causes {

struct Trial {
    size_t plant = 0;     // of all_plants()
    std::string failure;  // of what must hold always; empty: it holds
    bool is_right = false;
    std::string planted;
    std::string said;
    std::string shares;
    std::string shares_without;  // of the run without the cause
};

Trial try_seed(uint64_t seed);

}  // namespace tulle::causes
