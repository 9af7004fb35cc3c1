// A subnet manager (IBTA vol 1, 14.4): finds the nodes of a fabric port by port, gives them LIDs,
// routes, writes tables and brings links up; sweeps again when a trap tells of a change or an SMP
// was never answered; steps back for another manager, and takes over from one that is gone.
//
//   in :  start(now), on_smp(now, smp), on_control(now, request), on_timer(now)
//   out:  poll_transmit(now), next_deadline(), info()
//
// All SMPs are directed routes from the port that the manager lives at, so a sweep works before
// any table does. Many are under way at a time, `window` of them.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "control/subnet/agent/smp_bytes.h"
#include "control/subnet/routing/engines.h"
#include "wire/mad/port_info.h"
#include "wire/mad/smp_attributes.h"

namespace tulle::control {

struct ManagerSettings {
    uint64_t port_guid = 0;  // of the port that it lives at
    uint8_t priority = 0;
    uint64_t m_key = 0;
    const RoutingEngine* engine = nullptr;  // nullptr: by the shape of the fabric
    RoutingOptions routing{};
    uint32_t window = 64;                              // chosen; OpenSM's max_wire_smps is 4
    uint8_t retries = 3;                               // OpenSM's transaction_retries
    base::Duration timeout{200'000'000'000};           // OpenSM's transaction_timeout, 200 ms
    base::Duration poll_interval{10'000'000'000'000};  // OpenSM's sminfo_polling_timeout, 10 s
    uint8_t polls_lost = 4;                            // OpenSM's polling_retry_number
    base::Duration look_interval{10'000'000'000'000};  // OpenSM's sweep_interval, 10 s
    uint8_t looks_a_sweep = 6;                         // chosen: every minute all is looked at
};

struct ManagerCounters {
    uint64_t sent = 0;  // SMPs, repeated ones included
    uint64_t repeated = 0;
    uint64_t answered = 0;
    uint64_t given_up = 0;
    uint64_t sweeps = 0;  // that were begun
    uint64_t traps = 0;
    std::map<uint16_t, uint64_t> sent_of;  // by attribute
};

// LIDs by the GUID of the port, kept over restarts.
using LidsByGuid = std::map<uint64_t, uint16_t>;

class Manager {
public:
    explicit Manager(ManagerSettings settings, LidsByGuid lids = {});

    void start(base::Instant now);
    void on_smp(base::Instant now, const SmpBytes& smp);
    void on_control(base::Instant now, uint32_t request);  // Set(SMInfo) from another manager
    void on_timer(base::Instant now);
    std::optional<SmpBytes> poll_transmit(base::Instant now);
    bool has_something_to_send() const {
        return !resend_.empty() || !repress_.empty() ||
               (!queue_.empty() && pending_.size() < settings_.window);
    }
    base::Instant next_deadline() const;

    wire::SmState state() const { return state_; }
    // What Get(SMInfo) tells; the owner gives it to the agent of its node whenever it changes.
    wire::SmInfo info() const;
    // The last sweep is done and all that was to be written is.
    bool is_settled() const { return state_ == wire::kSmMaster && phase_ == Phase::idle; }
    // Nothing is asked for, and nothing is known that calls for a sweep.
    bool is_at_rest() const {
        return phase_ == Phase::idle && !is_dirty_ && pending_.empty() && !has_something_to_send();
    }
    // How often it routed, and how many entries the tables of the last time have.
    uint64_t routings() const { return routings_; }
    uint64_t entries() const {
        return uint64_t{routing_.tables.switch_count()} * routing_.tables.lid_end();
    }
    const ManagerCounters& counters() const { return counters_; }
    const LidsByGuid& lids() const { return lids_; }
    const std::string& engine_name() const { return engine_name_; }
    size_t node_count() const { return nodes_.size(); }

private:
    enum class Phase : uint8_t {
        idle,  // a standby polls the master, a master looks at switches now and then
        discover,
        ask_managers,
        hand_over,
        configure,
        write_tables,
        arm,
        activate
    };

    struct Port {
        bool is_known = false;
        wire::PortInfo info;
        uint32_t peer = kNone;  // a node
        uint8_t peer_port = 0;
    };
    struct Found {
        uint64_t guid = 0;
        uint64_t port_guid = 0;  // of the port that answered; of a switch: its own
        bool is_switch = false;
        uint8_t port_count = 0;
        uint8_t entry_port = 0;     // by which the path comes in; 0: the manager's own node
        std::vector<uint8_t> path;  // ports to leave by
        std::string description;
        wire::SwitchInfo switch_info;
        std::vector<Port> ports;  // by number
    };
    // An SMP to be sent. To a node, or with a port: to whatever is behind that port.
    struct Request {
        uint32_t node = kNone;  // kNone: the first probe, of the own node
        uint8_t behind = 0;
        uint16_t attribute = 0;
        uint32_t modifier = 0;
        bool is_set = false;
        uint8_t wanted_state = 0;  // of a port
    };
    struct Pending {
        Request request;
        base::Instant deadline;
        uint8_t tries = 0;
    };

    void begin_sweep(base::Instant now);
    void end_sweep(base::Instant now);
    void look_around();
    void repress(const SmpBytes& trap);
    void ask_ports(uint32_t node);
    void take_switch(base::Instant now, const Request& request, const SmpBytes& smp);
    void take_set(base::Instant now, const Request& request, const SmpBytes& smp);
    void ask(const Request& request) { queue_.push_back(request); }
    SmpBytes bytes_of(const Request& request, uint32_t transaction) const;
    void fill_data(const Request& request, SmpBytes& smp) const;
    wire::PortInfo wanted_port(const Request& request) const;
    void give_up(const Request& request);
    void next_phase(base::Instant now);

    void take(base::Instant now, const Request& request, const SmpBytes& smp);
    void take_node(const Request& request, const SmpBytes& smp);
    void add_node(const Request& request, const wire::NodeInfo& info);
    void join(uint32_t node, uint8_t port, uint32_t peer, uint8_t peer_port);
    void take_port(const Request& request, const SmpBytes& smp);
    void take_manager(const Request& request, const SmpBytes& smp);

    void ask_managers();
    void decide(base::Instant now);
    bool outranks(const wire::SmInfo& other) const;
    void configure();
    void forget_new_switches();
    void assign_lids();
    void route();
    void route_anew();
    uint16_t highest_lid() const;
    void add_cables(uint32_t node, const std::vector<uint32_t>& place,
                    topology::Graph& graph) const;
    void write_tables();
    void write_lanes();
    void set_states(wire::PortState state);
    template <class Visit>
    void for_each_link_port(Visit&& visit);
    uint16_t lid_of(const Found& found) const;

    ManagerSettings settings_;
    LidsByGuid lids_;
    wire::SmState state_ = wire::kSmNotActive;
    Phase phase_ = Phase::idle;
    bool is_dirty_ = false;  // something changed or was lost during the sweep
    ManagerCounters counters_;
    std::string engine_name_;

    std::vector<Found> nodes_;
    std::unordered_map<uint64_t, uint32_t> by_guid_;
    std::map<uint32_t, wire::SmInfo> managers_;  // others, by node
    std::deque<Request> queue_;
    std::unordered_map<uint32_t, Pending> pending_;                     // by transaction
    std::map<std::pair<base::Instant, uint32_t>, uint32_t> deadlines_;  // and transaction
    std::deque<uint32_t> repress_;                                      // nodes whose traps arrived
    std::deque<uint32_t> resend_;  // transactions that were not answered in time
    uint32_t transaction_ = 0;

    std::optional<Subnet> subnet_;
    Routing routing_;
    const RoutingEngine* engine_ = nullptr;  // that routed last
    std::vector<uint64_t> routed_switches_;  // GUIDs, by switch of the subnet
    uint64_t routings_ = 0;
    std::vector<uint32_t> switch_nodes_;                          // by switch of the subnet: a node
    std::unordered_map<uint32_t, uint32_t> switch_of_;            // by node
    std::unordered_map<uint64_t, std::vector<uint8_t>> written_;  // by GUID: the linear table
    std::unordered_map<uint64_t, uint64_t> written_maps_;         // by GUID: hash of SL to VL

    base::Instant poll_at_ = base::Instant::never();
    uint8_t polls_lost_ = 0;
    uint8_t looks_ = 0;  // since the last sweep
    uint32_t activity_ = 0;
    std::vector<uint8_t> master_path_;  // of the master that a standby polls
};

}  // namespace tulle::control
