// Small fabrics of every builder, and some that no builder makes.
#include "topology/builders.h"
#include "world.h"

namespace tulle::fabric_swarm {
namespace {

using topology::Graph;

// A tree of switches with more cables here and there, and hosts wherever.
Graph draw_wild(Draw& draw) {
    Graph graph;
    const uint32_t hosts = draw.between(2, 10);
    const uint32_t switches = draw.between(1, 6);
    for (uint32_t i = 0; i < hosts; ++i) {
        topology::Node host;
        host.name = std::to_string(i);
        host.server = i;
        graph.add(host);
    }
    for (uint32_t i = 0; i < switches; ++i) {
        topology::Node node;
        node.name = std::to_string(hosts + i);
        node.kind = topology::NodeKind::switch_node;
        node.tier = topology::kLeafTier;
        const uint32_t added = graph.add(node);
        if (i != 0) graph.connect(added, hosts + draw.between(0, i - 1));
    }
    for (uint32_t i = 0; i < hosts; ++i) graph.connect(i, hosts + draw.between(0, switches - 1));
    for (uint32_t more = draw.between(0, switches); more != 0 && switches > 1; --more) {
        const uint32_t a = hosts + draw.between(0, switches - 1);
        const uint32_t b = hosts + draw.between(0, switches - 1);
        if (a != b) graph.connect(a, b);
    }
    return graph;
}

base::Result<Graph> draw_known(Draw& draw) {
    using namespace topology;
    switch (draw.between(0, 9)) {
        case 0: return build(FatTree{4, draw.between(2, 3), draw.between(1, 2)});
        case 1:
            return build(LeafSpine{draw.between(2, 3), draw.between(1, 3), draw.between(1, 4),
                                   draw.between(1, 2)});
        case 2: return build(RailOptimised{draw.between(2, 4), 2, draw.pick<uint32_t>({0, 2}), 2});
        case 3: return build(Dragonfly{2, draw.between(1, 2), 1, 0});
        case 4: return build(DragonflyPlus{2, 2, 1, 1, draw.between(2, 3)});
        case 5: return build(Torus{{draw.between(2, 4), draw.between(2, 3)}, 1});
        case 6: return build(BackToBack{});
        case 7: return build(Ring{draw.between(3, 5), draw.between(1, 2)});
        case 8: return build(Line{draw.between(2, 4), draw.between(1, 3)});
        default: return build(Star{draw.between(2, 8)});
    }
}

// Cables that differ from one another.
void draw_cables(uint64_t seed, Graph& graph) {
    Draw draw(seed, Drawer::cables, 0);
    if (draw.percent(40)) return;
    for (topology::Cable& cable : graph.cables) {
        if (draw.percent(40))
            cable.rate_bps = draw.pick<uint64_t>({10'000'000'000, 25'000'000'000, 33'333'333'333,
                                                  40'000'000'000, 100'000'000'000, 200'000'000'000,
                                                  400'000'000'000, 800'000'000'000});
        if (draw.percent(30)) cable.delay = {draw.between(1, 5'000) * int64_t{1'000}};
        if (draw.percent(30)) cable.length_mm = draw.between(500, 100'000);
        if (draw.percent(5))
            cable.loss_per_trillion = draw.between(1, 20'000) * uint64_t{1'000'000};
    }
}

}  // namespace

Graph draw_graph(uint64_t seed) {
    Draw draw(seed, Drawer::graph, 0);
    Graph graph;
    if (draw.percent(25)) {
        graph = draw_wild(draw);
    } else if (auto known = draw_known(draw)) {
        graph = std::move(*known);
    } else {
        graph = draw_wild(draw);
    }
    draw_cables(seed, graph);
    return graph;
}

}  // namespace tulle::fabric_swarm
