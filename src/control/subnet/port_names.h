// Finds the nodes and ports that a dump names, by GUID.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>

#include "control/subnet/subnet.h"
#include "topology/ibnetdiscover.h"
#include "topology/text.h"

namespace tulle::control {

// The number after a word, in hexadecimal if it begins with 0x.
inline std::optional<uint64_t> number_after(std::string_view line, std::string_view word) {
    const size_t at = line.find(word);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view digits = line.substr(at + word.size());
    const bool is_hex = digits.starts_with("0x");
    if (is_hex) digits.remove_prefix(2);
    digits = digits.substr(0, digits.find_first_not_of("0123456789abcdefABCDEF"));
    return topology::parse_number<uint64_t>(digits, is_hex ? 16 : 10);
}

class PortsByGuid {
public:
    explicit PortsByGuid(const topology::Graph& graph) : graph_(graph), ports_(graph) {
        const std::vector<uint64_t> guids = topology::node_guids(graph);
        for (uint32_t node = 0; node < graph.nodes.size(); ++node)
            by_guid_.try_emplace(guids[node], topology::CableEnd{node, first_cabled(node)});
        for (uint32_t node = 0; node < graph.nodes.size(); ++node)
            for (uint16_t port = 0; graph.nodes[node].is_host() && port < ports_.of(node).size();
                 ++port)
                by_guid_.try_emplace(guids[node] + port + 1, topology::CableEnd{node, port});
    }

    // The port with this GUID, or the first cabled one of the node with it.
    std::optional<topology::CableEnd> find(uint64_t guid) const {
        const auto found = by_guid_.find(guid);
        return found == by_guid_.end() ? std::nullopt : std::optional(found->second);
    }
    uint16_t first_cabled(uint32_t node) const {
        const auto links = ports_.of(node);
        for (uint16_t port = 0; port < links.size(); ++port)
            if (links[port].is_cabled() && graph_.nodes[node].is_host()) return port;
        return 0;
    }

private:
    const topology::Graph& graph_;
    topology::Ports ports_;
    std::unordered_map<uint64_t, topology::CableEnd> by_guid_;
};

}  // namespace tulle::control
