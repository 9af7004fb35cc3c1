// Packets as datagrams of RoCE v2, and back: headers and ICRC (IBTA annex A17).
//
// The ICRC of a packet over IPv4 covers the identification in its IP header, which a socket does
// not show. Where it is not what the sender's kernel would have counted, the value is solved for:
// a packet is good if there is one. That leaves 16 of the 32 bits; how often it was so is counted.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "live/udp_sockets.h"
#include "wire/packet.h"

namespace tulle::live {

// What the ICRC sees of the headers before a packet, beside its length.
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

    // Nobody is there, or the packet is too long: it is lost, as on any network.
    void send(const wire::Gid& from, const wire::Gid& to, const wire::Packet& packet);
    // One that was sealed for an imagined wire, and may have been damaged on it: it stays as good
    // or bad as it was.
    void send_frame(const wire::Gid& from, const wire::Gid& to, std::span<const std::byte> frame);

    // The packet that came, its payload where the datagram lies; nothing if it is none, or damaged.
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
    // Packets of a peer come from few ports and have few lengths: what the ICRC takes from their
    // headers is kept, but for the identification.
    struct KnownEnvelope {
        DatagramEnds ends;
        size_t length = 0;  // of the packet; none has none
        uint32_t state = 0;
    };
    uint32_t icrc_of(const DatagramEnds& ends, wire::Bytes transport);
    void seal(const DatagramEnds& ends, std::span<std::byte> bytes);

    std::unique_ptr<UdpSockets> sockets_;
    std::array<KnownEnvelope, 64> known_;
    Counts counts_;
};

}  // namespace tulle::live
