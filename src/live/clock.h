// The clock of real time. It starts with the first call, since 64 bits of picoseconds reach 106
// days, which a machine's uptime may exceed.
#pragma once

#include <ctime>

#include "base/time.h"

namespace tulle::live {

inline int64_t monotonic_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

inline base::Instant now() {
    static const int64_t start = monotonic_ns();
    return base::Instant{(monotonic_ns() - start) * 1000};
}

}  // namespace tulle::live
