#include "report/page/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/findings/findings.h"

namespace tulle::report {
namespace {

constexpr size_t kMostHosts = 96;  // drawn one by one
constexpr size_t kMostNodes = 400;
constexpr size_t kMostEdges = 4000;

// Parallel cables are drawn as one line, and so are cables of merged hosts.
struct Edge {
    uint64_t cables = 0;
    uint64_t busy = 0;  // of the busier direction of any, in thousandths; so is `paused`
    uint64_t paused = 0;
    std::string busiest;  // link
};

class Drawing {
public:
    explicit Drawing(const Facts& facts)
        : facts_(facts), merges_(facts.setup.graph.host_count() > kMostHosts) {}

    Json draw() {
        name_nodes();
        for (const sim::LinkResult& link : facts_.result.links) add(link);
        Json json = {{"merged", merges_}, {"nodes", Json::array()}, {"edges", Json::array()}};
        if (nodes_.size() > kMostNodes || edges_.size() > kMostEdges) return json;
        for (const auto& [id, node] : nodes_) json["nodes"].push_back(node);
        for (const auto& [ends, edge] : edges_)
            json["edges"].push_back(
                {{"a", ends.first},
                 {"b", ends.second},
                 {"busy", edge.busy},
                 {"paused", edge.paused},
                 {"title", fmt::format("{}, the busiest: {}, {} busy, held up {}",
                                       counted(edge.cables, "cable"), edge.busiest,
                                       percent_text(edge.busy), percent_text(edge.paused))}});
        return json;
    }

private:
    // The node that represents it: for merged hosts, the first at their switch.
    void name_nodes() {
        const topology::Graph& graph = facts_.setup.graph;
        stands_for_.resize(graph.nodes.size());
        std::map<uint32_t, std::pair<uint32_t, uint64_t>> first_at;  // by switch
        for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
            stands_for_[node] = node;
            if (merges_ && graph.nodes[node].is_host()) {
                auto& [first, count] =
                    first_at.try_emplace(facts_.routes.gate_of(node), node, 0).first->second;
                stands_for_[node] = first;
                ++count;
                if (first != node) continue;
            }
            nodes_[node] = {{"id", node},
                            {"name", facts_.names.node(node)},
                            {"tier", graph.nodes[node].is_host() ? 0 : graph.nodes[node].tier + 1},
                            {"host", graph.nodes[node].is_host()}};
        }
        for (const auto& [gate, merged] : first_at)
            nodes_[merged.first]["name"] = counted(merged.second, "host");
    }

    void add(const sim::LinkResult& link) {
        uint32_t a = stands_for_[link.node];
        uint32_t b = stands_for_[link.peer_node];
        if (a > b) std::swap(a, b);
        Edge& edge = edges_[{a, b}];
        const bool is_first_direction = link.node < link.peer_node;
        edge.cables += is_first_direction ? 1 : 0;
        const uint64_t busy = facts_.busy_permille(link);
        if (edge.busiest.empty() || busy > edge.busy) edge.busiest = facts_.names.link(link);
        edge.busy = std::max(edge.busy, busy);
        edge.paused = std::max(edge.paused, facts_.permille(link.paused));
    }

    const Facts& facts_;
    const bool merges_;
    std::vector<uint32_t> stands_for_;
    std::map<uint32_t, Json> nodes_;
    std::map<std::pair<uint32_t, uint32_t>, Edge> edges_;
};

}  // namespace

Json drawing_of(const Facts& facts) {
    return Drawing(facts).draw();
}

}  // namespace tulle::report
