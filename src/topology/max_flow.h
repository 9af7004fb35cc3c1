// Maximum flow between two nodes (Dinic, 1970): fills shortest paths until none is left.
#pragma once

#include <cstdint>
#include <vector>

namespace tulle::topology {

class MaxFlow {
public:
    explicit MaxFlow(uint32_t nodes) : edges_of_(nodes) {}

    // An edge with `capacity` in each direction.
    void connect(uint32_t a, uint32_t b, uint64_t capacity);
    uint64_t between(uint32_t source, uint32_t sink);

private:
    struct Edge {
        uint32_t to;
        uint64_t room;
    };

    bool find_levels(uint32_t source, uint32_t sink);
    uint64_t fill_one(uint32_t source, uint32_t sink);

    std::vector<Edge> edges_;  // edges i and i^1 are the two directions of one edge
    std::vector<std::vector<uint32_t>> edges_of_;
    std::vector<uint32_t> level_;
    std::vector<uint32_t> next_;  // by node: its first edge that may still lead to the sink
    std::vector<uint32_t> path_;  // edges
};

}  // namespace tulle::topology
