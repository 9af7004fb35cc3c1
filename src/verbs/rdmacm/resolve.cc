// Addresses: binding, resolving, and queries about them.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "verbs/rdmacm/connect.h"
#include "verbs/rdmacm/manager.h"
#include "verbs/refusal.h"

namespace tulle::verbs {
namespace {

constexpr uint16_t kFirstFreePort = 32'768;
constexpr uint16_t kFreePorts = 28'000;

socklen_t size_of(const sockaddr* address) {
    return address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

bool is_ip(const sockaddr* address) {
    return address->sa_family == AF_INET || address->sa_family == AF_INET6;
}

__be16& port_in(sockaddr_storage& address) {
    return address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                         : reinterpret_cast<sockaddr_in&>(address).sin_port;
}

// Keeps the port.
void clear_address(sockaddr_storage& address) {
    if (address.ss_family == AF_INET6)
        reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_any;
    else
        reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = INADDR_ANY;
}

// An address in the form of GID tables; ::1 is the host itself, as 127.0.0.1 is.
wire::Gid gid_of(const sockaddr* address) {
    wire::Gid gid;
    if (address->sa_family == AF_INET6) {
        const auto& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
        if (IN6_IS_ADDR_LOOPBACK(&six)) return wire::gid_of({{127, 0, 0, 1}});
        std::memcpy(gid.bytes.data(), &six, 16);
        return gid;
    }
    wire::Ipv4Address ip;
    std::memcpy(ip.bytes.data(), &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
    return wire::gid_of(ip);
}

// Whether this machine has the address: tries to bind a socket to it.
bool is_local(const sockaddr* address) {
    sockaddr_storage plain{};
    std::memcpy(&plain, address, size_of(address));
    port_in(plain) = 0;
    // Calls the kernel directly, even if a library replaces the program's sockets by RDMA sockets.
    const live::Descriptor socket(
        static_cast<int>(syscall(SYS_socket, address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
    return socket && bind(socket.get(), reinterpret_cast<sockaddr*>(&plain), size_of(address)) == 0;
}

// Whether the kernel has a route.
bool has_route(const sockaddr* address) {
    const live::Descriptor socket(
        static_cast<int>(syscall(SYS_socket, address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
    return socket && connect(socket.get(), address, size_of(address)) == 0;
}

bool is_multicast(const sockaddr* address) {
    if (address->sa_family == AF_INET)
        return IN_MULTICAST(ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr));
    return IN6_IS_ADDR_MULTICAST(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

// The address belongs to another machine, and there is a route to it.
bool is_reachable_elsewhere(Manager& manager, ibv_context* context, const sockaddr* address) {
    const Manager::Guard guard(manager);
    return manager.bridge().is_elsewhere(context, gid_of(address).bytes.data()) &&
           has_route(address);
}

void explain_unreachable(const wire::Gid& address) {
    if (!is_explained_at_all()) return;
    const bool listens = !live::identity_from_environment().listens.empty();
    char line[320];
    const int length =
        std::snprintf(line, sizeof line, "tulle: process %d: %s is not an address of this %s.\n",
                      static_cast<int>(getpid()), live::text_of(address).c_str(),
                      listens ? "machine, and no route leads to it"
                              : "machine; to reach others, start the program by `tulle run "
                                "--listen`");
    write_sentence(line, length, sizeof line);
}

bool is_any(const sockaddr* address) {
    if (address->sa_family == AF_INET)
        return reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr == INADDR_ANY;
    return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

// With adapters that have addresses of their own, binding to the loopback address is the same as
// binding to none: the kernel's connection manager treats both alike, and libfabric relies on it.
bool names_no_adapter(const sockaddr* address) {
    const wire::Gid gid = gid_of(address);
    const bool is_loopback = wire::is_ipv4(gid) && gid.bytes[wire::kIpv4Prefix] == 127;
    return is_any(address) || (is_loopback && !live::identity_from_environment().listens.empty());
}

// An adapter with --listen has only the addresses in its GID table. Libraries ask for each address
// of the machine which adapter it belongs to.
bool is_of_adapter(const sockaddr* address) {
    const live::Identity who = live::identity_from_environment();
    return who.listens.empty() || std::ranges::find(who.gids, gid_of(address)) != who.gids.end();
}

// 127.p.d.n, with an existing device and port.
bool is_of_loopback(const wire::Gid& address) {
    const auto& b = address.bytes;
    return b[10] == 0xff && b[11] == 0xff && b[12] == 127 &&
           b[13] < live::port_count_from_environment() &&
           b[14] < live::device_count_from_environment();
}

// The device with this address: 127.p.d.n of host n - 1 is device d. Any other address is that of
// the first.
uint32_t device_of(const wire::Gid& address) {
    return is_of_loopback(address) ? address.bytes[14] : 0;
}

// Binds the id to this device and port.
bool attach(Id& id, uint32_t device, uint8_t port) {
    Manager& manager = Manager::of_device(device);
    if (manager.context() == nullptr) return false;
    const bool is_of_other = id.shown.pd != nullptr && id.shown.pd->context != manager.context();
    manager.adopt(id);
    id.shown.verbs = manager.context();
    id.shown.port_num = port;
    if (id.shown.pd == nullptr || is_of_other) id.shown.pd = manager.domain();
    return id.shown.pd != nullptr;
}

// At its device, or at all devices without an address.
bool hold_port(Id& id, uint16_t port) {
    std::vector<live::Descriptor> held;
    for (Manager& manager : listening_managers(id)) {
        if (manager.context() == nullptr) return false;
        const Manager::Guard guard(manager);
        held.emplace_back(
            manager.bridge().take_port(manager.context(), protocol_of(id.shown.ps), port));
        if (!held.back()) return false;
    }
    id.ports = std::move(held);
    return true;
}

// A port of the id's own: the one in its address, or a free one.
int take_port(Id& id) {
    __be16& port = port_in(id.shown.route.addr.src_storage);
    if (port != 0) return hold_port(id, ntohs(port)) ? 0 : EADDRINUSE;
    for (uint32_t tries = 0; tries < 256; ++tries) {
        const uint32_t chance = [&] {
            const Manager::Guard guard(Manager::of(id));
            return Manager::of(id).next_psn();
        }();
        const auto wanted = static_cast<uint16_t>(kFirstFreePort + chance % kFreePorts);
        if (!hold_port(id, wanted)) continue;
        port = htons(wanted);
        return 0;
    }
    return EADDRNOTAVAIL;
}

int bind_to(Id& id, const sockaddr* address) {
    if (id.is_bound) return EINVAL;
    if (address == nullptr || !is_ip(address)) return EINVAL;
    const bool is_open = names_no_adapter(address);
    if (!is_open && (!is_local(address) || !is_of_adapter(address))) return ENODEV;
    rdma_addr& shown = id.shown.route.addr;
    const wire::Gid own = is_open ? wire::Gid{} : gid_of(address);
    std::memcpy(&shown.src_storage, address, size_of(address));
    // A wildcard names no device; a default one is used when needed.
    if (!attach(id, device_of(own), port_of(own))) return errno;
    if (const int error = take_port(id)) return error;
    // A program that passed the loopback address checks whether it named a device, and else tries
    // all.
    if (is_open && !is_any(address)) {
        clear_address(shown.src_storage);
        id.shown.verbs = nullptr;
        id.shown.pd = nullptr;
    }
    id.is_bound = true;
    return 0;
}

void copy_address(sockaddr_storage& to, const wire::Gid& from, uint16_t port) {
    const auto& b = from.bytes;
    const bool is_four = b[10] == 0xff && b[11] == 0xff && b[0] == 0;
    to = {};
    if (is_four) {
        auto& four = reinterpret_cast<sockaddr_in&>(to);
        four.sin_family = AF_INET;
        std::memcpy(&four.sin_addr, b.data() + 12, 4);
    } else {
        auto& six = reinterpret_cast<sockaddr_in6&>(to);
        six.sin6_family = AF_INET6;
        std::memcpy(&six.sin6_addr, b.data(), 16);
    }
    port_in(to) = htons(port);
}

}  // namespace

uint8_t port_of(const wire::Gid& address) {
    return is_of_loopback(address) ? static_cast<uint8_t>(address.bytes[13] + 1) : uint8_t{1};
}

wire::Gid address_gid(const sockaddr_storage& address) {
    return gid_of(reinterpret_cast<const sockaddr*>(&address));
}

bool is_wildcard(const sockaddr_storage& address) {
    return address.ss_family == 0 || is_any(reinterpret_cast<const sockaddr*>(&address));
}

uint16_t address_port(const sockaddr_storage& address) {
    auto copy = address;
    return ntohs(port_in(copy));
}

void set_addresses(Id& id, const std::optional<transport::IpAddresses>& ip, uint16_t local_port) {
    if (!ip) return;
    rdma_addr& shown = id.shown.route.addr;
    copy_address(shown.src_storage, ip->destination, local_port);
    copy_address(shown.dst_storage, ip->source, ip->source_port);
}

int own_gid_index(const Id& id, int count) {
    const wire::Gid own = address_gid(id.shown.route.addr.src_storage);
    for (int index = count - 1; index > 0; --index) {
        ibv_gid gid{};
        if (ibv_query_gid(id.shown.verbs, id.shown.port_num, index, &gid) == 0 &&
            std::memcmp(gid.raw, own.bytes.data(), sizeof gid.raw) == 0)
            return index;
    }
    return count - 1;
}

// The path, as subnet administration would report it.
void set_path(Id& id) {
    ibv_gid own{};
    ibv_port_attr port{};
    const uint8_t number = id.shown.port_num;
    verbs_get_ctx(id.shown.verbs)->query_port(id.shown.verbs, number, &port, sizeof port);
    ibv_query_gid(id.shown.verbs, number, own_gid_index(id, port.gid_tbl_len), &own);
    ibv_ah_attr peer = id.peer_address;
    if (id.peer == kNobody)
        std::memcpy(peer.grh.dgid.raw, address_gid(id.shown.route.addr.dst_storage).bytes.data(),
                    16);
    ibv_sa_path_rec& path = id.path;
    path.sgid = own;
    path.dgid = peer.grh.dgid;
    path.slid = htons(port.lid);
    path.dlid = htons(peer.dlid);
    path.hop_limit = 64;
    path.reversible = 1;
    path.numb_path = 1;
    path.pkey = htons(0xffff);
    path.mtu_selector = path.rate_selector = path.packet_life_time_selector = 2;
    path.mtu = static_cast<uint8_t>(port.active_mtu);
    path.rate = IBV_RATE_100_GBPS;
    path.packet_life_time = 14;
    id.shown.route.path_rec = &path;
    id.shown.route.num_paths = 1;
    id.shown.route.addr.addr.ibaddr.sgid = own;
    id.shown.route.addr.addr.ibaddr.dgid = peer.grh.dgid;
    id.shown.route.addr.addr.ibaddr.pkey = htons(0xffff);
}

}  // namespace tulle::verbs

using namespace tulle;
using namespace tulle::verbs;

TULLE_EXPORT int rdma_bind_addr(rdma_cm_id* shown, sockaddr* address) {
    const int error = bind_to(id_of(shown), address);
    return error == 0 ? 0 : refuse_call(error);
}

TULLE_EXPORT int rdma_resolve_addr(rdma_cm_id* shown, sockaddr* source, sockaddr* destination,
                                   int) {
    Id& id = id_of(shown);
    if (destination == nullptr || !is_ip(destination)) return refuse_call(EINVAL);
    if (source != nullptr && source->sa_family != 0 && !id.is_bound)
        if (const int error = bind_to(id, source)) return refuse_call(error);
    rdma_addr& addresses = shown->route.addr;
    std::memcpy(&addresses.dst_storage, destination, size_of(destination));
    // The device and port of its own address; without one those of the destination, as if each were
    // a subnet.
    const wire::Gid known = is_wildcard(addresses.src_storage) ? gid_of(destination)
                                                               : address_gid(addresses.src_storage);
    const uint32_t device = device_of(known);
    if (!attach(id, device, port_of(known))) return -1;
    Manager& manager = Manager::of(id);
    const bool is_reachable = is_local(destination) || is_multicast(destination) ||
                              is_reachable_elsewhere(manager, shown->verbs, destination);
    if (!is_reachable) {
        explain_unreachable(gid_of(destination));
        const Manager::Guard guard(manager);
        manager.events().tell(id, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
    } else {
        // Without an address of its own it gets the one that a socket would have.
        auto* own = reinterpret_cast<sockaddr*>(&addresses.src_storage);
        if (!id.is_bound || is_any(own)) {
            const uint16_t port = id.is_bound ? address_port(addresses.src_storage) : 0;
            const live::Identity who = live::identity_from_environment(device);
            const bool is_four = destination->sa_family == AF_INET;
            const wire::Gid there = gid_of(destination);
            if (!who.listens.empty() && !is_local(destination) && !is_multicast(destination))
                copy_address(addresses.src_storage, live::source_for(who, there), port);
            else if (is_four)
                copy_address(addresses.src_storage, wire::gid_of(who.ip_of(shown->port_num)), port);
            else
                std::memcpy(&addresses.src_storage, destination, size_of(destination));
            port_in(addresses.src_storage) = htons(port);
        }
        if (!id.is_bound) {
            if (const int error = take_port(id)) return refuse_call(error);
            id.is_bound = true;
        }
        set_path(id);
        const Manager::Guard guard(manager);
        manager.events().tell(id, RDMA_CM_EVENT_ADDR_RESOLVED);
    }
    return wait_if_synchronous(id);
}

TULLE_EXPORT int rdma_resolve_route(rdma_cm_id* shown, int) {
    Id& id = id_of(shown);
    if (shown->verbs == nullptr) return refuse_call(EINVAL);
    {
        Manager& manager = Manager::of(id);
        const Manager::Guard guard(manager);
        set_path(id);
        manager.events().tell(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
    }
    return wait_if_synchronous(id);
}

TULLE_EXPORT __be16 rdma_get_src_port(rdma_cm_id* id) {
    return port_in(id->route.addr.src_storage);
}

TULLE_EXPORT __be16 rdma_get_dst_port(rdma_cm_id* id) {
    return port_in(id->route.addr.dst_storage);
}

TULLE_EXPORT ibv_context** rdma_get_devices(int* count) {
    const std::span<Manager> all = Manager::all();
    auto** list = static_cast<ibv_context**>(std::calloc(all.size() + 1, sizeof(ibv_context*)));
    if (list == nullptr) return fail(ENOMEM);
    int found = 0;
    for (Manager& manager : all)
        if (ibv_context* context = manager.context()) list[found++] = context;
    if (count != nullptr) *count = found;
    return list;
}

TULLE_EXPORT void rdma_free_devices(ibv_context** list) {
    std::free(list);
}
