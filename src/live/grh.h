// The route header that a datagram's receiver gets in front of the payload.
#pragma once

#include <array>
#include <cstddef>

#include "wire/packet.h"

namespace tulle::live {

inline constexpr size_t kGrhBytes = 40;

bool is_datagram(const wire::Packet& packet);
std::array<std::byte, kGrhBytes> grh_of(const wire::Packet& packet, const wire::Gid& from,
                                        const wire::Gid& to);

}  // namespace tulle::live
