// Finds nodes, hosts and cables of a graph by the names that users write.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "scenario/notes.h"
#include "topology/graph.h"

namespace tulle::scenario {

class Names {
public:
    // The graph must outlive this object.
    explicit Names(const topology::Graph& graph);

    uint32_t host_count() const { return static_cast<uint32_t>(endpoints_.size()); }

    // "17", or the name of a host. Returns an endpoint.
    base::Result<uint32_t> host(std::string_view name) const;
    // The name of a host or switch, or the number of a host. Returns a node of the graph.
    base::Result<uint32_t> node(std::string_view name) const;
    base::Result<uint32_t> switch_node(std::string_view name) const;
    // "leaf0-spine1", or "leaf0-spine1#1" for the second of parallel cables. Returns a cable of the
    // graph.
    base::Result<uint32_t> cable(std::string_view name) const;

    // The endpoint of a host number; the node of an endpoint, and the reverse.
    base::Result<uint32_t> host_number(uint64_t number) const;
    uint32_t node_of(uint32_t endpoint) const { return endpoints_[endpoint]; }
    base::Result<uint32_t> endpoint_of(uint32_t node) const;

private:
    base::Error unknown(std::string_view name, std::string_view what, bool hosts,
                        bool switches) const;

    const topology::Graph& graph_;
    std::vector<uint32_t> endpoints_;
    std::vector<uint32_t> ranks_;  // by node: its number among the hosts; kNone for switches
    std::unordered_map<std::string_view, uint32_t> nodes_;
};

// Finds the number that one word of a list stands for.
using Lookup = std::function<base::Result<uint32_t>(std::string_view word)>;

// Reads a list such as [1, h2, 8-15], in ascending order without duplicates. `what` is "host" or
// "rank".
std::vector<uint32_t> read_list_of(std::string_view what, const Value& list, std::string_view key,
                                   const Lookup& one, Notes& notes);
std::vector<uint32_t> read_hosts(const Value& list, std::string_view key, const Names& names,
                                 Notes& notes);

}  // namespace tulle::scenario
