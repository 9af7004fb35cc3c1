// Where the ranks of a job are: the server of each, and its place in that server.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workload/program.h"

namespace tulle::workload {

struct Member {
    uint32_t rank = 0;    // of the program
    uint32_t server = 0;  // which machine
    uint32_t local = 0;   // which of its GPUs, hence which rail
};

// The network of a message between two members. Without `scale_up` every message leaves the server.
inline Tier tier_between(const Member& a, const Member& b, bool scale_up) {
    return scale_up && a.server == b.server ? Tier::scale_up : Tier::scale_out;
}

// The participating ranks, server by server. Collectives number them from 0 in this order.
class Placement {
public:
    // Takes each rank and each place once, in any order. Without `scale_up` every message leaves
    // the server.
    Placement(std::vector<Member> members, bool scale_up);

    uint32_t size() const { return static_cast<uint32_t>(members_.size()); }
    const Member& operator[](uint32_t index) const { return members_[index]; }
    bool has_scale_up() const { return scale_up_; }

    uint32_t server_count() const { return static_cast<uint32_t>(first_.size()) - 1; }
    // The members of a server, as indices: [first, first + count).
    uint32_t first_of(uint32_t server) const { return first_[server]; }
    uint32_t count_of(uint32_t server) const { return first_[server + 1] - first_[server]; }
    uint32_t server_of(uint32_t index) const { return server_[index]; }
    uint32_t largest_server() const;
    // True if each server has the same places, so that each rail reaches all servers.
    bool is_regular() const;

    Tier tier(uint32_t a, uint32_t b) const {
        return tier_between(members_[a], members_[b], scale_up_);
    }

private:
    std::vector<Member> members_;
    std::vector<uint32_t> server_;  // of each member, counted from 0
    std::vector<uint32_t> first_;   // of each server, and the end
    bool scale_up_ = false;
};

}  // namespace tulle::workload
