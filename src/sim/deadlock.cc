#include "sim/deadlock.h"

#include <algorithm>

namespace tulle::sim {

std::vector<DeadlockHop> find_circle(const WaitGraph& graph) {
    enum class Mark : uint8_t { unseen, on_path, done };
    std::vector<Mark> marks(graph.lanes.size(), Mark::unseen);
    struct Step {
        uint32_t lane;
        size_t next = 0;
    };
    for (uint32_t start = 0; start < graph.lanes.size(); ++start) {
        if (marks[start] != Mark::unseen) continue;
        std::vector<Step> path{{start}};
        marks[start] = Mark::on_path;
        while (!path.empty()) {
            Step& step = path.back();
            const auto& waits_for = graph.lanes[step.lane].waits_for;
            if (step.next == waits_for.size()) {
                marks[step.lane] = Mark::done;
                path.pop_back();
                continue;
            }
            const uint32_t next = waits_for[step.next++];
            if (marks[next] == Mark::on_path) {
                std::vector<DeadlockHop> circle;
                auto at = std::ranges::find(path, next, &Step::lane);
                for (; at != path.end(); ++at) circle.push_back(graph.lanes[at->lane].hop);
                return circle;
            }
            if (marks[next] == Mark::unseen) {
                marks[next] = Mark::on_path;
                path.push_back({next});
            }
        }
    }
    return {};
}

}  // namespace tulle::sim
