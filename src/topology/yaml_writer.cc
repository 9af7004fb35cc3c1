#include <algorithm>
#include <array>

#include "topology/quantities.h"
#include "topology/text.h"
#include "topology/yaml.h"

namespace tulle::topology {
namespace {

bool is_plain(std::string_view word) {
    return std::all_of(word.begin(), word.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '.' || c == '+';
    });
}

// A word in the form that YAML reads back unchanged, followed by `port`.
std::string quoted(std::string_view word, std::string_view port = {}) {
    if (is_plain(word)) return text(word, port);
    std::string out = "\"";
    for (const char c : word) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return text(out, port, "\"");
}

std::string hex(uint64_t number) {
    std::array<char, 16> buffer{};
    const auto [end, error] = std::to_chars(buffer.begin(), buffer.end(), number, 16);
    return text("0x", std::string_view(buffer.begin(), end));
}

std::string node_text(const Node& node) {
    std::string out = text("  - {name: ", quoted(node.name));
    if (node.is_host())
        out += text(", server: ", node.server, ", rail: ", node.rail);
    else
        out += text(", tier: ", uint32_t{node.tier});
    out += text(", ports: ", node.port_count);
    if (node.guid != 0) out += text(", guid: ", hex(node.guid));
    return out + "}\n";
}

std::string cable_text(const Graph& graph, const Cable& cable) {
    const auto end = [&](CableEnd e) {
        return quoted(graph.nodes[e.node].name, text(":", e.port + 1));
    };
    const std::string between = text("[", end(cable.a), ", ", end(cable.b), "]");
    std::string settings;
    if (cable.rate_bps != 0) settings += text(", rate: ", rate_text(cable.rate_bps));
    if (cable.delay != base::Duration{}) settings += text(", delay: ", delay_text(cable.delay));
    if (cable.length_mm != 0) settings += text(", length: ", length_text(cable.length_mm));
    if (cable.loss_per_trillion != 0)
        settings += text(", loss: ", loss_text(cable.loss_per_trillion));
    if (settings.empty()) return text("  - ", between, "\n");
    return text("  - {between: ", between, settings, "}\n");
}

}  // namespace

std::string write_yaml(const Graph& graph) {
    std::string out;
    for (const NodeKind kind : {NodeKind::host, NodeKind::switch_node}) {
        out += kind == NodeKind::host ? "hosts:\n" : "switches:\n";
        for (const Node& node : graph.nodes)
            if (node.kind == kind) out += node_text(node);
    }
    out += "cables:\n";
    for (const Cable& cable : graph.cables) out += cable_text(graph, cable);
    return out;
}

}  // namespace tulle::topology
