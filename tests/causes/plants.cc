#include "plants.h"

#include "report/names.h"
#include "report/time_shares.h"

namespace tulle::causes {

std::vector<Plant> all_plants() {
    std::vector<Plant> all;
    for (const auto* some : {&kCablePlants, &kSharingPlants, &kSettingPlants, &kEndPlants})
        all.insert(all.end(), some->begin(), some->end());
    return all;
}

std::string cable_name(const sim::Setup& setup, uint32_t cable) {
    return report::Names(setup).cable(cable);
}

std::string link_name(const sim::Setup& setup, Place place) {
    const topology::CableEnd end = report::end_at(setup, place);
    return report::Names(setup).link(end.node, end.port);
}

std::string host_name(const sim::Setup& setup, uint32_t host) {
    return setup.graph.nodes[node_of(setup.graph, host)].name;
}

Place place_to_host(const sim::Setup& setup, uint32_t host) {
    const uint32_t cable = host_cable(setup.graph, host);
    const bool host_is_a = setup.graph.cables[cable].a.node == node_of(setup.graph, host);
    return fabric::place_of(cable, !host_is_a);
}

}  // namespace tulle::causes
