// Writes the packets of tapped cables as a capture file for tcpdump, Wireshark and `tulle decode`.
// Addresses are derived from numbers: endpoint n is 10.0.0.0 + n + 1, LID n + 1, and its MAC and
// GID end with the number of its node.
#pragma once

#include <span>
#include <vector>

#include "sim/result.h"
#include "sim/setup.h"
#include "wire/capture.h"

namespace tulle::report {

// Writes a capture piece by piece. Bytes are appended to a buffer that the caller empties.
class CaptureWriter {
public:
    // Each of these cables is an interface, so that readers recognise a packet that passes two of
    // them.
    CaptureWriter(const sim::Setup& setup, std::vector<uint32_t> cables,
                  std::vector<std::byte>& file);
    // In order of time.
    void add(std::span<const sim::CapturedPacket> packets, std::vector<std::byte>& file);

private:
    size_t encode(const wire::Packet& packet, const wire::Path& path);

    const sim::Setup& setup_;
    const std::vector<uint32_t> cables_;
    const std::vector<uint32_t> hosts_;
    const wire::LinkLayer link_;
    std::vector<std::byte> bytes_;  // of one packet
};

// The cables of all taps, without repetition.
std::vector<uint32_t> tapped_cables(const sim::Setup& setup);

// The same for a result that holds all packets.
std::vector<std::byte> capture_report(const sim::Setup& setup, const sim::Result& result);

}  // namespace tulle::report
