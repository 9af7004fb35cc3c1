#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tulle::base {

// The only function of the sans-IO rooms that prints: the program is about to end.
void check_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "tulle: internal error: %s (%s:%d)\n", condition, file, line);
    std::abort();
}

}  // namespace tulle::base
