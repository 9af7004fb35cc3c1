// A management datagram in words: "ComMgt Send ConnectReject: invalid service ID".
#pragma once

#include <string>

#include "wire/layout.h"

namespace tulle::decode {

// `mad` holds the datagram, 256 bytes; with fewer only their number is printed.
std::string mad_text(wire::Bytes mad);

}  // namespace tulle::decode
