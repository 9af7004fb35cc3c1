// The subnet management agent of one node (IBTA vol 1, 14.2): answers SMPs, passes directed ones
// on, guards its settings by the M_Key, and reports links that come and go.
//
//   in :  on_smp(now, port, smp), set_link(now, port, is_up)
//   out:  poll_transmit(), next_deadline(); on_timer(now)
//
// It has no queue but its answers: an SMP that is wrong is dropped and counted. Forwarding tables
// live here; a switch reads them, and nobody else writes them.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "control/subnet/agent/smp_bytes.h"
#include "control/subnet/subnet.h"
#include "wire/mad/port_info.h"
#include "wire/mad/smp_attributes.h"

namespace tulle::control {

// What a node is from the factory.
struct AgentNode {
    bool is_switch = false;
    uint8_t port_count = 1;
    uint64_t guid = 0;
    std::string description;
};

// A packet out of a port; port 0: to the node itself, for a manager that lives there.
struct SmpOut {
    uint8_t port = 0;
    uint16_t to = 0;  // the LID of one that is routed by LID
    SmpBytes smp;
};

struct AgentCounters {
    uint64_t answered = 0;
    uint64_t passed_on = 0;
    uint64_t bad_m_key = 0;    // got no answer
    uint64_t bad_path = 0;     // no such port, or a place on the path that cannot be
    uint64_t unsupported = 0;  // answered with a status
    uint64_t traps = 0;
};

class Agent {
public:
    explicit Agent(AgentNode node);

    // `from` is the LID of the sender, of an SMP that is routed by LID.
    void on_smp(base::Instant now, uint8_t port, const SmpBytes& smp, uint16_t from = 0);
    // From the node itself: what a manager here sends.
    void send(base::Instant now, const SmpBytes& smp) { on_smp(now, 0, smp); }
    void set_link(base::Instant now, uint8_t port, bool is_up);
    void on_timer(base::Instant now);

    std::optional<SmpOut> poll_transmit();
    base::Instant next_deadline() const;

    // What a manager that lives here says of itself; nothing: there is none.
    void set_manager(const std::optional<wire::SmInfo>& info);
    // What other managers asked of it: the modifier of Set(SMInfo).
    std::optional<uint32_t> poll_manager_control();

    const AgentNode& node() const { return node_; }
    const AgentCounters& counters() const { return counters_; }
    bool is_switch() const { return node_.is_switch; }
    const wire::PortInfo& port(uint8_t number) const { return ports_[number]; }
    uint16_t lid() const { return ports_[node_.is_switch ? 0 : 1].lid.value; }
    // As the switch forwards: kNoPort where there is no route.
    uint8_t route(uint16_t lid) const { return lid < linear_.size() ? linear_[lid] : kNoPort; }
    bool has_trap() const { return trap_at_ != base::Instant::never(); }  // not yet repressed
    uint64_t table_writes() const { return table_writes_; }  // blocks of the linear table
    uint8_t lane(uint8_t in_port, uint8_t out_port, uint8_t service_level) const;

private:
    void pass_out(const SmpBytes& smp, uint8_t port);
    void take_directed(base::Instant now, uint8_t port, SmpBytes smp);
    void return_directed(SmpBytes smp);
    void answer(base::Instant now, uint8_t port, uint16_t from, SmpBytes smp);
    bool accepts_key(base::Instant now, uint8_t port, const SmpBytes& smp);

    uint16_t serve(uint8_t port, bool is_set, SmpBytes& smp);
    uint16_t serve_node_info(uint8_t port, SmpBytes& smp) const;
    uint16_t serve_description(SmpBytes& smp) const;
    uint16_t serve_switch_info(bool is_set, SmpBytes& smp);
    uint16_t serve_port_info(uint8_t port, bool is_set, SmpBytes& smp);
    uint16_t serve_guid_info(uint8_t port, SmpBytes& smp) const;
    uint16_t serve_linear(bool is_set, SmpBytes& smp);
    uint16_t serve_manager(bool is_set, SmpBytes& smp);
    // Tables that are kept as they were written: P_Keys, SL to VL, arbitration, multicast.
    uint16_t serve_kept(bool is_set, SmpBytes& smp, uint64_t limit);
    std::optional<uint8_t> set_port(uint8_t port, const wire::PortInfo& wanted);
    // The port that an SMP means: 0 is the one that it came by, but for a switch.
    std::optional<uint8_t> port_meant(uint8_t came_by, uint32_t number) const;
    uint8_t guarding_port(uint8_t port) const { return node_.is_switch ? 0 : port; }
    void send_trap();

    AgentNode node_;
    AgentCounters counters_;
    wire::SwitchInfo switch_info_;
    std::vector<wire::PortInfo> ports_;  // by port, 0 included
    std::vector<uint8_t> linear_;        // by LID
    uint64_t table_writes_ = 0;
    std::map<uint64_t, std::array<std::byte, wire::kSmpDataSize>> kept_;  // by attribute, modifier
    std::optional<wire::SmInfo> manager_;
    std::optional<uint32_t> manager_control_;
    base::Instant lease_ends_ = base::Instant::never();
    base::Instant trap_at_ = base::Instant::never();
    uint32_t trap_number_ = 0;
    std::deque<SmpOut> out_;
};

}  // namespace tulle::control
