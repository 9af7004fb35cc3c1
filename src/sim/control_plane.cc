#include "sim/control_plane.h"

#include <algorithm>

#include "control/adaptive_groups.h"
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

// The loss of MADs, which have one size, on a cable in the direction from one end.
uint64_t mads_lost_e12(const Setup& setup, uint32_t cable, bool is_from_a) {
    constexpr uint64_t kMadBits = uint64_t{control::kMadPacketBytes} * 8;
    uint64_t packets_e12 = setup.graph.cables[cable].loss_per_trillion;
    uint64_t bits_e18 = setup.fabric.link.error_rate_e18;
    for (const CableErrors& own : setup.cable_errors) {
        if (own.cable != cable || !(is_from_a ? own.from_a : own.from_b)) continue;
        packets_e12 = own.loss_per_trillion.value_or(packets_e12);
        bits_e18 = own.error_rate_e18.value_or(bits_e18);
    }
    constexpr uint64_t kAll = 1'000'000'000'000;
    return std::min(kAll,
                    packets_e12 + std::min(bits_e18, kAll * 1'000'000) / 1'000'000 * kMadBits);
}

// Whether work chooses service levels itself. A sender has one service level: that of its path, or
// its own choice.
bool chooses_levels(const Setup& setup) {
    const auto chooses = [](const auto& work) { return work.service_level != 0; };
    return std::ranges::any_of(setup.flows, chooses) ||
           std::ranges::any_of(setup.program.jobs, chooses);
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
    std::vector<uint64_t> rates_bps;
    std::vector<std::array<uint64_t, 2>> losses;
    for (uint32_t cable = 0; cable < setup.graph.cables.size(); ++cable)
        losses.push_back({mads_lost_e12(setup, cable, true), mads_lost_e12(setup, cable, false)});
    const bool is_swept = setup.control.kind == ControlSettings::Kind::sweep;
    for (const topology::Cable& cable : setup.graph.cables) {
        delays.push_back(cable_delay(setup, cable) + setup.fabric.link.fec_delay);
        // A node has all of a MAD before it acts on it.
        if (is_swept) delays.back() += cable_rate(setup, cable).time_for(control::kMadPacketBytes);
        rates_bps.push_back(cable_rate(setup, cable).whole_bits_per_second());
    }
    const auto disturbances = disturbances_of(setup);
    auto history = is_swept ? control::run_sweep(setup.graph, delays, setup.control.sweep,
                                                 disturbances, losses, setup.seed)
                            : control::run_distributed(setup.graph, delays, rates_bps,
                                                       setup.control.distributed, disturbances);
    if (!history) return history.error();
    if (history->lanes.are_used() && chooses_levels(setup))
        return base::Error{
            "the subnet manager gives each path a service level, so that packets do "
            "not wait for one another in a circle; leave out service_level, or write "
            "control: given"};
    if (setup.control.kind == ControlSettings::Kind::sweep && setup.control.sweep.adaptive)
        control::add_adaptive_groups(setup.graph, *history);
    return std::shared_ptr<const control::History>(
        std::make_shared<control::History>(std::move(*history)));
}

}  // namespace tulle::sim
