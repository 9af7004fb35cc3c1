// Packets of Ultra Ethernet: what a datagram to its port is, in words.
#pragma once

#include <optional>
#include <string>

#include "wire/frame.h"
#include "wire/uet/uet.h"

namespace tulle::decode {

// The frame's, if it is one whose layout is known.
std::optional<wire::UetPacket> uet_packet(const wire::Frame& frame);

std::string uet_text(const wire::UetPacket& packet);

}  // namespace tulle::decode
