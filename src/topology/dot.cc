#include <algorithm>

#include "topology/exports.h"
#include "topology/quantities.h"
#include "topology/text.h"

namespace tulle::topology {
namespace {

std::string quoted(std::string_view name) {
    std::string out = "\"";
    for (const char c : name) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

}  // namespace

std::string write_dot(const Graph& graph) {
    std::string out = "graph fabric {\n  rankdir=BT;\n  node [shape=box, style=filled];\n";
    uint8_t highest = 0;
    for (const Node& node : graph.nodes) highest = std::max(highest, node.tier);
    for (uint32_t tier = 0; tier <= highest; ++tier) {
        std::string row;
        for (const Node& node : graph.nodes)
            if (node.tier == tier)
                row += text("    ", quoted(node.name),
                            node.is_host() ? " [shape=ellipse, fillcolor=white];\n"
                                           : " [fillcolor=lightblue];\n");
        if (!row.empty()) out += text("  {\n    rank=same;\n", row, "  }\n");
    }
    for (const Cable& cable : graph.cables) {
        out += text("  ", quoted(graph.nodes[cable.a.node].name), " -- ",
                    quoted(graph.nodes[cable.b.node].name), " [taillabel=", cable.a.port + 1,
                    ", headlabel=", cable.b.port + 1);
        if (cable.rate_bps != 0) out += text(", label=\"", rate_text(cable.rate_bps), "\"");
        out += "];\n";
    }
    return out + "}\n";
}

}  // namespace tulle::topology
