// Turns packets into datagrams of RoCE v2, and back: headers and ICRC (IBTA annex A17).
//
// The ICRC of a packet over IPv4 covers the identification in its IP header, which a socket does
// not show. We first try the value that the sender's kernel would have counted. If that is wrong,
// we solve for the value: a packet is good if one exists. Then only 16 of the 32 bits are checked;
// a counter says how often that happened.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "live/udp_sockets.h"
#include "wire/packet.h"

namespace tulle::live {

// The fields of the headers before a packet that the ICRC covers, besides its length.
struct DatagramEnds {
    wire::Gid from;
    wire::Gid to;
    uint16_t source_port = 0;
    uint16_t identification = 0;
    bool operator==(const DatagramEnds&) const = default;
};

class UdpPath {
public:
    static base::Result<std::unique_ptr<UdpPath>> open(const std::vector<UdpAddress>& addresses);

    // Sends a packet. If nobody is there or the packet is too long, it is lost, as on any network.
    void send(const wire::Gid& from, const wire::Gid& to, const wire::Packet& packet);
    // Sends a frame that already has an ICRC from the emulated wire, which may have damaged it. A
    // good frame stays good, and a bad one bad.
    void send_frame(const wire::Gid& from, const wire::Gid& to, std::span<const std::byte> frame);

    // The packet in an arrival; its payload stays in the datagram. Nothing if it is malformed or
    // damaged.
    std::optional<wire::Packet> read(const UdpArrival& arrival);

    UdpSockets& sockets() { return *sockets_; }
    const UdpSockets& sockets() const { return *sockets_; }

    struct Counts {
        uint64_t malformed = 0;
        uint64_t damaged = 0;  // by the ICRC
        uint64_t solved = 0;   // good, with an identification that had to be solved for
    };
    const Counts& counts() const { return counts_; }

private:
    // Packets of a peer come from few ports and have few lengths, so the ICRC over their headers is
    // cached, without the identification.
    struct KnownEnvelope {
        DatagramEnds ends;
        size_t length = 0;  // of the packet; 0: the entry is unused
        uint32_t state = 0;
    };
    uint32_t icrc_of(const DatagramEnds& ends, wire::Bytes transport);
    void seal(const DatagramEnds& ends, std::span<std::byte> bytes);
    void seal_as_second(std::span<std::byte> bytes);

    std::unique_ptr<UdpSockets> sockets_;
    std::array<KnownEnvelope, 64> known_;
    // How the ICRC of a datagram of this length changes if its identification is 1 instead of 0.
    struct Change {
        size_t length = 0;
        uint32_t bits = 0;
    };
    Change as_second_;
    Counts counts_;
};

}  // namespace tulle::live
