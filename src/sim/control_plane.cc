#include "sim/control_plane.h"

#include <algorithm>

#include "control/distributed/distributed.h"
#include "control/subnet/sweep.h"
#include "sim/cables.h"

namespace tulle::sim {
namespace {

using control::Disturbance;

std::optional<Disturbance::Kind> kind_of(Fault::Kind kind) {
    switch (kind) {
        case Fault::Kind::cable_down: return Disturbance::Kind::cable_down;
        case Fault::Kind::cable_up: return Disturbance::Kind::cable_up;
        case Fault::Kind::switch_down: return Disturbance::Kind::switch_down;
        case Fault::Kind::switch_up: return Disturbance::Kind::switch_up;
        case Fault::Kind::manager_down: return Disturbance::Kind::manager_down;
        case Fault::Kind::pause_storm:
        case Fault::Kind::pause_storm_end:
        case Fault::Kind::slow_receiver: break;
    }
    return std::nullopt;
}

}  // namespace

std::vector<Disturbance> disturbances_of(const Setup& setup) {
    std::vector<Disturbance> all;
    for (const Fault& fault : setup.faults)
        if (const auto kind = kind_of(fault.kind)) all.push_back({*kind, fault.at, fault.subject});
    std::ranges::stable_sort(all, {}, &Disturbance::at);
    return all;
}

base::Result<std::shared_ptr<const control::History>> run_control(const Setup& setup) {
    std::shared_ptr<const control::History> none;
    if (setup.control.kind == ControlSettings::Kind::given) return none;
    std::vector<Duration> delays;
    for (const topology::Cable& cable : setup.graph.cables)
        delays.push_back(cable_delay(setup, cable) + setup.fabric.link.fec_delay);
    const auto disturbances = disturbances_of(setup);
    auto history = setup.control.kind == ControlSettings::Kind::sweep
                       ? control::run_sweep(setup.graph, delays, setup.control.sweep, disturbances)
                       : control::run_distributed(setup.graph, delays, setup.control.distributed,
                                                  disturbances);
    if (!history) return history.error();
    return std::shared_ptr<const control::History>(
        std::make_shared<control::History>(std::move(*history)));
}

}  // namespace tulle::sim
