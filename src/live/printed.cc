#include "live/printed.h"

#include <cstdarg>
#include <cstdio>

namespace tulle::live {

std::string printed(const char* format, ...) {
    char room[400];
    va_list rest;
    va_start(rest, format);
    std::vsnprintf(room, sizeof room, format, rest);
    va_end(rest);
    return room;
}

}  // namespace tulle::live
