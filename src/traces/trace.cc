#include "traces/trace.h"

#include <fmt/format.h>

namespace tulle::traces {

Followers::Followers(const RankGraph& graph) : first_(graph.size() + 1) {
    for (uint32_t node = 0; node < graph.size(); ++node)
        for (const uint32_t need : graph.needs(node)) ++first_[need + 1];
    for (uint32_t node = 0; node < graph.size(); ++node) first_[node + 1] += first_[node];
    followers_.resize(first_.back());
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for (uint32_t node = 0; node < graph.size(); ++node)
        for (const uint32_t need : graph.needs(node)) followers_[next[need]++] = node;
}

uint32_t Trace::group(const std::string& name, const std::vector<uint32_t>& members) {
    for (uint32_t i = 0; i < groups.size(); ++i)
        if (groups[i].name == name && groups[i].ranks == members) return i;
    groups.push_back({name, members});
    return static_cast<uint32_t>(groups.size() - 1);
}

base::Error at_node(const Trace& trace, uint32_t rank, const Node& node,
                    std::string_view sentence) {
    return {fmt::format("{}: node {} of rank {}: {}", trace.files[rank], node.id, rank, sentence)};
}

}  // namespace tulle::traces
