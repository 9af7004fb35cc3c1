// The link types of captures, and how a record of each becomes a frame that the parser knows.
//
// Ethernet and InfiniBand lie in a capture as they are. ERF puts its own record header in front.
// `tcpdump -i any` (Linux cooked capture) and raw IP lack the Ethernet header, so one is made up:
// its destination is zero, its source the sender's address where the capture has it. It is not
// shown, and no checksum covers it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/frame.h"

namespace tulle::decode {

// A record without what the capture's own format adds to it.
struct Unwrapped {
    wire::LinkLayer link = wire::LinkLayer::ethernet;
    wire::Bytes bytes;
    size_t original_size = 0;
    bool made_up_ethernet = false;
    std::string_view problem;  // why the record cannot be taken apart; empty if it can
};

// `link_type` is libpcap's DLT_ number.
bool is_supported(int link_type);
std::string supported_link_types();  // for an error message

// `scratch` holds the bytes where they had to be put together; it outlives the result.
Unwrapped unwrap(int link_type, wire::Bytes record, size_t original_size,
                 std::vector<std::byte>& scratch);

// The frame of an unwrapped record. Points into its bytes.
wire::Frame parse(const Unwrapped& record);

}  // namespace tulle::decode
