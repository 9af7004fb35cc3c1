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
#include "wire/ip.h"

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

// What a word asks for: an address, an interface, or an address on an interface.
struct Wanted {
    wire::Gid gid;
    std::string interface;
};

Wanted wanted_by(const std::string& word) {
    const size_t scope = std::min(word.find('%'), word.size());
    const std::string address = word.substr(0, scope);
    Wanted wanted;
    wire::Ipv4Address four;
    if (inet_pton(AF_INET, address.c_str(), four.bytes.data()) == 1)
        wanted.gid = wire::gid_of(four);
    else if (inet_pton(AF_INET6, address.c_str(), wanted.gid.bytes.data()) != 1)
        return {{}, word};
    wanted.interface = word.substr(std::min(scope + 1, word.size()));
    return wanted;
}

std::vector<UdpAddress> find(const ifaddrs* list, const std::string& word) {
    const Wanted wanted = wanted_by(word);
    std::vector<UdpAddress> found;
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
        const wire::Gid gid = gid_of(one->ifa_addr);
        const bool is_named = wanted.gid != wire::Gid{} && gid == wanted.gid;
        if (gid == wire::Gid{} || (wanted.gid != wire::Gid{} && !is_named)) continue;
        if (!wanted.interface.empty() && wanted.interface != one->ifa_name) continue;
        if (is_of_link(gid) && (!is_named || wanted.interface.empty())) continue;
        found.push_back({gid, one->ifa_name, if_nametoindex(one->ifa_name), mtu_of(one->ifa_name),
                         mac_of(list, one->ifa_name)});
    }
    return found;
}

std::string why_not_found(const ifaddrs* list, const std::string& word) {
    const Wanted wanted = wanted_by(word);
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
        const bool is_it = wanted.gid != wire::Gid{} ? gid_of(one->ifa_addr) == wanted.gid
                                                     : wanted.interface == one->ifa_name;
        if (!is_it || !is_of_link(gid_of(one->ifa_addr))) continue;
        const std::string name = one->ifa_name;
        return "'" + word + "' reaches no further than its link: write " +
               text_of(gid_of(one->ifa_addr)) + "%" + name + " to listen on it";
    }
    if (wanted.gid == wire::Gid{} && if_nametoindex(word.c_str()) != 0)
        return "the interface '" + word +
               "' has no address to listen on; `ip address add ADDRESS dev " + word +
               "` gives it one";
    return "this machine has no address or interface '" + word +
           "' to listen on; `ip address` shows what it has";
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
        if (found.empty()) return base::Error{why_not_found(all.get(), word)};
        for (const UdpAddress& one : found)
            if (std::ranges::find(addresses, one) == addresses.end()) addresses.push_back(one);
    }
    return addresses;
}

bool is_of_link(const wire::Gid& address) {
    return address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;
}

std::optional<wire::Gid> source_of_route(const wire::Gid& peer) {
    sockaddr_storage address{};
    socklen_t length = sizeof(sockaddr_in6);
    if (wire::is_ipv4(peer)) {
        auto& four = reinterpret_cast<sockaddr_in&>(address);
        four = {};
        four.sin_family = AF_INET;
        four.sin_port = htons(wire::kRoceV2Port);
        std::memcpy(&four.sin_addr, peer.bytes.data() + wire::kIpv4Prefix, 4);
        length = sizeof four;
    } else {
        auto& six = reinterpret_cast<sockaddr_in6&>(address);
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(wire::kRoceV2Port);
        std::memcpy(&six.sin6_addr, peer.bytes.data(), 16);
    }
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    const Descriptor socket(
        static_cast<int>(syscall(SYS_socket, address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
    if (!socket || connect(socket.get(), generic, length) != 0) return std::nullopt;
    length = sizeof address;
    if (getsockname(socket.get(), generic, &length) != 0) return std::nullopt;
    return gid_of(generic);
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
