// Which ports lead to a host, for every node of a fabric.
//
// A table by host would be large: 8,192 hosts times 1,280 switches. But hosts on the same switch
// are reached the same way until the last hop. Tables are therefore by *target*, the set of
// switches that a host is attached to, and only the last hop is by host. Nodes with equal tables
// share one (all core switches of a fat tree do), and equal lists of ports are stored once. That
// fabric then takes 1.4 MB and 0.1 s.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/forwarding.h"
#include "topology/graph.h"

namespace tulle::fabric {

enum class RouteKind : uint8_t {
    shortest,       // every port on a shortest path
    up_down,        // up first, then down, never up again: no deadlock on any cabling
    spanning_tree,  // the one tree of layer 2, as for RoCE v1; all other cables are idle
};

// How many of the equally good ports a table lists for a destination.
enum class RouteSpread : uint8_t {
    all,             // the switch chooses, packet by packet or flow by flow
    by_destination,  // one port, chosen by forwarding.h
};

// A list of ports in the tables: its length, then each port. With RouteSpread::all, ports are in
// ascending order. With `by_destination`, ports to different neighbours come before a second port
// to the same one.
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
    // `cable_down` and `node_down` mark what is broken; empty: nothing. The graph is valid
    // (Graph::check), except that broken parts may cut it in pieces.
    static Routes compute(const topology::Graph& graph, RouteKind kind,
                          const std::vector<bool>& cable_down = {},
                          const std::vector<bool>& node_down = {},
                          RouteSpread spread = RouteSpread::all);

    // The ports of `node` through which a packet for the endpoint may go. Empty: it cannot be
    // reached, or the node is the endpoint itself.
    PortList ports(uint32_t node, uint32_t endpoint) const {
        if (node == endpoints_[endpoint].node) return list_at(kNoPorts);
        const PortList all = ports_of_row(row(node), node, endpoint);
        if (all.size() < 2 || picks_.empty()) return all;
        return PortList(singles_.data() + 2 * size_t{port_of(node, endpoint, all)});
    }
    // By destination: the one port chosen from `all`, the result of ports_of_row(), which must not
    // be empty.
    uint16_t port_of(uint32_t node, uint32_t endpoint, PortList all) const {
        return all[picks_.of(node, endpoint) % all.size()];
    }
    // The same in two steps for a switch, which asks often and keeps its row.
    const uint32_t* row(uint32_t node) const {
        return lists_.data() + size_t{rows_[node]} * target_count_;
    }
    PortList ports_of_row(const uint32_t* row, uint32_t node, uint32_t endpoint) const {
        const HostEntry& to = endpoints_[endpoint];
        const uint32_t list = row[to.target];
        return list == kLastHop ? last_hop(node, to) : list_at(list);
    }

    // The number of entries in a row.
    uint32_t target_count() const { return target_count_; }

    // With a spanning tree: working cables between switches that carry nothing.
    const std::vector<uint32_t>& idle_cables() const { return idle_cables_; }
    size_t memory_bytes() const;

private:
    friend class RouteBuilder;
    friend class RouteWriter;

    static constexpr uint32_t kLastHop = 0xffff'ffff;  // in place of a list: the host is here
    static constexpr uint32_t kNoPorts = 0;            // the empty list

    struct HostEntry {
        uint32_t node = 0;
        uint32_t target = 0;
        uint32_t first_hop_in = 0;  // index into hops_in_; ends at that of the next endpoint
    };
    // The last hop to an endpoint: the node before it, and the ports there.
    struct HopIn {
        uint32_t node = 0;
        uint32_t list = 0;
    };

    PortList list_at(uint32_t list) const { return PortList(pool_.data() + list); }
    PortList last_hop(uint32_t node, const HostEntry& to) const {
        const uint32_t end = (&to + 1)->first_hop_in;
        for (uint32_t i = to.first_hop_in; i < end; ++i)
            if (hops_in_[i].node == node) return list_at(hops_in_[i].list);
        return list_at(kNoPorts);
    }

    uint32_t target_count_ = 0;
    std::vector<uint32_t> rows_;        // by node: its row of lists_
    std::vector<uint32_t> lists_;       // by row and target: a list of ports
    std::vector<uint16_t> pool_;        // the lists, each once
    std::vector<HostEntry> endpoints_;  // plus one more, which ends the hops of the last
    std::vector<HopIn> hops_in_;
    std::vector<uint32_t> idle_cables_;
    DestinationPicks picks_;         // empty if the spread is `all`
    std::vector<uint16_t> singles_;  // by port: a list with this port alone
};

}  // namespace tulle::fabric
