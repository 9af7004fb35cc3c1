#include "topology/builders.h"
#include "topology/parts.h"

namespace tulle::topology {
namespace {

std::optional<base::Error> check_torus(const Torus& options) {
    if (options.sizes.empty()) return base::Error{"a torus needs its dimensions, such as 4x4x4"};
    uint64_t switches = 1;
    for (const uint32_t size : options.sizes) switches = times(switches, size);
    const uint64_t hosts = times(switches, options.hosts);
    const uint64_t dimensions = options.sizes.size();
    return check_size("a torus", {hosts, switches, plus(hosts, times(switches, dimensions)),
                                  plus(options.hosts, times(2, dimensions))});
}

}  // namespace

// The first dimension varies fastest: in 4x3, switch 5 is at (1, 1).
base::Result<Graph> build(const Torus& options) {
    if (auto error = check_torus(options)) return *error;
    uint32_t switches = 1;
    for (const uint32_t size : options.sizes) switches *= size;

    Graph graph;
    const uint32_t host = add_hosts(graph, switches * options.hosts);
    const uint32_t first = add_switches(graph, switches, "switch", kLeafTier);
    attach_hosts(graph, host, first, switches, options.hosts);
    for (uint32_t i = 0; i < switches; ++i) {
        uint32_t stride = 1;
        for (const uint32_t size : options.sizes) {
            const uint32_t place = i / stride % size;
            if (place + 1 < size)
                graph.connect(first + i, first + i + stride);
            else if (size > 2)
                graph.connect(first + i, first + i - place * stride);
            stride *= size;
        }
    }
    return graph;
}

}  // namespace tulle::topology
