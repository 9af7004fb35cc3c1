// What a management datagram says, in words: "ComMgt Send ConnectReject: invalid service ID".
#pragma once

#include <string>

#include "wire/layout.h"

namespace tulle::decode {

// `mad` holds the datagram, 256 bytes; of fewer nothing but their number is known.
std::string mad_text(wire::Bytes mad);

}  // namespace tulle::decode
