#include "cli/doctor_wire.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "live/descriptor.h"
#include "live/identity.h"
#include "live/udp_sockets.h"
#include "wire/packet.h"

namespace tulle::cli {
namespace {

namespace fs = std::filesystem;

// RoCE v2 has one UDP port. The kernel's own RoCE (rxe) may hold it.
Finding look_at_port() {
    std::error_code error;
    const bool has_rxe = fs::exists("/sys/module/rdma_rxe", error);
    live::UdpAddress loopback;
    loopback.gid = wire::gid_of(wire::Ipv4Address{{127, 0, 0, 1}});
    if (const auto opened = live::UdpSockets::open({loopback}); !opened)
        return {Finding::Kind::helps, "--listen may not work: " + opened.error().message};
    if (has_rxe)
        return {Finding::Kind::helps,
                "--listen may not work: rdma_rxe is loaded, and takes UDP port 4791 of the whole "
                "machine; `rdma link` shows where it is in use, `modprobe -r rdma_rxe` gives the "
                "port back"};
    return {Finding::Kind::works, "--listen can open UDP port 4791"};
}

// The kernel buffers this much for a socket; it limits the packets in flight.
Finding look_at_buffers() {
    const uint32_t window = live::UdpSockets::window();
    if (window >= live::UdpSockets::kMostUnderWay)
        return {Finding::Kind::works, "receive buffers hold what --listen has under way"};
    return {Finding::Kind::helps,
            fmt::format("--listen has no more than {} packets under way: net.core.rmem_max is "
                        "small; `sysctl net.core.rmem_max=4194304` gives it room",
                        window)};
}

// Only root can see firewall rules, so this looks for the kernel modules.
Finding look_at_firewall() {
    std::error_code error;
    std::string names;
    for (const char* module : {"nf_tables", "ip_tables", "ip6_tables", "nft_compat"})
        if (fs::exists(fmt::format("/sys/module/{}", module), error))
            names.append(names.empty() ? "" : ", ").append(module);
    std::ifstream tables("/proc/net/ip_tables_names");
    std::string first;
    const bool has_old_rules = static_cast<bool>(tables >> first);
    if (names.empty())
        return {Finding::Kind::works, "no firewall of this machine is in the way of --listen"};
    return {has_old_rules ? Finding::Kind::helps : Finding::Kind::works,
            fmt::format("the kernel has a firewall ({}): if it has rules, one has to let UDP port "
                        "4791 in, such as `nft add rule inet filter input udp dport 4791 accept`",
                        names)};
}

// Segmentation offload: many packets per system call.
Finding look_at_segments() {
    const live::Descriptor one(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    const int size = 1024;
    const bool cuts = setsockopt(one.get(), IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size) == 0;
    const bool joins = setsockopt(one.get(), IPPROTO_UDP, UDP_GRO, &on, sizeof on) == 0;
    if (cuts && joins)
        return {Finding::Kind::works, "the kernel sends and receives many datagrams a call"};
    return {Finding::Kind::helps,
            fmt::format("--listen is slow: the kernel does not {} (UDP_SEGMENT needs Linux 4.18, "
                        "UDP_GRO 5.0)",
                        cuts ? "receive many datagrams a call" : "send many datagrams a call")};
}

uint32_t ask_driver(int socket, ifreq& request, uint32_t question) {
    ethtool_value value{};
    value.cmd = question;
    request.ifr_data = reinterpret_cast<char*>(&value);
    return ioctl(socket, SIOCETHTOOL, &request) == 0 ? value.data : 1;
}

Finding look_at_interface(int socket, const std::string& name) {
    const auto addresses = live::udp_addresses(name);
    if (!addresses)
        return {Finding::Kind::helps, fmt::format("--listen {} has no address to use", name)};
    live::Identity who = live::identity_of(0, true);
    live::listen_on(who, *addresses);
    if (const auto opened = live::UdpSockets::open(*addresses); !opened)
        return {Finding::Kind::helps,
                fmt::format("--listen {} does not work: {}", name, opened.error().message)};
    ifreq request{};
    std::strncpy(request.ifr_name, name.c_str(), sizeof request.ifr_name - 1);
    if (ask_driver(socket, request, ETHTOOL_GTXCSUM) == 0)
        return {Finding::Kind::helps,
                fmt::format("--listen {} is slow: it computes no checksums, so that each packet is "
                            "a call; `ethtool -K {} tx on` if it can",
                            name, name)};
    if (ask_driver(socket, request, ETHTOOL_GGRO) == 0)
        return {Finding::Kind::helps,
                fmt::format("--listen {} is slow: each packet is received by itself; `ethtool -K "
                            "{} gro on`",
                            name, name)};
    const uint32_t most = live::Identity{}.path_mtu;
    if (who.path_mtu < most)
        return {Finding::Kind::helps,
                fmt::format("--listen {} sends packets of no more than {} bytes: its MTU is {}; "
                            "`ip link set {} mtu 9000`, at both ends and on the way, allows {}",
                            name, who.path_mtu, addresses->front().mtu, name, most)};
    return {Finding::Kind::works,
            fmt::format("--listen {} sends packets of {} bytes", name, who.path_mtu)};
}

std::set<std::string> interfaces() {
    std::set<std::string> names;
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return names;
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
        const bool is_ip = one->ifa_addr != nullptr && (one->ifa_addr->sa_family == AF_INET ||
                                                        one->ifa_addr->sa_family == AF_INET6);
        const bool is_up = (one->ifa_flags & IFF_UP) != 0;
        if (is_ip && is_up && (one->ifa_flags & IFF_LOOPBACK) == 0) names.insert(one->ifa_name);
    }
    freeifaddrs(list);
    return names;
}

}  // namespace

std::vector<Finding> look_at_wire() {
    std::vector<Finding> findings = {look_at_port(), look_at_firewall(), look_at_segments(),
                                     look_at_buffers()};
    const live::Descriptor one(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    for (const std::string& name : interfaces())
        findings.push_back(look_at_interface(one.get(), name));
    return findings;
}

}  // namespace tulle::cli
