// The static structure of a fabric: nodes with ports, and cables between ports. Builders and
// readers make a Graph, writers print one, and all other code only reads it.
//
// A host node is one adapter, not a machine: a server with eight rails is eight host nodes with the
// same `server`. An *endpoint* is the rank of a host node among the host nodes. Traffic and results
// count hosts by endpoint, wherever the switches stand in the list of nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace tulle::topology {

inline constexpr uint32_t kNone = 0xffff'ffff;
inline constexpr uint16_t kMaxPorts = 0xffff;

enum class NodeKind : uint8_t { host, switch_node };

// Distance from the hosts, if the fabric has tiers.
inline constexpr uint8_t kHostTier = 0;
inline constexpr uint8_t kLeafTier = 1;
inline constexpr uint8_t kSpineTier = 2;
inline constexpr uint8_t kCoreTier = 3;

struct Node {
    std::string name;
    NodeKind kind = NodeKind::host;
    uint8_t tier = kHostTier;
    uint16_t rail = 0;        // index of the adapter in its server, from 0
    uint16_t port_count = 0;  // cabled or not
    uint32_t server = 0;      // the machine of the adapter; unused for a switch
    uint64_t guid = 0;        // 0: none

    bool is_host() const { return kind == NodeKind::host; }
    bool operator==(const Node&) const = default;
};

struct CableEnd {
    uint32_t node = 0;
    uint16_t port = 0;  // from 0; readers shift files that count from 1

    bool operator==(const CableEnd&) const = default;
};

struct Cable {
    CableEnd a;
    CableEnd b;
    // Zero in any of these means: the value of the run's profile.
    uint64_t rate_bps = 0;
    base::Duration delay{};
    uint32_t length_mm = 0;
    uint64_t loss_per_trillion = 0;  // packets lost to errors, out of 10^12

    bool operator==(const Cable&) const = default;
};

struct Graph {
    std::vector<Node> nodes;
    std::vector<Cable> cables;
    // If true, hosts of different parts need not reach one another: a network inside each server.
    bool is_in_pieces = false;

    uint32_t add(Node node);
    // Adds a port to both nodes, and a cable between the two ports.
    Cable& connect(uint32_t a, uint32_t b);

    // The host nodes in order: endpoints()[i] is the node of endpoint i.
    std::vector<uint32_t> endpoints() const;
    size_t host_count() const;
    size_t switch_count() const { return nodes.size() - host_count(); }

    // What is wrong with the fabric, in one sentence: two nodes with the same name or GUID, a port
    // used twice, a cable to its own node, a host without a cable, no hosts; a host that cannot
    // reach another if the fabric must be connected.
    std::optional<base::Error> check() const;

    bool operator==(const Graph&) const = default;
};

// The cable at each port of a checked graph. It is a copy and does not refer to the graph.
class Ports {
public:
    // The cable at a port, and the port at its other end. `cable` is kNone if there is none.
    struct Link {
        uint32_t cable = kNone;
        CableEnd peer{};
        bool is_cabled() const { return cable != kNone; }
    };

    explicit Ports(const Graph& graph);

    // The ports of a node in order.
    std::span<const Link> of(uint32_t node) const {
        return std::span(links_).subspan(first_[node], first_[node + 1] - first_[node]);
    }
    const Link& at(CableEnd end) const { return links_[first_[end.node] + end.port]; }

private:
    std::vector<uint32_t> first_;  // of each node into links_, plus the end
    std::vector<Link> links_;
};

}  // namespace tulle::topology
