// The parts of the table of settings.
#pragma once

#include <vector>

#include "scenario/settings.h"

namespace tulle::scenario {

std::vector<Setting> fabric_settings();
std::vector<Setting> host_settings();
std::vector<Setting> algorithm_settings();  // of congestion control

}  // namespace tulle::scenario

// Where a setting goes: TULLE_AT(fabric.link.rate) is a function from a Target to that member.
#define TULLE_AT(member)           \
    [](Target & target) -> auto& { \
        return target.member;      \
    }
