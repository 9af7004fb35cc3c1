#include "topology/parts.h"

#include "topology/builders.h"
#include "topology/text.h"

namespace tulle::topology {
namespace {

std::optional<base::Error> at_most(std::string_view builder, std::string_view what, uint64_t count,
                                   uint64_t most) {
    if (count <= most) return std::nullopt;
    const std::string shown = count == ~uint64_t{0} ? "far more" : std::to_string(count);
    return base::Error{
        text(builder, " of this size has ", shown, " ", what, "; at most ", most, " can be built")};
}

}  // namespace

std::optional<base::Error> check_size(std::string_view builder, const Size& size) {
    if (size.hosts == 0)
        return base::Error{text(builder, " of this size has no hosts; no number may be 0")};
    if (auto error = at_most(builder, "hosts", size.hosts, kMaxHosts)) return error;
    if (auto error = at_most(builder, "switches", size.switches, kMaxSwitches)) return error;
    if (auto error = at_most(builder, "cables", size.cables, kMaxCables)) return error;
    return at_most(builder, "ports a switch", size.ports, kMaxPorts);
}

uint32_t add_hosts(Graph& graph, uint32_t count) {
    const auto first = static_cast<uint32_t>(graph.nodes.size());
    for (uint32_t i = 0; i < count; ++i) {
        Node node;
        node.name = text("h", i);
        node.server = i;
        graph.add(std::move(node));
    }
    return first;
}

uint32_t add_switches(Graph& graph, uint32_t count, std::string_view name, uint8_t tier) {
    const auto first = static_cast<uint32_t>(graph.nodes.size());
    for (uint32_t i = 0; i < count; ++i) {
        Node node;
        node.name = text(name, i);
        node.kind = NodeKind::switch_node;
        node.tier = tier;
        graph.add(std::move(node));
    }
    return first;
}

void attach_hosts(Graph& graph, uint32_t first_host, uint32_t first_switch, uint32_t count,
                  uint32_t hosts_each) {
    for (uint32_t i = 0; i < count * hosts_each; ++i)
        graph.connect(first_host + i, first_switch + i / hosts_each);
}

}  // namespace tulle::topology
