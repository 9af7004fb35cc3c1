#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "topology/ib_speed.h"
#include "topology/ibnetdiscover.h"
#include "topology/text.h"

namespace tulle::topology {
namespace {

constexpr uint32_t kMaxIbPorts = 254;
constexpr uint32_t kMaxLid = 0xbfff;
// Locally administered, so that no real adapter has it.
constexpr uint64_t kGuidBase = 0x0200'0000'0000'0000;

std::string hex(uint64_t number, size_t digits = 0) {
    std::array<char, 16> buffer{};
    const auto [end, error] = std::to_chars(buffer.begin(), buffer.end(), number, 16);
    std::string out(buffer.begin(), end);
    if (out.size() < digits) out.insert(0, digits - out.size(), '0');
    return out;
}

class Writer {
public:
    explicit Writer(const Graph& graph) : graph_(graph), ports_(graph), guids_(node_guids(graph)) {
        for (const Node& node : graph.nodes)
            if (node.is_host()) ++adapters_[node.server];
        uint32_t next = 1;
        for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
            first_lid_.push_back(next);
            next += graph.nodes[i].is_host() ? cabled_before(i, graph.nodes[i].port_count) : 1;
        }
    }

    std::string write() {
        out_ = "#\n# Topology file in the format of ibnetdiscover\n#\n";
        for (const NodeKind kind : {NodeKind::switch_node, NodeKind::host})
            for (uint32_t i = 0; i < graph_.nodes.size(); ++i)
                if (graph_.nodes[i].kind == kind) write_node(i);
        return std::move(out_);
    }

private:
    uint64_t guid(uint32_t node) const { return guids_[node]; }
    std::string id(uint32_t node) const {
        return text(graph_.nodes[node].is_host() ? "\"H-" : "\"S-", hex(guid(node), 16), "\"");
    }
    uint32_t cabled_before(uint32_t node, uint32_t port) const {
        const auto links = ports_.of(node).first(port);
        return static_cast<uint32_t>(
            std::count_if(links.begin(), links.end(), [](auto& link) { return link.is_cabled(); }));
    }
    // One for each switch and each cabled port of a host, from 1 on; 0 once the LIDs of a subnet
    // are used up.
    uint32_t lid(uint32_t node, uint32_t port = 0) const {
        const uint32_t lid =
            first_lid_[node] + (graph_.nodes[node].is_host() ? cabled_before(node, port) : 0);
        return lid <= kMaxLid ? lid : 0;
    }

    // Adapters of a server with several are named as drivers do it, so that a reader finds the
    // server.
    std::string description(uint32_t i) const {
        const Node& node = graph_.nodes[i];
        std::string name = node.name;
        const bool says_so = name.ends_with(text(" mlx5_", node.rail)) ||
                             name.ends_with(text(" HCA-", node.rail + 1));
        if (node.is_host() && adapters_.at(node.server) > 1 && !says_so)
            name = text("s", node.server, " mlx5_", node.rail);
        for (char& c : name)
            if (c == '"') c = '\'';
        return text("\"", name, "\"");
    }

    void write_node(uint32_t i) {
        const Node& node = graph_.nodes[i];
        const std::string_view key = node.is_host() ? "caguid=0x" : "switchguid=0x";
        out_ += text("\nvendid=0x2c9\ndevid=", node.is_host() ? "0x101b" : "0xd2f0",
                     "\nsysimgguid=0x", hex(guid(i)), "\n", key, hex(guid(i)));
        if (!node.is_host()) out_ += text("(", hex(guid(i)), ")");
        out_ += text("\n", node.is_host() ? "Ca" : "Switch", "\t", node.port_count, " ", id(i),
                     "\t\t# ", description(i));
        if (!node.is_host()) out_ += text(" enhanced port 0 lid ", lid(i), " lmc 0");
        out_ += '\n';
        const auto links = ports_.of(i);
        for (uint32_t port = 0; port < links.size(); ++port)
            if (links[port].is_cabled()) write_port(i, port, links[port]);
    }

    // [1](guid of a host's port) "peer"[1](guid of a host's port)  # descriptions of both ends
    void write_port(uint32_t i, uint32_t port, const Ports::Link& link) {
        const uint32_t peer = link.peer.node;
        const bool is_host = graph_.nodes[i].is_host();
        out_ += text("[", port + 1, "]");
        if (is_host) out_ += text("(", hex(guid(i) + port + 1), ") ");
        out_ += text("\t", id(peer), "[", link.peer.port + 1, "]");
        if (graph_.nodes[peer].is_host())
            out_ += text("(", hex(guid(peer) + link.peer.port + 1), ") ");
        out_ += "\t\t# ";
        if (is_host) out_ += text("lid ", lid(i, port), " lmc 0 ");
        out_ += text(description(peer), " lid ", lid(peer, link.peer.port));
        const std::string speed = ib_speed_text(graph_.cables[link.cable].rate_bps);
        if (!speed.empty()) out_ += text(" ", speed);
        out_ += '\n';
    }

    const Graph& graph_;
    Ports ports_;
    std::unordered_map<uint32_t, uint32_t> adapters_;  // number of adapters of each server
    std::vector<uint64_t> guids_;                      // by node
    std::vector<uint32_t> first_lid_;                  // by node
    std::string out_;
};

}  // namespace

std::vector<uint64_t> node_guids(const Graph& graph) {
    std::unordered_set<uint64_t> taken;
    for (const Node& node : graph.nodes) taken.insert(node.guid);
    std::vector<uint64_t> guids;
    uint64_t next = kGuidBase;
    for (const Node& node : graph.nodes) {
        // Leaves room for the GUIDs of ports, which follow that of their node.
        do next += 0x100;
        while (taken.contains(next));
        guids.push_back(node.guid != 0 ? node.guid : next);
    }
    return guids;
}

base::Result<std::string> write_ibnetdiscover(const Graph& graph) {
    for (const Node& node : graph.nodes)
        if (node.port_count > kMaxIbPorts)
            return base::Error{text(node.name, " has ", node.port_count,
                                    " ports; in InfiniBand a node has at most ", kMaxIbPorts)};
    return Writer(graph).write();
}

}  // namespace tulle::topology
