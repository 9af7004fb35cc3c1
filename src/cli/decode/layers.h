// The layers of a packet, from the link to what the payload holds.
#pragma once

#include "cli/decode/facts.h"
#include "wire/frame.h"

namespace tulle::cli {

// Calls visit(layer_name, header) for each header that the payload holds: those of a management
// datagram (is_mad()). Returns how many bytes of the payload they explain; the rest is shown as it
// is.
template <class Visitor>
size_t for_each_payload_layer(const wire::Frame&, Visitor&&) {
    return 0;
}

// Calls visit(layer_name, header) for each header of the packet, in wire order, and returns how
// many bytes of the payload are explained.
template <class Visitor>
size_t for_each_layer(const wire::Frame& frame, Visitor&& visit) {
    wire::for_each_header(frame, visit);
    return is_mad(frame) && !frame.cut ? for_each_payload_layer(frame, visit) : 0;
}

}  // namespace tulle::cli
