// Small fabrics for examples and exact tests.
#include "topology/builders.h"
#include "topology/parts.h"
#include "topology/text.h"

namespace tulle::topology {
namespace {

base::Result<Graph> row_of_switches(std::string_view builder, uint32_t switches, uint32_t hosts,
                                    bool closed) {
    const uint64_t all_hosts = times(switches, hosts);
    const Size size{all_hosts, switches, plus(all_hosts, switches), plus(hosts, 2)};
    if (auto error = check_size(builder, size)) return *error;
    Graph graph;
    const uint32_t host = add_hosts(graph, switches * hosts);
    const uint32_t first = add_switches(graph, switches, "switch", kLeafTier);
    attach_hosts(graph, host, first, switches, hosts);
    for (uint32_t i = 0; i + 1 < switches; ++i) graph.connect(first + i, first + i + 1);
    if (closed) graph.connect(first + switches - 1, first);
    return graph;
}

}  // namespace

base::Result<Graph> build(const Star& options) {
    return row_of_switches("a star", 1, options.hosts, false);
}

base::Result<Graph> build(const BackToBack&) {
    Graph graph;
    add_hosts(graph, 2);
    graph.connect(0, 1);
    return graph;
}

base::Result<Graph> build(const Ring& options) {
    if (options.switches < 3)
        return base::Error{text("a ring has 3 switches or more, not ", options.switches)};
    return row_of_switches("a ring", options.switches, options.hosts, true);
}

base::Result<Graph> build(const Line& options) {
    return row_of_switches("a line", options.switches, options.hosts, false);
}

}  // namespace tulle::topology
