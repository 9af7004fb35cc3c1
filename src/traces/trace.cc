#include "traces/trace.h"

#include <fmt/format.h>

namespace tulle::traces {

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
