// A subnet manager (IBTA vol 1, 14.4). It finds the nodes of a fabric port by port, assigns LIDs,
// routes, writes tables and brings links up. It sweeps again when a trap reports a change, and some
// times when a node that it found stops answering or refuses a request. If that happens amid a
// sweep, it begins anew. A node that never answers is left out, and asked again at each look. The
// manager yields to another one, and takes over from one that has failed.
//
//   in :  start(now), on_mad(now, mad), on_control(now, control), on_timer(now), set_groups()
//   out:  poll_transmit(now), next_deadline(), info()
//
// All SMPs use directed routes from the manager's port, so a sweep works before any table does. Up
// to `window` of them are pending at a time. Settings of congestion control are routed by LID, once
// links are active.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/subnet/agent/agent.h"
#include "control/subnet/agent/mad_bytes.h"
#include "control/subnet/manager/found.h"
#include "control/subnet/manager/plan.h"
#include "control/subnet/manager/settings.h"
#include "control/subnet/manager/smp_window.h"
#include "control/subnet/manager/table_writer.h"

namespace tulle::control {

struct ManagerCounters {
    uint64_t sent = 0;  // MADs, with retransmissions
    uint64_t repeated = 0;
    uint64_t answered = 0;
    uint64_t given_up = 0;
    uint64_t sweeps = 0;  // sweeps that were started
    uint64_t traps = 0;
    uint64_t bad_key_traps = 0;            // those that report a wrong M_Key
    uint64_t bad_sm_key = 0;               // requests of managers without the SM_Key; ignored
    std::map<uint32_t, uint64_t> sent_of;  // by class and attribute
};
// The key of `sent_of`: for SMPs, or for settings of congestion control.
inline uint32_t counter_key(uint16_t attribute, bool is_congestion) {
    const uint32_t of_class = is_congestion ? wire::kClassCongestionControl : 0;
    return of_class << 16 | attribute;
}

// A MAD to send, to a LID or by a directed route.
struct ManagerMad {
    uint16_t to = 0;  // 0: directed
    MadBytes mad;
};

// Why a manager sweeps again.
struct SweepReasons {
    bool is_dirty = false;       // something changed during the sweep
    bool is_incomplete = false;  // a node that was found did not answer, or refused
    uint8_t failures = 0;        // sweeps that were incomplete, since one was not

    bool call(uint8_t most_failures) const {
        return is_dirty || (is_incomplete && failures < most_failures);
    }
    void begin_sweep(uint8_t most_failures) {
        if (is_incomplete && failures < most_failures) ++failures;
        is_dirty = is_incomplete = false;
    }
    void end_sweep() {
        if (!is_incomplete) failures = 0;
    }
};

class Manager {
public:
    explicit Manager(ManagerSettings settings, LidsByGuid lids = {});
    Manager(const Manager&) = delete;

    void start(base::Instant now);
    void on_mad(base::Instant now, const MadBytes& mad);
    void on_control(base::Instant now, const ManagerControl& control);
    void on_timer(base::Instant now);
    // Replaces the multicast groups.
    void set_groups(base::Instant now, std::vector<MulticastGroup> groups);
    std::optional<ManagerMad> poll_transmit(base::Instant now);
    bool has_something_to_send() const { return can_repress() || window_.can_send(); }
    base::Instant next_deadline() const;

    wire::SmState state() const { return state_; }
    // The answer to Get(SMInfo). The owner gives each change to the agent of the manager's node.
    wire::SmInfo info() const;
    // The last sweep is complete, and all tables are written.
    bool is_settled() const { return state_ == wire::kSmMaster && phase_ == Phase::idle; }
    // No request is pending, and nothing calls for another sweep.
    bool is_at_rest() const {
        return phase_ == Phase::idle && !reasons_.call(settings_.restarts) && window_.is_empty() &&
               !has_something_to_send();
    }
    const ManagerSettings& settings() const { return settings_; }
    const ManagerCounters& counters() const { return counters_; }
    const LidsByGuid& lids() const { return lids_; }
    const SubnetPlan& plan() const { return plan_; }
    // The fabric as found by the last complete sweep; empty: none was completed.
    const FoundFabric& fabric() const { return complete_; }

private:
    enum class Phase : uint8_t {
        idle,  // a standby polls the master, a master polls switches
        discover,
        ask_managers,
        hand_over,
        configure,
        write_tables,
        write_lanes,
        arm,
        activate,
        control_congestion,
        call_clients,  // a new master asks hosts to repeat what they registered
        write_groups
    };

    void begin_sweep(base::Instant now);
    void end_sweep(base::Instant now);
    void next_phase(base::Instant now);
    void enter(Phase phase, base::Instant now);
    MadBytes directed(const SmpRequest& request, uint64_t transaction) const;
    void fill_data(const SmpRequest& request, MadBytes& smp) const;

    void take(base::Instant now, const SmpRequest& request, const MadBytes& mad);
    void take_set(base::Instant now, const SmpRequest& request, const MadBytes& mad);
    void take_node(const SmpRequest& request, const MadBytes& smp);
    void take_switch(const SmpRequest& request, const MadBytes& smp);
    void take_port(const SmpRequest& request, const MadBytes& smp);
    void take_manager(const SmpRequest& request, const MadBytes& smp);
    void take_trap(const MadBytes& smp);
    // While nodes are discovered, the path to the sender of a trap may not be known yet.
    bool can_repress() const { return !repress_.empty() && phase_ != Phase::discover; }

    void ask_ports(uint32_t node);
    void ask_managers();
    void decide(base::Instant now);
    void configure();
    void become_master();
    void call_clients();
    void set_states(wire::PortState state);

    const ManagerSettings settings_;
    LidsByGuid lids_;
    wire::SmState state_ = wire::kSmNotActive;
    Phase phase_ = Phase::idle;
    SweepReasons reasons_;
    ManagerCounters counters_;

    FoundFabric fabric_;                         // of the current sweep, or the last one
    FoundFabric complete_;                       // of the last completed sweep
    std::map<uint32_t, wire::SmInfo> managers_;  // others, by node
    SmpWindow window_;
    struct Repress {
        uint16_t lid = 0;  // of the node that sent the trap
        MadBytes trap;
    };
    std::deque<Repress> repress_;

    SubnetPlan plan_;
    TableWriter tables_;
    bool is_new_master_ = false;

    base::Instant poll_at_ = base::Instant::never();
    uint8_t polls_lost_ = 0;
    uint8_t looks_ = 0;     // since the last sweep
    uint8_t restarts_ = 0;  // since a sweep was completed
    uint32_t activity_ = 0;
    std::vector<uint8_t> master_path_;  // the path to the master, for a standby
};

}  // namespace tulle::control
