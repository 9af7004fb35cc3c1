// Capture files as bytes, for whoever writes them to disk: classic pcap with nanoseconds, which
// tcpdump, Wireshark and `tulle decode` open. RoCE goes in as Ethernet. InfiniBand goes in as ERF
// records of type 21: Wireshark refuses the link type that pcap reserves for it (247).
#pragma once

#include <vector>

#include "wire/frame.h"

namespace tulle::wire {

// The head of a file that will hold packets of one link layer.
void begin_capture(LinkLayer link, std::vector<std::byte>& file);

// One packet, as it lies on the wire, at a time since the epoch.
void append_to_capture(LinkLayer link, uint64_t nanoseconds, Bytes packet,
                       std::vector<std::byte>& file);

}  // namespace tulle::wire
