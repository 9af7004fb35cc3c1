// Trees for multicast groups: every member gets exactly one copy from any sender.
//
// Where unicast goes up and down in an order, so does the tree. Its root is a switch that reaches
// all members by going down, so multicast and unicast together form no credit loop. Groups take
// turns among the suitable switches. For other routing, the tree consists of shortest paths from
// the member's switch that is nearest to the others.
#pragma once

#include <span>
#include <vector>

#include "control/subnet/subnet.h"

namespace tulle::control {

struct MulticastGroup {
    uint16_t lid = 0;
    struct Member {
        uint64_t port_guid = 0;
        bool receives = true;  // false: it only sends
        bool operator==(const Member&) const = default;
    };
    std::vector<Member> members;
    bool operator==(const MulticastGroup&) const = default;
};

// A member at a port of its switch; port 0: the switch itself.
struct GroupPlace {
    uint32_t home = 0;
    uint8_t port = 0;
    bool receives = true;
};

// One port of the tree at a switch. A switch sends a copy through each of its tree ports except the
// one where the packet came in.
struct TreePort {
    uint32_t s = 0;
    uint8_t port = 0;
    auto operator<=>(const TreePort&) const = default;
};

// `order`: as in Routing. Members that no cables join to the first member are left out.
std::vector<TreePort> multicast_tree(const Subnet& subnet, std::span<const uint32_t> order,
                                     std::span<const GroupPlace> members, uint16_t lid);

}  // namespace tulle::control
