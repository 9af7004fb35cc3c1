// The AS paths of routes, each stored once. A path lists the systems that a route came through, the
// latest first (RFC 4271, 5.1.2).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tulle::control {

using PathId = uint32_t;
inline constexpr PathId kNoPath = 0xffff'ffff;  // there is no route
inline constexpr PathId kOwnPath = 0;           // the empty path: the switch has the prefix itself

class AsPaths {
public:
    PathId prepend(uint32_t system, PathId rest) {
        const uint64_t key = uint64_t{system} << 32 | rest;
        const auto [place, is_new] = known_.try_emplace(key, static_cast<PathId>(hops_.size()));
        if (is_new) hops_.push_back({system, rest, hops_[rest].length + 1});
        return place->second;
    }
    uint32_t length(PathId path) const { return hops_[path].length; }
    bool contains(PathId path, uint32_t system) const {
        for (; path != kOwnPath; path = hops_[path].rest)
            if (hops_[path].system == system) return true;
        return false;
    }

private:
    struct Hop {
        uint32_t system = 0;
        PathId rest = kOwnPath;
        uint32_t length = 0;
    };
    std::vector<Hop> hops_{Hop{}};
    std::unordered_map<uint64_t, PathId> known_;
};

}  // namespace tulle::control
