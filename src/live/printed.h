// A sentence made as printf makes it. The drop-in libraries need the C library alone, so they do
// without fmt.
#pragma once

#include <string>

namespace tulle::live {

[[gnu::format(printf, 1, 2)]] std::string printed(const char* format, ...);

}  // namespace tulle::live
