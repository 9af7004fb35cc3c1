// What this machine has and what the program takes of it.
#pragma once

#include <cstdint>

namespace tulle::cli {

uint64_t memory_in_use();     // resident bytes of this process; 0 where nobody tells
uint64_t memory_available();  // bytes that could be had without swapping; 0 where nobody tells

}  // namespace tulle::cli
