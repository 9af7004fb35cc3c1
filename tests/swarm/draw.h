// Random draws of the swarms. Each thing that draws has a stream of its own, so that one more
// connection or packet does not change what the others draw.
#pragma once

#include <span>
#include <vector>

#include "base/random.h"

namespace tulle::swarm {

enum class Drawer : uint32_t {
    world = 0x5a00,
    adapter,
    connection,
    side,
    poster,
    pool,
    link,
    act,
    marks,
    notifications,
    congestion,
    delivery,
};

class Draw {
public:
    template <class Who>
    Draw(uint64_t seed, Who who, uint64_t index)
        : stream_({seed, static_cast<uint32_t>(who), index}) {}

    // Both ends included.
    uint32_t between(uint32_t low, uint32_t high) {
        return low + static_cast<uint32_t>(stream_.below(uint64_t{high} - low + 1));
    }
    bool percent(uint32_t chance) { return stream_.chance(chance, 100); }
    bool per_million(uint32_t chance) { return chance != 0 && stream_.chance(chance, 1'000'000); }
    uint64_t word() { return stream_.next(); }
    template <class T>
    T pick(std::initializer_list<T> items) {
        return items.begin()[stream_.below(items.size())];
    }
    template <class T>
    void shuffle(std::vector<T>& items) {
        stream_.shuffle(std::span(items));
    }

private:
    base::RandomStream stream_;
};

}  // namespace tulle::swarm
