// Memory and processors of this machine, and what this process uses.
#pragma once

#include <cstdint>

namespace tulle::cli {

uint64_t memory_in_use();     // resident bytes of this process; 0 if unknown
uint64_t memory_available();  // bytes available without swapping; 0 if unknown

}  // namespace tulle::cli
