// Messages on standard error for both libraries: whether they are wanted, and the one about a
// refused call.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace tulle::verbs {

// The program was started by `tulle run`, without TULLE_QUIET.
inline bool is_explained_at_all() {
    const char* quiet = std::getenv("TULLE_QUIET");
    return std::getenv("TULLE_RANK") != nullptr && (quiet == nullptr || *quiet == 0);
}

// Written by one call, so that messages of several processes do not mix.
inline void write_sentence(const char* line, int length, size_t room) {
    (void)!write(STDERR_FILENO, line, std::min(static_cast<size_t>(length), room - 1));
}

inline bool explains_calls() {
    static const bool does = [] {
        const char* wish = std::getenv("TULLE_EXPLAIN");
        return is_explained_at_all() && wish != nullptr && std::string_view(wish) == "calls";
    }();
    return does;
}

inline void say_refused(const char* call, int error, const std::string& why) {
    const char* name = strerrorname_np(error);
    const char* words = strerrordesc_np(error);
    // These ask the program to retry or to wait.
    if (error == EAGAIN || error == EINTR || error == EINPROGRESS) return;
    char line[640];
    const int length = std::snprintf(
        line, sizeof line, "tulle: process %d: %s was refused: %s (%s)%s%s.\n",
        static_cast<int>(getpid()), call, name != nullptr ? name : "?",
        words != nullptr ? words : "unknown error", why.empty() ? "" : ": ", why.c_str());
    write_sentence(line, length, sizeof line);
}

}  // namespace tulle::verbs
