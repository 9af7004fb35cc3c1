// The rapid spanning tree protocol on one switch (IEEE 802.1D-2004, clause 17). It blocks those
// cables between switches that would close a loop. The switch with the lowest identifier is the
// root. Each other one sends to the root through its root port, the one with the cheapest path.
//
//   in :  on_link(now, port, is_up), on_message(now, port, bpdu), on_timer(now)
//   out:  poll_transmit(), take_changes(), next_deadline()
//
// A designated port that may not forward yet sends a proposal. Its neighbour blocks all its other
// ports that have no agreement, then agrees, and the port forwards at once: the blocked ring moves
// away from the root switch by switch. Only if nobody answers, the port waits for two forward
// delays. Every cable is between two switches that speak RSTP. Ports of hosts are edge ports: they
// always forward, and Bridge ignores them.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"
#include "control/settings.h"

namespace tulle::control {

// Priority comes before address: the lowest identifier of a fabric is the root (17.18.2).
using BridgeId = uint64_t;
constexpr BridgeId bridge_id(uint16_t priority, uint64_t address) {
    return BridgeId{priority} << 48 | address;
}

// The quality of a path to the root (17.5); lower is better.
struct PathPriority {
    BridgeId root = 0;
    uint32_t cost = 0;
    BridgeId designated_bridge = 0;
    uint16_t designated_port = 0;
    auto operator<=>(const PathPriority&) const = default;
};

enum class PortRole : uint8_t { disabled, root, designated, alternate, backup };
enum class PortPhase : uint8_t { discarding, learning, forwarding };

struct Bpdu {
    PathPriority priority;
    PortRole role = PortRole::designated;  // of the port that sends it
    bool proposal = false;
    bool agreement = false;
    bool topology_change = false;
    bool is_hello = false;  // it repeats the last one
    base::Duration age{};   // time since the root sent it
};

struct BpduOut {
    uint16_t port = 0;
    Bpdu bpdu;
};

// What changed at ports: whether they carry data, and which ports lose their learned addresses.
struct BridgeChanges {
    bool phases = false;
    std::vector<uint16_t> flushed;

    bool any() const { return phases || !flushed.empty(); }
};

class Bridge {
public:
    // `costs`: one for each port (17.14).
    Bridge(const BridgeSettings& settings, BridgeId id, std::vector<uint32_t> costs);

    void on_link(base::Instant now, uint16_t port, bool is_up);
    void on_message(base::Instant now, uint16_t port, const Bpdu& bpdu);
    void on_timer(base::Instant now);

    std::optional<BpduOut> poll_transmit();
    BridgeChanges take_changes();
    base::Instant next_deadline() const;

    BridgeId root() const { return root_.root; }
    PortRole role(uint16_t port) const { return ports_[port].role; }
    bool forwards(uint16_t port) const { return ports_[port].phase == PortPhase::forwarding; }
    // Whether the information from the port's neighbour is still valid.
    bool has_heard(uint16_t port) const { return ports_[port].info == Info::received; }
    // Whether every port has its final state if no more messages arrive, and nothing is left to
    // send.
    bool is_settled() const;

private:
    // The source of the port's priority (17.19.10).
    enum class Info : uint8_t { disabled, aged, mine, received };

    struct Port {
        bool has_link = false;
        Info info = Info::disabled;
        PathPriority priority;  // of the cable's designated port, as far as known
        base::Duration age{};   // of the received information
        PortRole role = PortRole::disabled;
        PortPhase phase = PortPhase::discarding;
        bool proposing = false;
        bool proposed = false;
        bool agree = false;   // we sent an agreement
        bool agreed = false;  // the neighbour sent one
        bool synced = false;  // blocked, or in agreement
        bool must_sync = false;
        bool has_news = false;
        uint8_t sent = 0;  // BPDUs in about the last second
        base::Instant info_until = base::Instant::never();
        base::Instant next_phase_at = base::Instant::never();
        base::Instant recent_root_until{};
        // BPDUs report a topology change until this time; never: they report none.
        base::Instant changing_until = base::Instant::never();
        base::Instant hello_at = base::Instant::never();
        base::Instant tick_at = base::Instant::never();  // when `sent` is decremented
    };

    void update_roles(base::Instant now);
    void set_role(base::Instant now, uint16_t port, PortRole role);
    PathPriority heard_path(uint16_t port) const;
    void hear_designated(base::Instant now, uint16_t port, const Bpdu& bpdu);
    void hear_agreement(uint16_t port, const Bpdu& bpdu);
    void hear_change(base::Instant now, uint16_t port);
    // Steps the ports until nothing changes any more.
    void settle(base::Instant now);
    bool step(base::Instant now, uint16_t port);
    bool step_root(base::Instant now, uint16_t port);
    bool step_designated(base::Instant now, uint16_t port);
    bool step_alternate(uint16_t port);
    bool may_forward(base::Instant now, uint16_t port) const;
    void sync_others(uint16_t port);
    bool others_are_synced(uint16_t port) const;
    bool has_recent_root(base::Instant now, uint16_t but) const;
    void advance_phase(base::Instant now, uint16_t port, bool at_once);
    void block(base::Instant now, uint16_t port);
    void tell_change(base::Instant now, uint16_t but);
    void flush(uint16_t port) { changes_.flushed.push_back(port); }
    void send_news(base::Instant now);
    void transmit(base::Instant now, uint16_t port, bool is_hello);

    BridgeSettings settings_;
    BridgeId id_;
    std::vector<uint32_t> costs_;
    std::vector<Port> ports_;
    PathPriority root_;  // this bridge's own path to the root, as it sends it
    base::Duration root_age_{};
    BridgeChanges changes_;
    std::deque<BpduOut> out_;
};

}  // namespace tulle::control
