#include "topology/max_flow.h"

#include <algorithm>

namespace tulle::topology {
namespace {

constexpr uint32_t kUnseen = 0xffff'ffff;

}  // namespace

void MaxFlow::connect(uint32_t a, uint32_t b, uint64_t capacity) {
    edges_of_[a].push_back(static_cast<uint32_t>(edges_.size()));
    edges_.push_back({b, capacity});
    edges_of_[b].push_back(static_cast<uint32_t>(edges_.size()));
    edges_.push_back({a, capacity});
}

uint64_t MaxFlow::between(uint32_t source, uint32_t sink) {
    uint64_t total = 0;
    while (find_levels(source, sink)) {
        next_.assign(edges_of_.size(), 0);
        while (const uint64_t more = fill_one(source, sink)) total += more;
    }
    return total;
}

bool MaxFlow::find_levels(uint32_t source, uint32_t sink) {
    level_.assign(edges_of_.size(), kUnseen);
    level_[source] = 0;
    std::vector<uint32_t> queue{source};
    for (size_t i = 0; i < queue.size(); ++i)
        for (const uint32_t e : edges_of_[queue[i]])
            if (edges_[e].room > 0 && level_[edges_[e].to] == kUnseen) {
                level_[edges_[e].to] = level_[queue[i]] + 1;
                queue.push_back(edges_[e].to);
            }
    return level_[sink] != kUnseen;
}

// Walks level by level towards the sink. A dead end is left by one step back and not entered again.
// Iterative, because a line of a million switches has a million levels.
uint64_t MaxFlow::fill_one(uint32_t source, uint32_t sink) {
    path_.clear();
    uint32_t node = source;
    while (node != sink) {
        uint32_t& next = next_[node];
        if (next == edges_of_[node].size()) {
            if (node == source) return 0;
            node = edges_[path_.back() ^ 1].to;
            path_.pop_back();
            ++next_[node];
            continue;
        }
        const uint32_t e = edges_of_[node][next];
        if (edges_[e].room == 0 || level_[edges_[e].to] != level_[node] + 1) {
            ++next;
            continue;
        }
        path_.push_back(e);
        node = edges_[e].to;
    }
    uint64_t room = ~uint64_t{0};
    for (const uint32_t e : path_) room = std::min(room, edges_[e].room);
    for (const uint32_t e : path_) {
        edges_[e].room -= room;
        edges_[e ^ 1].room += room;
    }
    return room;
}

}  // namespace tulle::topology
