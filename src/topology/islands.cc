#include "topology/builders.h"
#include "topology/parts.h"
#include "topology/text.h"

namespace tulle::topology {

base::Result<Graph> build(const Islands& options) {
    const uint64_t all_hosts = times(options.islands, options.hosts);
    const Size size{all_hosts, options.islands, all_hosts, options.hosts};
    if (auto error = check_size("islands", size)) return *error;
    Graph graph;
    graph.is_in_pieces = options.islands > 1;
    const uint32_t host = add_hosts(graph, static_cast<uint32_t>(all_hosts));
    for (uint32_t i = 0; i < all_hosts; ++i) {
        Node& node = graph.nodes[host + i];
        node.name = text("g", i);
        node.server = i / options.hosts;
        node.rail = static_cast<uint16_t>(i % options.hosts);
    }
    const uint32_t first = add_switches(graph, options.islands, "switch", kLeafTier);
    attach_hosts(graph, host, first, options.islands, options.hosts);
    return graph;
}

}  // namespace tulle::topology
