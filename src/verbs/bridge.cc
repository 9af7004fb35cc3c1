#include "verbs/bridge.h"

#include <cstring>
#include <exception>

#include "live/clock.h"
#include "verbs/explain.h"

namespace tulle::verbs {
namespace {

wire::Gid gid_of(const uint8_t* bytes) {
    wire::Gid gid;
    std::memcpy(gid.bytes.data(), bytes, gid.bytes.size());
    return gid;
}

// No exception crosses from one library to the other: each has a C++ runtime of its own.
template <class Answer, class Work>
Answer or_else(Answer fallback, const Work& work) {
    try {
        return work();
    } catch (const std::exception&) {
        errno = ENOMEM;
        return fallback;
    }
}
template <class Work>
void if_possible(const Work& work) {
    (void)or_else(0, [&] { return work(), 0; });
}

// The GID for talking to a peer: the last one with its address, which is of RoCE v2.
uint32_t own_gid_for(live::SoftwareAdapter& host, uint32_t peer, PortPair ports) {
    const live::Peer& there = host.world().at(peer);
    const auto& gids = host.identity().gids_of(ports.own);
    for (size_t i = gids.size(); there.is_remote && i > 0; --i)
        if (gids[i - 1] == there.own_address) return static_cast<uint32_t>(i - 1);
    const auto its_gids = host.world().facts_of({peer}).gids_of(ports.peer);
    return live::gid_index_for(host.identity(), its_gids.back(), ports.own);
}

// False for a process without an address.
bool peer_address(ibv_context* context, uint32_t peer, PortPair ports, ibv_ah_attr* address) {
    live::SoftwareAdapter& host = host_of(context);
    *address = {};
    if (host.world().peer({peer}) == nullptr) return false;
    const live::Facts& there = host.world().facts_of({peer});
    if (ports.peer > there.port_count || !host.identity().has_port(ports.own)) return false;
    const auto gids = there.gids_of(ports.peer);
    if (gids.empty()) return false;
    address->port_num = ports.own;
    address->is_global = 1;
    address->dlid = there.lid_of(ports.peer).value;
    std::memcpy(address->grh.dgid.raw, gids.back().bytes.data(), 16);
    address->grh.sgid_index = static_cast<uint8_t>(own_gid_for(host, peer, ports));
    address->grh.hop_limit = 64;
    return true;
}

constexpr Bridge kBridge = {
    .lock = [](ibv_context* c) { host_of(c).lock().lock(); },
    .unlock = [](ibv_context* c) { host_of(c).lock().unlock(); },
    .now_ps = [] { return live::now().ps; },
    .set_handler = [](ibv_context* c,
                      const ManagementHandler& h) { Process::of(c).management = h; },
    .send =
        [](ibv_context* c, uint32_t peer, const void* bytes, size_t length) {
            return or_else(false, [&] {
                return host_of(c).send_management({peer},
                                                  {static_cast<const std::byte*>(bytes), length});
            });
        },
    .flush =
        [](ibv_context* c, int64_t deadline) {
            host_of(c).set_extra_deadline(base::Instant{deadline});
            if_possible([&] { host_of(c).flush_management(); });
        },
    .find_port =
        [](ibv_context* c, uint8_t protocol, uint16_t port, const uint8_t* address) {
            return or_else(uint32_t{kNobody}, [&] {
                return host_of(c).ports().find(protocol, port, gid_of(address)).value;
            });
        },
    .find_known_port =
        [](ibv_context* c, uint8_t protocol, uint16_t port, const uint8_t* address) {
            return or_else(uint32_t{kNobody}, [&] {
                return host_of(c).ports().find_known(protocol, port, gid_of(address)).value;
            });
        },
    .is_elsewhere =
        [](ibv_context* c, const uint8_t* address) {
            return or_else(false,
                           [&] { return host_of(c).world().own().is_elsewhere(gid_of(address)); });
        },
    .slot = [](ibv_context* c) { return host_of(c).world().own().slot(); },
    .listens_on_other_link =
        [](ibv_context* c, uint8_t protocol, uint16_t port, const uint8_t* address) {
            return or_else(false, [&] {
                return host_of(c).ports().is_on_other_link(protocol, port, gid_of(address));
            });
        },
    .explain_silence =
        [](ibv_context* c, uint32_t peer) {
            if_possible([&] { explain_silence(host_of(c), {peer}); });
        },
    .speak_to_group_from =
        [](ibv_context* c, const uint8_t* group, const uint8_t* own) {
            if_possible(
                [&] { host_of(c).world().groups().speak_from(gid_of(group), gid_of(own)); });
        },
    .take_port =
        [](ibv_context* c, uint8_t protocol, uint16_t port) {
            return or_else(-1, [&] {
                live::Descriptor held;
                return host_of(c).ports().take(protocol, port, held) ? held.release() : -1;
            });
        },
    .show_port =
        [](ibv_context* c, uint8_t protocol, uint16_t port, const uint8_t* address) {
            return or_else(
                false, [&] { return host_of(c).ports().show(protocol, port, gid_of(address)); });
        },
    .hide_port =
        [](ibv_context* c, uint8_t protocol, uint16_t port) {
            if_possible([&] { host_of(c).ports().hide(protocol, port); });
        },
    .peer_address = peer_address,
    .qp_address =
        [](ibv_context* c, uint32_t qpn, ibv_ah_attr* address) {
            return or_else(false, [&] {
                const auto peer = host_of(c).world().resolve_slot(live::slot_of(wire::Qpn{qpn}));
                return peer_address(c, peer.value, {}, address);
            });
        },
};

}  // namespace
}  // namespace tulle::verbs

extern "C" __attribute__((visibility("default"))) const tulle::verbs::Bridge* tulle_live_bridge(
    uint32_t version) {
    return version == tulle::verbs::kBridgeVersion ? &tulle::verbs::kBridge : nullptr;
}
