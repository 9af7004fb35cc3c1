// Addresses that name several ports at once, in switches that compute, as NVSwitch does for SHARP.
//
// A destination with kGroupBit is a place in a table that the switch has of its own.
//
//   reduce     Each contributor sends the same messages by a queue pair of its own, from the same
//              first PSN on: packets of one PSN are the operands of one sum. All but the last to
//              come end here, the last one goes on to the owner and stands for the sum.
//   multicast  A packet goes on to each member, to the sender too where it is one.
//
// To its members a group is the peer: what comes out of it has its address as source, a queue pair
// and a key of theirs as destination, and they are connected to that address. Services that answer
// cannot use it, so it is for UC on links that lose nothing.
//
// Contributions of one sender come in order, so what a sum waits for is how far each has come, and
// not a counter for each PSN: a sender may be ahead of another by any number of packets. Once a
// contribution turns out to be lost, no sum is made of what came before: the owner sees a gap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fabric/transit.h"

namespace tulle::fabric {

inline constexpr uint32_t kGroupBit = 1u << 23;  // the highest of an address in a wire::Packet

struct Group {
    struct Member {
        uint32_t endpoint = 0;
        wire::Qpn qpn{};
        wire::RKey rkey{};  // of its memory; senders know the addresses in it, not the key
    };
    // Where packets go: the owner of a sum, or the members of a multicast group. They hang on the
    // switch itself.
    std::vector<Member> members;
    // Of a sum: the endpoints that take part. Empty: a multicast group.
    std::vector<uint32_t> contributors;
    wire::Psn first_psn{};

    bool is_reduction() const { return !contributors.empty(); }
};

// The table of one switch: group i has the address kGroupBit | i there.
using Groups = std::vector<Group>;

// How far the contributors of each reduction have come.
class Reductions {
public:
    Reductions() = default;
    explicit Reductions(const Groups& groups);

    // Whether the packet is the last of its PSN. Nothing for one whose sender does not take part.
    std::optional<bool> completes(const Group& group, uint32_t number, const wire::Packet& packet);

private:
    struct Sum {
        uint32_t first = 0;       // into next_
        uint64_t lost_until = 0;  // PSNs before this one lack a contribution
    };
    std::vector<Sum> sums_;       // by group
    std::vector<uint64_t> next_;  // by contributor: its next PSN, which does not wrap here
};

// Packets that are in an input buffer once and in several queues: the room is free when the last
// copy has left. They are named by numbers beyond those of the ports, in place of an input.
class SharedRooms {
public:
    // What is taken out of a buffer once nothing of the packet is left.
    struct Room {
        uint32_t copies = 0;
        uint16_t in_port = 0;
    };

    uint16_t take(uint16_t in_port, uint32_t copies);
    // One copy has left; the input port, if it was the last.
    std::optional<uint16_t> release(uint16_t room);
    uint16_t input_of(uint16_t room) const { return rooms_[room].in_port; }

private:
    std::vector<Room> rooms_;
    std::vector<uint16_t> free_;
};

}  // namespace tulle::fabric
