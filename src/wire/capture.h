// Capture files as bytes, for whoever writes them to disk: classic pcap, or pcapng where there are
// several interfaces, both with nanoseconds, which tcpdump, Wireshark and `tulle decode` open. RoCE
// goes in as Ethernet. InfiniBand goes in as ERF records of type 21: Wireshark refuses the link
// type that pcap reserves for it (247).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "wire/frame.h"

namespace tulle::wire {

// The head of a file that will hold packets of one link layer.
void begin_capture(LinkLayer link, std::vector<std::byte>& file);

// One packet, as it lies on the wire, at a time since the epoch.
void append_to_capture(LinkLayer link, uint64_t nanoseconds, Bytes packet,
                       std::vector<std::byte>& file);

// The same as pcapng, which knows several interfaces: here each is a cable that is listened at, by
// name. Packets that its first end sent are "outbound" of it.
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
