// A failed check is a bug of ours and stops the program, also in release. A mistake of a peer or a
// user is a value (result.h), never a check.
#pragma once

namespace tulle::base {

// Prints which check failed and where, then ends the program.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace tulle::base

#define TULLE_CHECK(condition)          \
    (__builtin_expect(!!(condition), 1) \
         ? static_cast<void>(0)         \
         : ::tulle::base::check_failed(#condition, __FILE__, __LINE__))
