// Whether memory is there: registered pages are not pinned, and a program may have unmapped them or
// changed what may be done with them.
#pragma once

#include <cstddef>

namespace tulle::live {

// All of it is mapped, whatever may be done with it. Costs a call of the kernel for each 16 MiB.
bool is_mapped(const void* address, size_t length);

// All of it can be read, or written. Changes nothing there; pages come into being. Kernels before
// 5.14 do not tell: there it is what is_mapped() says.
bool is_readable(const void* address, size_t length);
bool is_writable(const void* address, size_t length);

}  // namespace tulle::live
