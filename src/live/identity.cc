#include "live/identity.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "live/counter_names.h"

namespace tulle::live {
namespace {

constexpr size_t kMaxAddresses = 8;  // chosen; each is two GIDs
constexpr uint64_t kGuidBase = 0x0254'4cff'fe00'0000;

// fe80:: and the GUID; on Ethernet the GUID is made from the MAC (RFC 4291, appendix A).
wire::Gid link_local(wire::Guid guid) {
    wire::Gid gid;
    gid.bytes[0] = 0xfe;
    gid.bytes[1] = 0x80;
    for (size_t i = 0; i < 8; ++i)
        gid.bytes[8 + i] = static_cast<uint8_t>(guid.value >> (56 - 8 * i));
    return gid;
}

std::vector<wire::Gid> gids_of(wire::Guid guid, wire::Ipv4Address ip, bool is_ethernet) {
    const wire::Gid local = link_local(guid);
    const wire::Gid routable = wire::gid_of(ip);
    if (!is_ethernet) return {local};
    return {local, local, routable, routable};
}

uint32_t number_in_environment(const char* name, uint32_t most) {
    const char* text = std::getenv(name);
    const unsigned long wanted = text == nullptr ? 1 : std::strtoul(text, nullptr, 10);
    return static_cast<uint32_t>(std::clamp<unsigned long>(wanted, 1, most));
}

}  // namespace

Identity identity_of(uint32_t rank, bool is_ethernet, uint32_t device, uint32_t ports) {
    Identity who;
    who.rank = std::min(rank, kMaxRank);
    who.device = std::min(device, kMaxDevices - 1);
    who.is_ethernet = is_ethernet;
    const uint32_t number = who.device << 8 | (who.rank + 1);
    who.guid = wire::Guid{kGuidBase + number};
    const auto last = static_cast<uint8_t>(who.rank + 1);
    const auto above = static_cast<uint8_t>(who.device);
    who.mac.bytes = {0x00, 0x54, 0x4c, 0x00, above, last};
    who.lid = wire::Lid{static_cast<uint16_t>(is_ethernet ? 0 : number)};
    who.ip.bytes = {127, 0, above, last};
    who.gids = gids_of(who.guid, who.ip, is_ethernet);
    for (uint32_t port = 1; port < std::min(ports, kMaxPorts); ++port) {
        PortIdentity& more = who.more_ports.emplace_back();
        const auto above_all = static_cast<uint8_t>(port);
        more.mac.bytes = {0x00, 0x54, 0x4c, above_all, above, last};
        more.lid = wire::Lid{static_cast<uint16_t>(is_ethernet ? 0 : port << 12 | number)};
        more.ip.bytes = {127, above_all, above, last};
        more.gids = gids_of(wire::Guid{who.guid.value | port << 16}, more.ip, is_ethernet);
    }
    return who;
}

void listen_on(Identity& who, const std::vector<UdpAddress>& addresses) {
    constexpr uint32_t kHeaders = 96;  // IPv6, UDP, BTH, the longest of the others, pad and ICRC
    if (addresses.empty()) return;
    who.listens = addresses;
    who.gids.clear();
    for (size_t i = std::min(addresses.size(), kMaxAddresses); i-- > 0;)
        who.gids.insert(who.gids.end(), 2, addresses[i].gid);
    uint32_t mtu = UINT32_MAX;
    for (const UdpAddress& address : addresses) mtu = std::min(mtu, address.mtu);
    while (who.path_mtu > 256 && who.path_mtu + kHeaders > mtu) who.path_mtu /= 2;
    // The adapter's GUID is made from its MAC, as for any network card (RFC 4291, appendix A);
    // without a MAC, from the address.
    auto& mac = who.mac.bytes;
    mac = addresses[0].mac.bytes;
    if (addresses[0].mac == wire::MacAddress{})
        std::copy_n(addresses[0].gid.bytes.begin() + 10, mac.size(), mac.begin());
    uint64_t guid = 0;
    for (const uint8_t byte : {static_cast<uint8_t>(mac[0] ^ 2), mac[1], mac[2], uint8_t{0xff},
                               uint8_t{0xfe}, mac[3], mac[4], mac[5]})
        guid = guid << 8 | byte;
    who.guid = wire::Guid{guid};
    for (const UdpAddress& address : addresses) {
        if (!wire::is_ipv4(address.gid)) continue;
        std::copy_n(address.gid.bytes.begin() + wire::kIpv4Prefix, 4, who.ip.bytes.begin());
        break;
    }
}

uint32_t gid_index_for(const Identity& who, const wire::Gid& peer, uint32_t port) {
    const auto& gids = who.gids_of(port);
    const auto last = static_cast<uint32_t>(gids.size() - 1);
    for (uint32_t back = 0; back <= last; ++back)
        if (wire::is_ipv4(gids[last - back]) == wire::is_ipv4(peer)) return last - back;
    return last;
}

wire::Gid source_for(const Identity& who, const wire::Gid& peer) {
    const wire::Gid usual = who.gids[gid_index_for(who, peer)];
    if (who.listens.size() < 2) return usual;
    const auto routed = source_of_route(peer);
    const auto own = std::ranges::find_if(who.listens, [&](const UdpAddress& one) {
        return is_of_link(peer) ? is_of_link(one.gid) : one.gid == routed;
    });
    return own != who.listens.end() ? own->gid : usual;
}

uint32_t device_count_from_environment() {
    return number_in_environment("TULLE_DEVICES", kMaxDevices);
}

uint32_t port_count_from_environment() {
    return number_in_environment("TULLE_PORTS", kMaxPorts);
}

std::string device_name_from_environment(uint32_t device) {
    const char* wanted = std::getenv("TULLE_DEVICE");
    std::string name = wanted != nullptr && *wanted != 0 ? wanted : "tulle0";
    if (device == 0) return name;
    while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.pop_back();
    return name + std::to_string(device);
}

std::string counters_file_in(const std::string& tree, uint32_t device) {
    const std::string first = tree + "/" + kCountersFile;
    return device == 0 ? first : first + std::to_string(device);
}

std::string counters_file_of_port(const std::string& first, uint32_t port) {
    return port < 2 || first.empty() ? first : first + "p" + std::to_string(port);
}

Identity identity_from_environment(uint32_t device) {
    const char* rank = std::getenv("TULLE_RANK");
    const char* layer = std::getenv("TULLE_LINK_LAYER");
    const bool is_ethernet = layer == nullptr || std::string_view(layer) != "infiniband";
    const auto number =
        rank == nullptr ? 0 : static_cast<uint32_t>(std::strtoul(rank, nullptr, 10));
    Identity who = identity_of(number, is_ethernet, device, port_count_from_environment());
    if (const char* world = std::getenv("TULLE_WORLD"); world != nullptr && *world != 0)
        who.world = std::string_view(world).substr(0, 64);
    // The addresses existed when the run began. Those that have vanished are skipped.
    const char* list = std::getenv("TULLE_LISTEN");
    if (list != nullptr && is_ethernet && device == 0)
        if (const auto addresses = udp_addresses(list)) listen_on(who, *addresses);
    const char* shared = std::getenv("TULLE_SHARED");
    who.is_shared = shared != nullptr && std::string_view(shared) == "1";
    const char* verbose = std::getenv("TULLE_VERBOSE");
    who.is_verbose = verbose != nullptr && std::string_view(verbose) == "1";
    if (const char* tree = std::getenv("TULLE_SYSFS"); tree != nullptr && *tree != 0)
        who.counters_file = counters_file_in(tree, device);
    for (uint32_t port = 2; port <= who.port_count(); ++port)
        who.more_ports[port - 2].counters_file = counters_file_of_port(who.counters_file, port);
    return who;
}

}  // namespace tulle::live
