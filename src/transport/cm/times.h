// Times of connection management. Messages carry them as codes of five bits, 4.096 us * 2^n.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace tulle::transport {

inline constexpr uint8_t kMaxTimeCode = 31;

constexpr base::Duration cm_time(uint8_t code) {
    return base::Duration{int64_t{4'096'000} << std::min(code, kMaxTimeCode)};
}

// A message and its answer.
constexpr base::Duration round_trip(uint8_t packet_lifetime) {
    return 2 * cm_time(packet_lifetime);
}

// The local ACK timeout of a QP: the round trip plus the delay of the far adapter (12.7.34),
// rounded to the nearest code. Rounding up would double it for any delay, and the other side, which
// derives the packet lifetime from it, would double it again.
constexpr uint8_t ack_timeout_code(uint8_t packet_lifetime, uint8_t ack_delay) {
    const int there_and_back = packet_lifetime + 1;
    const int longer = std::max<int>(there_and_back, ack_delay);
    const int shorter = std::min<int>(there_and_back, ack_delay);
    const int code = longer + (shorter >= longer - 1 ? 1 : 0);
    return static_cast<uint8_t>(std::min<int>(code, kMaxTimeCode));
}

}  // namespace tulle::transport
