// Who this process is in its world: the host that it belongs to, and the addresses of that host's
// adapters. `tulle run` sets this in the environment. A program started otherwise is host 0 of the
// default world, with one adapter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "live/board.h"
#include "live/udp_addresses.h"

namespace tulle::live {

// A port's addresses in its subnet, and the file that counts its traffic.
struct PortIdentity {
    wire::MacAddress mac;
    wire::Lid lid;  // InfiniBand
    wire::Ipv4Address ip;
    std::vector<wire::Gid> gids;  // on Ethernet each address twice: RoCE v1, then v2
    std::string counters_file;    // empty if there is none
};

struct Identity {
    std::string world = "0";
    bool is_verbose = false;  // print how work travels
    bool is_shared = false;   // the world is open to programs of all users
    uint32_t rank = 0;
    uint32_t device = 0;  // which of the host's adapters
    bool is_ethernet = true;
    wire::Guid guid;
    wire::MacAddress mac;
    wire::Lid lid;  // InfiniBand
    wire::Ipv4Address ip;
    std::string counters_file;    // of the host's adapter; empty if there is none
    std::vector<wire::Gid> gids;  // on Ethernet each address twice: RoCE v1, then v2
    uint32_t path_mtu = 4096;     // the largest that the port offers
    // Addresses of the machine that other machines may reach; empty: only this machine's programs
    // reach it.
    std::vector<UdpAddress> listens;
    std::vector<PortIdentity> more_ports;  // beyond the first port, whose addresses are above

    uint32_t port_count() const { return static_cast<uint32_t>(1 + more_ports.size()); }
    bool has_port(uint32_t port) const { return port >= 1 && port <= port_count(); }
    // The GIDs of a port; ports count from 1.
    const std::vector<wire::Gid>& gids_of(uint32_t port) const {
        return port < 2 ? gids : more_ports[port - 2].gids;
    }
    wire::Lid lid_of(uint32_t port) const { return port < 2 ? lid : more_ports[port - 2].lid; }
    wire::MacAddress mac_of(uint32_t port) const {
        return port < 2 ? mac : more_ports[port - 2].mac;
    }
    wire::Ipv4Address ip_of(uint32_t port) const { return port < 2 ? ip : more_ports[port - 2].ip; }
};

inline constexpr uint32_t kMaxRank = 253;

// Adapters of a host: chosen, as in the largest servers.
inline constexpr uint32_t kMaxDevices = 16;

Identity identity_of(uint32_t rank, bool is_ethernet, uint32_t device = 0, uint32_t ports = 1);
Identity identity_from_environment(uint32_t device = 0);
// Makes the host the machine itself, with these addresses. It sends from the first.
void listen_on(Identity& who, const std::vector<UdpAddress>& addresses);
// The index of the GID from which it sends to `peer`: one of the same kind, IPv4 or IPv6; the last
// one if there is none.
uint32_t gid_index_for(const Identity& who, const wire::Gid& peer, uint32_t port = 1);

// The address of ours for talking to another machine: that of the interface to which the kernel
// routes the peer's address, if we listen there.
wire::Gid source_for(const Identity& who, const wire::Gid& peer);
uint32_t device_count_from_environment();
uint32_t port_count_from_environment();
// The name of an adapter. TULLE_DEVICE names the first one; names end with the adapter's number.
std::string device_name_from_environment(uint32_t device);
// The counters file of an adapter's first port, in the tree that replaces /sys; and that of another
// of its ports.
std::string counters_file_in(const std::string& tree, uint32_t device);
std::string counters_file_of_port(const std::string& first, uint32_t port);

}  // namespace tulle::live
