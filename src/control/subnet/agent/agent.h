// The subnet management agent of one node (IBTA vol 1, 14.2). It answers SMPs, forwards those with
// a directed route, guards its settings by the M_Key, and reports links that come up or go down.
//
//   in :  on_smp(now, port, smp), set_link(now, port, is_up)
//   out:  poll_transmit(), next_deadline(); on_timer(now)
//
// It queues only its answers: a malformed SMP is dropped and counted. The forwarding tables live
// here; a switch reads them, and only this agent writes them. PerformanceAgent and CongestionAgent
// answer for the other management classes.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "control/subnet/agent/mad_bytes.h"
#include "control/subnet/agent/node_tables.h"
#include "control/subnet/agent/traps.h"
#include "control/subnet/subnet.h"
#include "wire/mad/port_info.h"
#include "wire/mad/smp_attributes.h"

namespace tulle::control {

// Fixed properties of a node.
struct AgentNode {
    bool is_switch = false;
    uint8_t port_count = 1;
    uint64_t guid = 0;
    std::string description;
};

// A packet to send through a port. Port 0: to the node itself, for a manager that runs there.
struct SmpOut {
    uint8_t port = 0;
    uint16_t to = 0;  // LIDs, if it is routed by LID
    uint16_t from = 0;
    MadBytes smp;
};

struct AgentCounters {
    uint64_t answered = 0;
    uint64_t passed_on = 0;
    uint64_t bad_m_key = 0;    // not answered
    uint64_t bad_path = 0;     // no such port or link, or a wrong hop pointer
    uint64_t wrong_lane = 0;   // came on a data lane; not answered
    uint64_t unsupported = 0;  // answered with an error status
    uint64_t traps = 0;
};

// What a Set(SMInfo) asks of the manager at a node.
struct ManagerControl {
    uint32_t request = 0;  // a wire::SmControl
    uint64_t sm_key = 0;
};

class Agent {
public:
    explicit Agent(AgentNode node);

    // `from` is the LID of the sender, for an SMP that is routed by LID.
    void on_smp(base::Instant now, uint8_t port, const MadBytes& smp, uint16_t from = 0,
                uint8_t lane = kManagementLane);
    // Sends an SMP of a manager at this node.
    void send(base::Instant now, const MadBytes& smp) { on_smp(now, 0, smp); }
    // A rate of 0 means 4xNDR.
    void set_link(base::Instant now, uint8_t port, bool is_up, uint64_t rate_bps = 0);
    void on_timer(base::Instant now);

    std::optional<SmpOut> poll_transmit();
    base::Instant next_deadline() const;

    // The SMInfo of the manager at this node; nothing: there is no manager.
    void set_manager(base::Instant now, const std::optional<wire::SmInfo>& info);
    std::optional<ManagerControl> poll_manager_control();
    // True once after a manager set ClientReregister: clients repeat what they have registered.
    bool poll_reregister() { return std::exchange(reregisters_, false); }

    const AgentNode& node() const { return node_; }
    const AgentCounters& counters() const { return counters_; }
    bool is_switch() const { return node_.is_switch; }
    const wire::PortInfo& port(uint8_t number) const { return ports_[number]; }
    uint16_t lid() const { return ports_[node_.is_switch ? 0 : 1].lid.value; }
    // Whether a LID belongs to a port of an adapter, or to the switch itself.
    bool has_lid(uint8_t number, uint16_t lid) const;
    const NodeTables& tables() const { return tables_; }
    // The port by which the switch forwards to a LID; kNoPort: no route.
    uint8_t route(uint16_t lid) const { return lid < linear_.size() ? linear_[lid] : kNoPort; }
    bool has_trap() const { return !traps_.are_repressed(); }
    uint64_t table_writes() const { return table_writes_; }  // blocks of the linear table

private:
    void pass_out(const MadBytes& smp, uint8_t port);
    void take_directed(base::Instant now, uint8_t port, MadBytes smp);
    void return_directed(MadBytes smp);
    void answer(base::Instant now, uint8_t port, uint16_t from, MadBytes smp);
    bool accepts_key(base::Instant now, uint8_t port, const MadBytes& smp);

    uint16_t serve(uint8_t port, bool is_set, MadBytes& smp);
    uint16_t serve_node(uint8_t port, bool is_set, MadBytes& smp) const;
    uint16_t serve_switch_info(bool is_set, MadBytes& smp);
    uint16_t serve_port_info(uint8_t port, bool is_set, MadBytes& smp);
    uint16_t serve_linear(bool is_set, MadBytes& smp);
    uint16_t serve_manager(bool is_set, MadBytes& smp);
    uint16_t serve_notice(bool is_set, MadBytes& smp);
    bool set_port(uint8_t port, const wire::PortInfo& wanted);
    // The port that an SMP addresses. 0 means the port that it came by, except on a switch.
    std::optional<uint8_t> port_meant(uint8_t came_by, uint32_t number) const;
    uint8_t guarding_port(uint8_t port) const { return node_.is_switch ? 0 : port; }
    void report_bad_key(base::Instant now, uint8_t port, const MadBytes& smp);
    void raise(base::Instant now, uint16_t trap, uint8_t type, wire::Bytes details);
    void send_trap(const Traps::Trap& trap);

    AgentNode node_;
    AgentCounters counters_;
    wire::SwitchInfo switch_info_;
    std::vector<wire::PortInfo> ports_;  // by port, 0 included
    std::vector<uint8_t> linear_;        // by LID
    uint64_t table_writes_ = 0;
    NodeTables tables_;
    std::optional<wire::SmInfo> manager_;
    std::optional<ManagerControl> manager_control_;
    bool reregisters_ = false;
    std::vector<base::Instant> lease_ends_;  // by port
    Traps traps_;
    std::deque<SmpOut> out_;
};

}  // namespace tulle::control
