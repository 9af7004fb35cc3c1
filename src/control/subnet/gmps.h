// MADs on QP 1: every node has agents for performance and congestion control, a manager's node has
// subnet administration, and hosts query it.
//
//   in :  take(now, node, from, mad), on_timer(now, node)
//   out:  poll_transmit(now, node), next_deadline(node)
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "control/subnet/agent/congestion.h"
#include "control/subnet/agent/performance.h"
#include "control/subnet/sa/administration.h"
#include "control/subnet/sa/client.h"

namespace tulle::control {

class Gmps {
public:
    void add_node(bool is_switch, uint8_t port_count) {
        performance_.emplace_back(is_switch, port_count);
        congestion_.emplace_back(is_switch, port_count);
    }
    PerformanceAgent& performance(uint32_t node) { return performance_[node]; }
    CongestionAgent& congestion(uint32_t node) { return congestion_[node]; }
    SaClient& client(uint32_t node) { return clients_[node]; }
    // Repeats what the client at a node has registered, at the manager with this LID.
    void register_again(uint32_t node, uint16_t to) {
        if (SaClient* const client = client_at(node)) client->register_again(to);
    }
    // The administration that answers at a node; nullptr: none.
    void set_administration(uint32_t node, Administration* administration) {
        administrations_[node] = administration;
    }

    // What the owner must do about a MAD, besides sending answers.
    enum class Matter : uint8_t { none, for_manager, groups };
    Matter take(base::Instant now, uint32_t node, uint16_t from, MadBytes mad);
    void on_timer(base::Instant now, uint32_t node);
    std::optional<GmpOut> poll_transmit(base::Instant now, uint32_t node);
    base::Instant next_deadline(uint32_t node);

    // Waits for the answer to a transaction; answer() returns it once it has arrived.
    void expect(uint64_t transaction) {
        expected_ = transaction;
        answer_.reset();
    }
    const std::optional<MadBytes>& answer() const { return answer_; }

private:
    Matter take_administration(base::Instant now, uint32_t node, uint16_t from,
                               const MadBytes& mad);
    Administration* administration(uint32_t node) const {
        const auto found = administrations_.find(node);
        return found == administrations_.end() ? nullptr : found->second;
    }
    SaClient* client_at(uint32_t node) {
        const auto found = clients_.find(node);
        return found == clients_.end() ? nullptr : &found->second;
    }

    std::vector<PerformanceAgent> performance_;  // by node
    std::vector<CongestionAgent> congestion_;    // by node
    std::map<uint32_t, SaClient> clients_;
    std::map<uint32_t, Administration*> administrations_;
    std::map<uint32_t, std::vector<GmpOut>> answers_;  // of agents
    uint64_t expected_ = 0;
    std::optional<MadBytes> answer_;
};

}  // namespace tulle::control
