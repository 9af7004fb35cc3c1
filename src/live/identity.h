// Who this process is in its world: the host it stands for, and that host's addresses. `tulle run`
// says so in the environment; a program started otherwise is host 0 of the usual world.
#pragma once

#include <string>
#include <vector>

#include "wire/ids.h"

namespace tulle::live {

struct Identity {
    std::string world = "0";
    bool is_shared = false;  // the world is open to programs of all users
    uint32_t rank = 0;
    bool is_ethernet = true;
    wire::Guid guid;
    wire::MacAddress mac;
    wire::Lid lid;  // InfiniBand
    wire::Ipv4Address ip;
    std::string counters_file;    // of the host; empty if there is none
    std::vector<wire::Gid> gids;  // on Ethernet each address twice: RoCE v1, then v2
};

inline constexpr uint32_t kMaxRank = 253;

Identity identity_of(uint32_t rank, bool is_ethernet);
Identity identity_from_environment();

}  // namespace tulle::live
