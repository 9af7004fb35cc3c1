// Who this process is in its world: the host it stands for, and the addresses of that host's
// adapters. `tulle run` says so in the environment; a program started otherwise is host 0 of the
// usual world, with one adapter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "live/udp_addresses.h"

namespace tulle::live {

struct Identity {
    std::string world = "0";
    bool is_verbose = false;  // the user wants to know how work travels
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
    // Addresses of the machine that others may reach; none: programs of this machine alone.
    std::vector<UdpAddress> listens;
};

inline constexpr uint32_t kMaxRank = 253;

// Adapters of a host: chosen, as many as the largest servers have.
inline constexpr uint32_t kMaxDevices = 16;

Identity identity_of(uint32_t rank, bool is_ethernet, uint32_t device = 0);
Identity identity_from_environment(uint32_t device = 0);
// The host is the machine itself, known by these addresses. The first is the one it sends from.
void listen_on(Identity& who, const std::vector<UdpAddress>& addresses);
// The GID that it sends from to another of this kind, IPv4 or IPv6; its last one if it has none.
uint32_t gid_index_for(const Identity& who, const wire::Gid& peer);
uint32_t device_count_from_environment();
// Names end with the adapter's number. The first one is as TULLE_DEVICE says.
std::string device_name_from_environment(uint32_t device);
// The file of an adapter's counters in the tree that stands for /sys.
std::string counters_file_in(const std::string& tree, uint32_t device);

}  // namespace tulle::live
