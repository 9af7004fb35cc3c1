// Capture files as bytes: classic pcap, or pcapng for several interfaces, both with nanoseconds.
// tcpdump, Wireshark and `tulle decode` read them. RoCE is written as Ethernet. InfiniBand is
// written as ERF records of type 21, because Wireshark refuses the link type that pcap reserves for
// it (247).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "wire/frame.h"

namespace tulle::wire {

// The header of a file with packets of one link layer.
void begin_capture(LinkLayer link, std::vector<std::byte>& file);

// One packet as on the wire, at a time since the epoch.
void append_to_capture(LinkLayer link, uint64_t nanoseconds, Bytes packet,
                       std::vector<std::byte>& file);

// The same as pcapng. Each interface is a tapped cable, by name. Packets from its first end are
// "outbound".
void begin_capture_of(LinkLayer link, std::span<const std::string> interfaces,
                      std::vector<std::byte>& file);
struct Heard {
    uint32_t interface = 0;
    bool is_outbound = false;
    uint64_t nanoseconds = 0;
};
void append_to_capture_of(LinkLayer link, const Heard& heard, Bytes packet,
                          std::vector<std::byte>& file);

}  // namespace tulle::wire
