#include "report/usual_cable.h"

#include <algorithm>
#include <vector>

#include "sim/cables.h"

namespace tulle::report {

bool is_at_host(const topology::Graph& graph, const topology::Cable& cable) {
    return graph.nodes[cable.a.node].is_host() || graph.nodes[cable.b.node].is_host();
}

std::array<std::optional<UsualCable>, 2> usual_cables(const sim::Setup& setup) {
    std::array<std::optional<UsualCable>, 2> usual;
    for (const bool at_host : {false, true}) {
        std::vector<base::Duration> delays;
        std::vector<base::Rate> rates;
        for (const topology::Cable& cable : setup.graph.cables) {
            if (is_at_host(setup.graph, cable) != at_host) continue;
            delays.push_back(sim::cable_delay(setup, cable));
            rates.push_back(sim::cable_rate(setup, cable));
        }
        if (delays.empty()) continue;
        std::sort(delays.begin(), delays.end());
        std::sort(rates.begin(), rates.end());
        usual[at_host] = {delays[(delays.size() - 1) / 2], rates[rates.size() / 2]};
    }
    return usual;
}

}  // namespace tulle::report
