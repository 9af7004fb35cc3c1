// The way that work for an end point travels, and why.
#pragma once

#include "live/world.h"

namespace tulle::live {

enum class Way : uint8_t {
    nowhere,
    within,  // inside the process
    direct,  // WRITEs and READs are copied, all else goes through a ring
    ring,
    framed,  // through a ring, in its form on the wire
    udp,     // on the wire
};

struct Choice {
    Way way;
    const char* why;
};

struct Framing {
    bool is_on = false;      // a capture or faults were requested
    bool is_strict = false;  // also inside the process
};

inline Choice choose_way(const World& world, Framing framing, transport::EndpointIndex endpoint) {
    const Peer* peer = world.peer(endpoint);
    if (endpoint == World::kNowhere || peer == nullptr)
        return {Way::nowhere, "nobody has the address"};
    if (endpoint.value == 0)
        return framing.is_strict ? Choice{Way::framed, "--strict cuts packets within the process"}
                                 : Choice{Way::within, "both ends are of this process"};
    if (peer->is_remote) return {Way::udp, "the address is not of this machine"};
    if (framing.is_on) return {Way::framed, "a capture or faults are asked for"};
    if (peer->facts.cuts_packets) return {Way::framed, "the peer has a capture or faults"};
    if (peer->is_reachable) return {Way::direct, "the kernel lets this user into its memory"};
    return {Way::ring, "its memory is not ours to reach"};
}

constexpr const char* name_of(Way way) {
    switch (way) {
        case Way::nowhere: return "nowhere";
        case Way::within: return "within the process";
        case Way::direct: return "from memory to memory, and else through shared memory";
        case Way::ring: return "through shared memory";
        case Way::framed: return "through shared memory, as packets of the wire";
        case Way::udp: return "by UDP port 4791";
    }
    return "";
}

// Whether messages are cut into packets of the path MTU.
inline bool is_cut(Way way) {
    return way == Way::framed || way == Way::udp;
}

}  // namespace tulle::live
