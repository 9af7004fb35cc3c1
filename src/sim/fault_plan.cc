#include "sim/fault_plan.h"

#include <algorithm>

#include "sim/control_plane.h"

namespace tulle::sim {
namespace {

using topology::Cable;

struct CableChange {
    uint32_t cable = 0;
    Instant at{};
    bool works = false;
};

class FaultPlan {
public:
    FaultPlan(const Setup& setup, const topology::Ports& cables, const control::History* history,
              NodeChanges& changes)
        : setup_(setup), cables_(cables), history_(history), changes_(changes) {}

    void change_cables();
    void change_hosts();

private:
    void change_port(topology::CableEnd end, Instant at, bool is_up);
    std::vector<CableChange> cable_changes() const;
    Instant usable_from(uint32_t cable, Instant up, Instant down_again) const;

    const Setup& setup_;
    const topology::Ports& cables_;
    const control::History* history_;
    NodeChanges& changes_;
};

void FaultPlan::change_port(topology::CableEnd end, Instant at, bool is_up) {
    using NodeKind = fabric::NodeChange::Kind;
    using HostKind = cluster::HostChange::Kind;
    if (setup_.graph.nodes[end.node].is_host())
        changes_.hosts[end.node].push_back(
            {at, is_up ? HostKind::port_up : HostKind::port_down, 0, {}});
    else
        changes_.switches[end.node].push_back(
            {at, is_up ? NodeKind::port_up : NodeKind::port_down, end.port});
}

// By time. A cable works if the cable itself and both of its ends work.
std::vector<CableChange> FaultPlan::cable_changes() const {
    std::vector<bool> cable_down(setup_.graph.cables.size());
    std::vector<bool> node_down(setup_.graph.nodes.size());
    std::vector<bool> works(setup_.graph.cables.size(), true);
    std::vector<CableChange> changes;
    const auto look_at = [&](uint32_t number, Instant at) {
        const Cable& cable = setup_.graph.cables[number];
        const bool up = !cable_down[number] && !node_down[cable.a.node] && !node_down[cable.b.node];
        if (up == works[number]) return;
        works[number] = up;
        changes.push_back({number, at, up});
    };
    for (const control::Disturbance& fault : disturbances_of(setup_)) {
        using Kind = control::Disturbance::Kind;
        if (fault.kind == Kind::cable_down || fault.kind == Kind::cable_up) {
            cable_down[fault.subject] = fault.kind == Kind::cable_down;
            look_at(fault.subject, fault.at);
        } else if (fault.kind != Kind::manager_down) {
            node_down[fault.subject] = fault.kind == Kind::switch_down;
            for (const auto& link : cables_.of(fault.subject))
                if (link.is_cabled()) look_at(link.cable, fault.at);
        }
    }
    return changes;
}

void FaultPlan::change_cables() {
    const std::vector<CableChange> changes = cable_changes();
    for (auto change = changes.begin(); change != changes.end(); ++change) {
        Instant at = change->at;
        if (change->works) {
            const auto next = std::find_if(change + 1, changes.end(), [&](const auto& later) {
                return later.cable == change->cable;
            });
            at =
                usable_from(change->cable, at, next == changes.end() ? Instant::never() : next->at);
        }
        if (at == Instant::never()) continue;
        change_port(setup_.graph.cables[change->cable].a, at, change->works);
        change_port(setup_.graph.cables[change->cable].b, at, change->works);
    }
}

// When a cable that came back is usable: a subnet manager must first make its ports active.
Instant FaultPlan::usable_from(uint32_t cable, Instant up, Instant down_again) const {
    if (setup_.control.kind != ControlSettings::Kind::sweep) return up;
    for (const control::CableReady& ready : history_->ready)
        if (ready.cable == cable && ready.at >= up && ready.at < down_again) return ready.at;
    return Instant::never();
}

void FaultPlan::change_hosts() {
    using Kind = cluster::HostChange::Kind;
    for (const Fault& fault : setup_.faults) {
        if (fault.kind == Fault::Kind::pause_storm)
            changes_.hosts[fault.subject].push_back({fault.at, Kind::pause_storm, 0, {}});
        if (fault.kind == Fault::Kind::pause_storm_end)
            changes_.hosts[fault.subject].push_back({fault.at, Kind::pause_storm_end, 0, {}});
        if (fault.kind == Fault::Kind::slow_receiver)
            changes_.hosts[fault.subject].push_back({fault.at, Kind::slow_receiver, 0, fault.rate});
    }
}

}  // namespace

void add_faults(const Setup& setup, const topology::Ports& cables, const control::History* history,
                NodeChanges& changes) {
    FaultPlan plan(setup, cables, history, changes);
    plan.change_cables();
    plan.change_hosts();
}

}  // namespace tulle::sim
