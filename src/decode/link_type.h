// The link types of captures, and the conversion of their records to frames that the parser knows.
//
// Ethernet and InfiniBand frames are stored as they are. ERF adds a record header. `tcpdump -i any`
// (Linux cooked capture) and raw IP have no Ethernet header, so one is added: its destination is
// zero, its source the sender's address if the capture has it. It is not shown, and no checksum
// covers it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/frame.h"

namespace tulle::decode {

// A record without the additions of the capture's format.
struct Unwrapped {
    wire::LinkLayer link = wire::LinkLayer::ethernet;
    wire::Bytes bytes;
    size_t original_size = 0;
    bool made_up_ethernet = false;
    std::string_view problem;  // why the record cannot be decoded; empty if it can
};

// `link_type` is libpcap's DLT_ number.
bool is_supported(int link_type);
std::string supported_link_types();  // for an error message

// `scratch` holds the bytes if they had to be copied; it must outlive the result.
Unwrapped unwrap(int link_type, wire::Bytes record, size_t original_size,
                 std::vector<std::byte>& scratch);

// The frame of an unwrapped record. Points into its bytes.
wire::Frame parse(const Unwrapped& record);

}  // namespace tulle::decode
