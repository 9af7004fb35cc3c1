// Formats a sentence as printf does. The drop-in libraries need only the C library, so they cannot
// use fmt.
#pragma once

#include <string>

namespace tulle::live {

[[gnu::format(printf, 1, 2)]] std::string printed(const char* format, ...);

}  // namespace tulle::live
