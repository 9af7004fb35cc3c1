// Which ports lead to a host, for every node of a fabric.
//
// A table by host would be large: 8,192 hosts times 1,280 switches. But hosts on the same switch
// are reached the same way until the last hop, so tables are by *target*, the set of switches that
// a host hangs on, and only the last hop is by host. Nodes with the same table share it (all core
// switches of a fat tree do), and so do lists of ports. That fabric then takes 1.4 MB and 0.1 s.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/forwarding.h"
#include "topology/graph.h"

namespace tulle::fabric {

enum class RouteKind : uint8_t {
    shortest,       // every port on a shortest path
    up_down,        // up first, then down, never up again: no deadlock, whatever the cables are
    spanning_tree,  // the one tree of layer 2, as for RoCE v1; all other cables are idle
};

// How many of the ports that are equally good a table has for a destination.
enum class RouteSpread : uint8_t {
    all,             // the switch chooses, packet by packet or flow by flow
    by_destination,  // one, which forwarding.h chooses
};

// Ports somewhere in the tables: how many, then each. In ascending order where all are meant; with
// one by destination, ports to different neighbours come before a second port to the same.
class PortList {
public:
    explicit PortList(const uint16_t* at) : at_(at) {}
    size_t size() const { return *at_; }
    bool empty() const { return size() == 0; }
    uint16_t operator[](size_t i) const { return at_[1 + i]; }
    const uint16_t* begin() const { return at_ + 1; }
    const uint16_t* end() const { return begin() + size(); }

private:
    const uint16_t* at_;
};

class Routes {
public:
    // `cable_down` and `node_down` name what is broken; empty: nothing is. The graph is in order
    // (Graph::check), except that broken parts may cut it in pieces.
    static Routes compute(const topology::Graph& graph, RouteKind kind,
                          const std::vector<bool>& cable_down = {},
                          const std::vector<bool>& node_down = {},
                          RouteSpread spread = RouteSpread::all);

    // The ports of `node` by which a packet for the endpoint may go. Empty: it cannot be reached,
    // or the node is the endpoint itself.
    PortList ports(uint32_t node, uint32_t endpoint) const {
        if (node == endpoints_[endpoint].node) return list_at(kNoPorts);
        const PortList all = ports_of_row(row(node), node, endpoint);
        if (all.size() < 2 || picks_.empty()) return all;
        return PortList(singles_.data() + 2 * size_t{port_of(node, endpoint, all)});
    }
    // By destination: the one of its ports. `all` is what ports_of_row() says, and not empty.
    uint16_t port_of(uint32_t node, uint32_t endpoint, PortList all) const {
        return all[picks_.of(node, endpoint) % all.size()];
    }
    // The same for a switch, which asks often and keeps its row.
    const uint32_t* row(uint32_t node) const {
        return lists_.data() + size_t{rows_[node]} * target_count_;
    }
    PortList ports_of_row(const uint32_t* row, uint32_t node, uint32_t endpoint) const {
        const Endpoint& to = endpoints_[endpoint];
        const uint32_t list = row[to.target];
        return list == kLastHop ? last_hop(node, to) : list_at(list);
    }

    // Entries of a row.
    uint32_t target_count() const { return target_count_; }

    // Of a spanning tree: working cables between switches that carry nothing.
    const std::vector<uint32_t>& idle_cables() const { return idle_cables_; }
    size_t memory_bytes() const;

private:
    friend class RouteBuilder;
    friend class RouteWriter;

    static constexpr uint32_t kLastHop = 0xffff'ffff;  // in place of a list: the host is here
    static constexpr uint32_t kNoPorts = 0;            // the list without any

    struct Endpoint {
        uint32_t node = 0;
        uint32_t target = 0;
        uint32_t first_hop_in = 0;  // into hops_in_; up to that of the next endpoint
    };
    // The last hop to an endpoint: where, and out of which ports.
    struct HopIn {
        uint32_t node = 0;
        uint32_t list = 0;
    };

    PortList list_at(uint32_t list) const { return PortList(pool_.data() + list); }
    PortList last_hop(uint32_t node, const Endpoint& to) const {
        const uint32_t end = (&to + 1)->first_hop_in;
        for (uint32_t i = to.first_hop_in; i < end; ++i)
            if (hops_in_[i].node == node) return list_at(hops_in_[i].list);
        return list_at(kNoPorts);
    }

    uint32_t target_count_ = 0;
    std::vector<uint32_t> rows_;       // by node: its row of lists_
    std::vector<uint32_t> lists_;      // by row and target: a list of ports
    std::vector<uint16_t> pool_;       // the lists, each once
    std::vector<Endpoint> endpoints_;  // and one more, which ends the hops of the last
    std::vector<HopIn> hops_in_;
    std::vector<uint32_t> idle_cables_;
    DestinationPicks picks_;         // empty where the spread is `all`
    std::vector<uint16_t> singles_;  // by port: a list of it alone
};

}  // namespace tulle::fabric
