// Fast paths for packets in the middle of messages. Without any of them a run has the same results,
// but is slower: for tests that compare the two.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tulle::transport {

enum class ShortWay : uint8_t { continue_message, continue_write, acknowledge_middle };
inline constexpr size_t kShortWays = 3;
inline constexpr uint8_t kAllShortWays = (1 << kShortWays) - 1;  // a bit each

}  // namespace tulle::transport
