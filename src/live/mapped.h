// Checks that memory is mapped. Registered pages are not pinned, so a program may have unmapped
// them or changed their protection.
#pragma once

#include <cstddef>

namespace tulle::live {

// Whether all of it is mapped, with any protection. Costs a call of the kernel for each 16 MiB.
bool is_mapped(const void* address, size_t length);

// Whether all of it can be read, or written. Allocates pages but does not change their contents.
// Kernels before 5.14 do not tell; there the answer is that of is_mapped().
bool is_readable(const void* address, size_t length);
bool is_writable(const void* address, size_t length);

}  // namespace tulle::live
