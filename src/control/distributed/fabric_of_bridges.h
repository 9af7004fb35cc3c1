// Switches that speak the rapid spanning tree protocol over cables that break, in virtual time,
// without other packets.
//
// The forwarding ports determine what a switch learns about hosts. A frame to an unknown host is
// flooded along the tree and arrives, and the answer teaches the switch. So a table entry is the
// port of the tree that leads to the host. The entry stays until its port stops forwarding or a
// topology change flushes it, whether or not the tree has moved meanwhile. The copies that flooding
// makes, and the time until an answer comes, are left out.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "control/agenda.h"
#include "control/distributed/bridge.h"
#include "control/distributed/cable_states.h"
#include "control/history.h"

namespace tulle::control {

class FabricOfBridges {
public:
    // `delays`: one for each cable; likewise `rates_bps`, which also determine path costs.
    FabricOfBridges(const topology::Graph& graph, std::vector<base::Duration> delays,
                    const std::vector<uint64_t>& rates_bps, const DistributedSettings& settings);

    base::Instant now() const { return now_; }
    void set_cable(uint32_t cable, bool is_up);
    void set_switch(uint32_t node, bool is_up);

    void run_until(base::Instant limit);
    // Runs until every port has its final state, or until `limit`; true if settled.
    bool run_until_settled(base::Instant limit);

    // By endpoint: the number of its switch among those that have hosts.
    const std::vector<uint32_t>& target_of() const { return target_of_; }
    uint32_t target_count() const { return target_count_; }
    const Bridge& bridge(uint32_t node) const { return *bridges_[node]; }
    PortLists& lists() { return lists_; }
    const std::vector<TableWrite>& writes() const { return writes_; }
    std::vector<TableWrite> take_writes();
    uint64_t messages() const { return messages_; }  // messages sent, without hellos
    const SwitchTables& tables() const { return tables_; }
    // What began to leave a port since the last call; that of the first call is not kept.
    std::vector<ManagementSent> take_sent() {
        keeps_sent_ = true;
        return std::exchange(sent_, {});
    }
    // Whether both ends of a cable between switches forward data.
    bool carries(uint32_t cable) const;
    // Cables between switches that work but are blocked.
    std::vector<uint32_t> blocked_cables() const;

private:
    enum class Kind : uint8_t { arrival, handled, timer, light };
    struct Event {
        base::Instant at;
        Kind kind = Kind::arrival;
        bool is_up = false;
        uint32_t node = 0;
        uint16_t port = 0;
        uint32_t outages = 0;  // of the cable, at the time of sending
        Bpdu bpdu{};
    };

    void make_bridge(uint32_t node);
    void change_cable(uint32_t cable);
    void handle(const Event& event);
    void drain(uint32_t node);
    void set_timer(uint32_t node);
    void note_settled(uint32_t node);
    bool agrees(uint32_t cable) const;
    // Updates tables after the tree changed or switches flushed entries; once for each instant.
    void learn();
    void learn(uint32_t target);
    void write(uint32_t node, uint32_t target, uint32_t list);

    const topology::Graph topology_;
    topology::Ports ports_;
    std::vector<base::Duration> delays_;  // by cable, with the time of a BPDU on the line
    std::vector<uint32_t> costs_;         // by cable
    DistributedSettings settings_;
    std::vector<uint32_t> target_of_;  // by endpoint
    std::vector<uint32_t> homes_;      // by target: its switch
    uint32_t target_count_ = 0;
    std::vector<std::unique_ptr<Bridge>> bridges_;  // by node; nullptr for hosts
    std::vector<base::Instant> free_at_;            // by node: when its processor is free
    std::vector<base::Instant> timer_;
    CableStates states_;
    std::vector<std::vector<bool>> forgets_;  // by node and port: flushed since the last learn()
    bool must_learn_ = false;
    std::vector<bool> node_unsettled_;
    std::vector<bool> cable_unsettled_;
    uint64_t unsettled_ = 0;  // of both
    uint64_t under_way_ = 0;  // messages, without hellos
    base::Instant now_{};
    uint64_t messages_ = 0;
    bool keeps_sent_ = false;
    std::vector<ManagementSent> sent_;
    PortLists lists_;
    SwitchTables tables_;
    std::vector<TableWrite> writes_;
    Agenda<Event> agenda_;
    std::vector<uint32_t> tree_queue_;
    std::vector<uint16_t> toward_;  // by node: the port of the tree that leads to a target
};

}  // namespace tulle::control
