// Where a message of the connection manager names its receiver (IBTA vol 1, 12.6 and 13.4).
// Positions are in bytes from the start of the message.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tulle::live::management {

inline constexpr uint32_t kQueuePair = 1;
inline constexpr size_t kAttributeAt = 16;
inline constexpr size_t kDataAt = 24;
// A request names the service that it wants. All other messages name the communication ID of their
// receiver: first in the answer to a service request, second in others, after the sender's own.
inline constexpr size_t kServiceAt = kDataAt + 8;
inline constexpr size_t kFirstIdAt = kDataAt;
inline constexpr size_t kSecondIdAt = kDataAt + 4;
inline constexpr uint16_t kConnectRequest = 0x0010;
inline constexpr uint16_t kServiceRequest = 0x0017;
inline constexpr uint16_t kServiceReply = 0x0018;
// The lower half of a service ID of the IP CM service (annex A11), without protocol and port.
inline constexpr uint32_t kIpService = 0x0100'0000;

}  // namespace tulle::live::management
