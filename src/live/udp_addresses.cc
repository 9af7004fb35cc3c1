#include "live/udp_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "live/descriptor.h"

namespace tulle::live {
namespace {

using Interfaces = std::unique_ptr<ifaddrs, decltype(&freeifaddrs)>;

Interfaces interfaces() {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) list = nullptr;
    return Interfaces(list, freeifaddrs);
}

// All zeros for a family that is not IP.
wire::Gid gid_of(const sockaddr* address) {
    wire::Gid gid;
    if (address == nullptr) return gid;
    if (address->sa_family == AF_INET6)
        std::memcpy(gid.bytes.data(), &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr,
                    16);
    if (address->sa_family != AF_INET) return gid;
    wire::Ipv4Address ip;
    std::memcpy(ip.bytes.data(), &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
    return wire::gid_of(ip);
}

bool is_of_link_alone(const wire::Gid& gid) {
    return gid.bytes[0] == 0xfe && (gid.bytes[1] & 0xc0) == 0x80;
}

uint32_t mtu_of(const std::string& interface) {
    const Descriptor socket(
        static_cast<int>(syscall(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
    ifreq request{};
    std::strncpy(request.ifr_name, interface.c_str(), sizeof request.ifr_name - 1);
    if (!socket || ioctl(socket.get(), SIOCGIFMTU, &request) != 0) return 0;
    return static_cast<uint32_t>(std::max(request.ifr_mtu, 0));
}

wire::MacAddress mac_of(const ifaddrs* list, const std::string& interface) {
    wire::MacAddress mac;
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
        if (interface != one->ifa_name || one->ifa_addr == nullptr ||
            one->ifa_addr->sa_family != AF_PACKET)
            continue;
        const auto* link = reinterpret_cast<const sockaddr_ll*>(one->ifa_addr);
        if (link->sll_halen == mac.bytes.size())
            std::memcpy(mac.bytes.data(), link->sll_addr, mac.bytes.size());
    }
    return mac;
}

// The addresses of the interface with this name, or the one address that has this text.
std::vector<UdpAddress> find(const ifaddrs* list, const std::string& word) {
    wire::Ipv4Address four;
    wire::Gid wanted;
    if (inet_pton(AF_INET, word.c_str(), four.bytes.data()) == 1)
        wanted = wire::gid_of(four);
    else
        (void)inet_pton(AF_INET6, word.c_str(), wanted.bytes.data());
    std::vector<UdpAddress> found;
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
        const wire::Gid gid = gid_of(one->ifa_addr);
        if (gid == wire::Gid{} || is_of_link_alone(gid)) continue;
        if (wanted == wire::Gid{} ? word != one->ifa_name : gid != wanted) continue;
        found.push_back({gid, one->ifa_name, if_nametoindex(one->ifa_name), mtu_of(one->ifa_name),
                         mac_of(list, one->ifa_name)});
    }
    return found;
}

}  // namespace

base::Result<std::vector<UdpAddress>> udp_addresses(std::string_view list) {
    const Interfaces all = interfaces();
    std::vector<UdpAddress> addresses;
    while (!list.empty()) {
        const size_t end = std::min(list.find(','), list.size());
        const std::string word(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
        const auto found = find(all.get(), word);
        if (found.empty())
            return base::Error{"this machine has no address or interface '" + word +
                               "' to listen on; `ip address` shows what it has"};
        for (const UdpAddress& one : found)
            if (std::ranges::find(addresses, one) == addresses.end()) addresses.push_back(one);
    }
    return addresses;
}

bool is_multicast(const wire::Gid& address) {
    const auto& b = address.bytes;
    return wire::is_ipv4(address) ? b[wire::kIpv4Prefix] >> 4 == 0xe : b[0] == 0xff;
}

std::string text_of(const wire::Gid& address) {
    char room[INET6_ADDRSTRLEN] = {};
    if (wire::is_ipv4(address))
        inet_ntop(AF_INET, address.bytes.data() + wire::kIpv4Prefix, room, sizeof room);
    else
        inet_ntop(AF_INET6, address.bytes.data(), room, sizeof room);
    return room;
}

}  // namespace tulle::live
