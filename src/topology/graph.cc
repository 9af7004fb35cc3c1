#include "topology/graph.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "topology/structure.h"
#include "topology/text.h"

namespace tulle::topology {
namespace {

base::Error wrong(std::string message) {
    return {std::move(message)};
}

std::string named(const Node& node) {
    return text(node.is_host() ? "host " : "switch ", node.name);
}

std::string port_text(const Graph& graph, CableEnd end) {
    return text("port ", end.port, " of ", named(graph.nodes[end.node]));
}

std::optional<base::Error> check_ends(const Graph& graph) {
    for (size_t i = 0; i < graph.cables.size(); ++i) {
        const Cable& cable = graph.cables[i];
        for (const CableEnd end : {cable.a, cable.b}) {
            if (end.node >= graph.nodes.size())
                return wrong(text("cable ", i, " ends at node ", end.node, ", but there are ",
                                  graph.nodes.size(), " nodes"));
            if (end.port >= graph.nodes[end.node].port_count)
                return wrong(text("cable ", i, " ends at ", port_text(graph, end), ", which has ",
                                  graph.nodes[end.node].port_count, " ports"));
        }
        if (cable.a.node == cable.b.node)
            return wrong(
                text("cable ", i, " leads from ", named(graph.nodes[cable.a.node]), " to itself"));
    }
    return std::nullopt;
}

std::optional<base::Error> check_ports(const Graph& graph) {
    std::vector<uint64_t> used;
    used.reserve(2 * graph.cables.size());
    for (const Cable& cable : graph.cables)
        for (const CableEnd end : {cable.a, cable.b})
            used.push_back(uint64_t{end.node} << 16 | end.port);
    std::sort(used.begin(), used.end());
    const auto twice = std::adjacent_find(used.begin(), used.end());
    if (twice == used.end()) return std::nullopt;
    const CableEnd end{static_cast<uint32_t>(*twice >> 16), static_cast<uint16_t>(*twice)};
    return wrong(text(port_text(graph, end), " has more than one cable"));
}

std::optional<base::Error> check_names(const Graph& graph) {
    std::vector<std::string_view> names;
    names.reserve(graph.nodes.size());
    for (const Node& node : graph.nodes) names.push_back(node.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return std::nullopt;
    return wrong(text("two nodes are called ", *twice));
}

std::optional<base::Error> check_guids(const Graph& graph) {
    std::unordered_map<uint64_t, uint32_t> owner;
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
        if (graph.nodes[i].guid == 0) continue;
        const auto [first, is_new] = owner.try_emplace(graph.nodes[i].guid, i);
        if (!is_new)
            return wrong(text(named(graph.nodes[first->second]), " and ", named(graph.nodes[i]),
                              " have the same GUID"));
    }
    return std::nullopt;
}

// The nodes reachable from `start`. A host does not forward, so the search stops there.
std::vector<bool> reached_from(const Graph& graph, const Ports& ports, uint32_t start) {
    std::vector<bool> reached(graph.nodes.size());
    std::vector<uint32_t> open{start};
    reached[start] = true;
    while (!open.empty()) {
        const uint32_t node = open.back();
        open.pop_back();
        if (graph.nodes[node].is_host() && node != start) continue;
        for (const Ports::Link& link : ports.of(node))
            if (link.is_cabled() && !reached[link.peer.node]) {
                reached[link.peer.node] = true;
                open.push_back(link.peer.node);
            }
    }
    return reached;
}

std::optional<base::Error> check_reach(const Graph& graph) {
    const std::vector<uint32_t> hosts = graph.endpoints();
    const Ports ports(graph);
    for (const uint32_t host : hosts) {
        const auto links = ports.of(host);
        if (std::none_of(links.begin(), links.end(), [](auto& link) { return link.is_cabled(); }))
            return wrong(text("host ", graph.nodes[host].name, " has no cable"));
    }
    if (graph.is_in_pieces) return std::nullopt;
    const std::vector<bool> reached = reached_from(graph, ports, hosts.front());
    for (const uint32_t host : hosts)
        if (!reached[host])
            return wrong(text("host ", graph.nodes[host].name, " cannot reach host ",
                              graph.nodes[hosts.front()].name));
    return std::nullopt;
}

}  // namespace

uint32_t Graph::add(Node node) {
    nodes.push_back(std::move(node));
    return static_cast<uint32_t>(nodes.size() - 1);
}

Cable& Graph::connect(uint32_t a, uint32_t b) {
    TULLE_CHECK(a != b && nodes[a].port_count < kMaxPorts && nodes[b].port_count < kMaxPorts);
    Cable cable;
    cable.a = {a, nodes[a].port_count++};
    cable.b = {b, nodes[b].port_count++};
    return cables.emplace_back(cable);
}

std::vector<uint32_t> Graph::endpoints() const {
    std::vector<uint32_t> hosts;
    for (uint32_t i = 0; i < nodes.size(); ++i)
        if (nodes[i].is_host()) hosts.push_back(i);
    return hosts;
}

size_t Graph::host_count() const {
    return static_cast<size_t>(
        std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.is_host(); }));
}

std::optional<base::Error> Graph::check() const {
    if (auto error = check_structure(*this)) return error;
    return check_reach(*this);
}

std::optional<base::Error> check_structure(const Graph& graph) {
    if (graph.host_count() == 0) return wrong("the fabric has no hosts");
    if (auto error = check_names(graph)) return error;
    if (auto error = check_guids(graph)) return error;
    if (auto error = check_ends(graph)) return error;
    return check_ports(graph);
}

Ports::Ports(const Graph& graph) : first_(graph.nodes.size() + 1) {
    for (size_t i = 0; i < graph.nodes.size(); ++i)
        first_[i + 1] = first_[i] + graph.nodes[i].port_count;
    links_.resize(first_.back());
    for (uint32_t i = 0; i < graph.cables.size(); ++i) {
        const Cable& cable = graph.cables[i];
        links_[first_[cable.a.node] + cable.a.port] = {i, cable.b};
        links_[first_[cable.b.node] + cable.b.port] = {i, cable.a};
    }
}

}  // namespace tulle::topology
