// Packets to and from other machines: which datagrams are for this process and who sent them, where
// those to a group go, and what the kernel reports. The packets themselves are udp_path's, other
// processes that share the port udp_neighbours'.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "live/connections.h"
#include "live/udp_neighbours.h"
#include "live/wire_path.h"

namespace tulle::live {

class UdpCarrier {
public:
    // Is told what the kernel reports.
    class Reports {
    public:
        virtual ~Reports() = default;
        // The kernel reports this errno for datagrams to another machine. `quoted`: the message of
        // the connection manager that the report quotes, if it does.
        virtual void on_unreachable(uint32_t peer, int error,
                                    std::span<const std::byte> quoted) = 0;
    };
    // Takes the packets that have come.
    class Owner {
    public:
        virtual ~Owner() = default;
        virtual void deliver(uint32_t source, base::Instant now, wire::Packet packet,
                             std::span<const std::byte> grh, uint8_t refusal,
                             const wire::Gid* to) = 0;
        // Many have come: answers are sent before more are taken.
        virtual void answer(base::Instant now) = 0;
    };
    // What it works with. `wire` is null without faults.
    struct Parts {
        World& world;
        Connections& connections;
        transport::Adapter& adapter;
        Reports& reports;
        Owner& owner;
        WirePath* wire;
    };

    // Takes the port at the addresses on which the host listens; an error says why it cannot.
    static base::Result<std::unique_ptr<UdpCarrier>> open(const Parts& parts);
    UdpCarrier(const Parts& parts, std::unique_ptr<UdpPath> path);

    UdpPath& path() { return *path_; }
    UdpSockets& sockets() { return path_->sockets(); }
    const UdpSockets& sockets() const { return path_->sockets(); }
    // Whether the kernel takes more datagrams; flushes if full. While it does, we go on sending,
    // because nobody comes back for the rest.
    bool has_room();

    // A queue pair joins a multicast group, or leaves it. Returns the file that becomes readable
    // (udp_sockets.h), or -1.
    int join(const wire::Gid& group);
    void leave(const wire::Gid& group);
    // To members on other machines.
    void send_to_group(const wire::Packet& packet, const wire::Gid& group);
    // A queue pair is connected to a machine that may run Tulle.
    void greet(base::Instant now, Peer& peer) { neighbours_.greet(now, peer); }

    void receive(base::Instant now);
    // A datagram that a neighbour has handed over. False if it was not allowed to.
    bool receive_handed(uint32_t peer, base::Instant now, std::span<const std::byte> record);
    // The peers for whose rings datagrams were handed over since the last call.
    std::vector<uint32_t> take_handed() { return std::exchange(handed_, {}); }

    WireCounters counters() const;
    // When receive() has something to do even if nothing comes.
    base::Instant next_deadline() const {
        return sockets().has_new_errors() ? base::Instant{} : neighbours_.next_deadline();
    }

private:
    const UdpAddress* address_for(const wire::Gid& group) const;
    void report_errors();
    bool is_wanted(const wire::Packet& packet, const wire::Gid& to);
    void receive_datagram(base::Instant now, const UdpArrival& arrival);
    void take_datagram(base::Instant now, const UdpArrival& arrival, bool may_hand_over);

    World& world_;
    Connections& connections_;
    transport::Adapter& adapter_;
    Reports& reports_;
    Owner& owner_;
    WirePath* const wire_;
    const Identity& who_;
    std::unique_ptr<UdpPath> path_;
    UdpNeighbours neighbours_;
    std::map<std::array<uint8_t, 16>, uint32_t> joined_;  // groups, and queue pairs in each
    std::vector<uint32_t> handed_;
    uint64_t strangers_ = 0;  // packets from addresses without a connection
};

}  // namespace tulle::live
