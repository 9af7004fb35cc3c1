// Whether memory is there: registered pages are not pinned, and a program may have unmapped them.
#pragma once

#include <cstddef>

namespace tulle::live {

// All of it. Costs a call of the kernel for each 16 MiB.
bool is_mapped(const void* address, size_t length);

}  // namespace tulle::live
