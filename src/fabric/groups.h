// Addresses that name several ports at once, for switches that compute, as NVSwitch does for SHARP.
//
// A destination with kGroupBit is an index into the switch's own table of groups.
//
//   reduce     Each contributor sends the same messages on a queue pair of its own, from the same
//              first PSN on: packets of one PSN are the operands of one sum. All but the last to
//              arrive end here. The last one goes on to the owner and stands for the sum.
//   multicast  A packet goes on to each member, also to its sender if that is a member.
//   tree       Switches between servers (InfiniBand's SHARP): each adds up what is below it and
//              sends the sum up as one more contribution. The root copies the sum to all. A sum
//              with several members is both at once. reduction_trees.h finds the switches.
//
// Members see the group as their peer. Packets from it carry its address as source, and a queue
// pair and a key of the member as destination. The queue pairs are connected to that address.
// Services that answer cannot use it, so it is for UC on lossless links.
//
// Contributions of one sender arrive in order. The progress of each contributor therefore tells
// when a sum is complete, and no counter per PSN is needed: a sender may be ahead of another by any
// number of packets. Once a contribution turns out to be lost, no sum is made of earlier PSNs: the
// owner sees a gap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fabric/transit.h"

namespace tulle::fabric {

inline constexpr uint32_t kGroupBit = 1u << 23;  // the highest of an address in a wire::Packet

struct Group {
    static constexpr uint16_t kByRoute = UINT16_MAX;

    struct Member {
        uint32_t endpoint = 0;  // or a group of the next switch of a tree
        wire::Qpn qpn{};
        wire::RKey rkey{};         // of its memory; senders know addresses in it, not the key
        uint16_t port = kByRoute;  // to the next switch
    };
    // The receivers of packets: the owner of a sum, all who are to have the sum, or the members of
    // a multicast group. They are hosts of this switch, or groups of other switches of the same
    // tree.
    std::vector<Member> members;
    // The contributors of a sum: endpoints, or the `source` of other switches. Empty: a multicast
    // group.
    std::vector<uint32_t> contributors;
    // The source address of packets that leave the group; 0: the group's own.
    uint32_t source = 0;
    wire::Psn first_psn{};

    bool is_reduction() const { return !contributors.empty(); }
};

// Makes a packet one from a group to a member of it. `number` is the group's.
void readdress(Transit& transit, wire::Packet& packet, const Group& group, uint32_t number,
               const Group::Member& to);

// The table of one switch: group i has the address kGroupBit | i there.
using Groups = std::vector<Group>;

// How far the contributors of each reduction have come.
class Reductions {
public:
    Reductions() = default;
    explicit Reductions(const Groups& groups);

    // Whether the packet is the last contribution of its PSN. No value if its sender does not take
    // part.
    std::optional<bool> completes(const Group& group, uint32_t number, const wire::Packet& packet);

private:
    struct Sum {
        uint32_t first = 0;       // index into next_
        uint64_t lost_until = 0;  // PSNs before this one lack a contribution
    };
    std::vector<Sum> sums_;       // by group
    std::vector<uint64_t> next_;  // by contributor: its next PSN, counted without wrapping
};

// Packets that are stored once in an input buffer and wait in several queues. Their room is free
// when the last copy has left. Rooms are numbered after the ports, and take the place of an input
// port.
class SharedRooms {
public:
    // Freed in the buffer of `in_port` when no copies are left.
    struct Room {
        uint32_t copies = 0;
        uint16_t in_port = 0;
    };

    uint16_t take(uint16_t in_port, uint32_t copies);
    // One copy has left. Returns the input port if it was the last.
    std::optional<uint16_t> release(uint16_t room);
    uint16_t input_of(uint16_t room) const { return rooms_[room].in_port; }

private:
    std::vector<Room> rooms_;
    std::vector<uint16_t> free_;
};

}  // namespace tulle::fabric
