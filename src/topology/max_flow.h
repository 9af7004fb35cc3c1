// How much fits through a network between two of its nodes (Dinic, 1970): shortest ways are filled
// until none is left.
#pragma once

#include <cstdint>
#include <vector>

namespace tulle::topology {

class MaxFlow {
public:
    explicit MaxFlow(uint32_t nodes) : edges_of_(nodes) {}

    // An edge that carries `capacity` each way.
    void connect(uint32_t a, uint32_t b, uint64_t capacity);
    uint64_t between(uint32_t source, uint32_t sink);

private:
    struct Edge {
        uint32_t to;
        uint64_t room;
    };

    bool find_levels(uint32_t source, uint32_t sink);
    uint64_t fill_one(uint32_t source, uint32_t sink);

    std::vector<Edge> edges_;  // edge i and edge i^1 are the two ways of one
    std::vector<std::vector<uint32_t>> edges_of_;
    std::vector<uint32_t> level_;
    std::vector<uint32_t> next_;  // by node: the first of its edges that may still lead on
    std::vector<uint32_t> path_;  // of edges
};

}  // namespace tulle::topology
