#include "control/adaptive_groups.h"

#include <algorithm>

#include "control/judge.h"

namespace tulle::control {
namespace {

using base::Instant;
using topology::Graph;

constexpr uint32_t kUnreached = UINT32_MAX;

class AdaptiveGroups {
public:
    using Kind = Disturbance::Kind;

    AdaptiveGroups(const Graph& graph, History& history)
        : graph_(graph),
          ports_(graph),
          history_(history),
          endpoints_(graph.endpoints()),
          cable_down_(graph.cables.size()),
          node_down_(graph.nodes.size()),
          writes_(std::move(history.writes)) {
        history_.writes.clear();
    }

    void add() {
        history_.tables = all();
        SwitchTables now = history_.tables;
        size_t next = 0;
        for (size_t i = 0; i < history_.repairs.size(); ++i) {
            const Disturbance& cause = history_.repairs[i].cause;
            const Instant end = i + 1 < history_.repairs.size() ? history_.repairs[i + 1].cause.at
                                                                : Instant::never();
            apply(cause);
            if (cause.kind == Kind::switch_up) forget(cause, now);
            const size_t first = next;
            while (next < writes_.size() && writes_[next].at < end) ++next;
            write(told_at(cause, first, next, end), now);
        }
        std::ranges::stable_sort(history_.writes, {}, &TableWrite::at);
    }

private:
    void apply(const Disturbance& cause) {
        if (cause.kind == Kind::cable_down || cause.kind == Kind::cable_up)
            cable_down_[cause.subject] = cause.kind == Kind::cable_down;
        if (cause.kind == Kind::switch_down || cause.kind == Kind::switch_up)
            node_down_[cause.subject] = cause.kind == Kind::switch_down;
    }

    void forget(const Disturbance& cause, SwitchTables& now) {
        for (uint32_t target = 0; target < history_.target_count; ++target)
            change(cause.at, cause.subject, target, PortLists::kEmpty, now);
    }

    // By node: when the manager has sent it the current tables; never: not before `end`.
    std::vector<Instant> told_at(const Disturbance& cause, size_t first, size_t end_of_writes,
                                 Instant end) const {
        Instant last = Instant::never();
        for (const CableReady& ready : history_.ready)
            if (ready.at >= cause.at && ready.at < end) last = ready.at;
        if (first != end_of_writes) last = writes_[end_of_writes - 1].at;
        std::vector<Instant> told(graph_.nodes.size(), last);
        for (size_t i = first; i < end_of_writes; ++i) told[writes_[i].node] = writes_[i].at;
        return told;
    }

    void write(const std::vector<Instant>& told, SwitchTables& now) {
        const SwitchTables wanted = all();
        for (uint32_t node = 0; node < graph_.nodes.size(); ++node) {
            if (graph_.nodes[node].is_host() || node_down_[node] || told[node] == Instant::never())
                continue;
            for (uint32_t target = 0; target < history_.target_count; ++target)
                change(told[node], node, target, wanted.at(node, target), now);
        }
    }

    void change(Instant at, uint32_t node, uint32_t target, uint32_t list, SwitchTables& now) {
        uint32_t& had = now.at(node, target);
        if (had == list) return;
        had = list;
        history_.writes.push_back({at, node, target, list});
    }

    bool works(const topology::Ports::Link& link) const {
        return link.is_cabled() && !cable_down_[link.cable] && !node_down_[link.peer.node];
    }

    // The tables for what works now. Hosts of one switch have equal entries, except at that switch.
    SwitchTables all() {
        SwitchTables tables(graph_, history_.target_count);
        std::vector<uint32_t> lists;
        uint32_t before = topology::kNone;
        for (uint32_t target = 0; target < history_.target_count; ++target) {
            const topology::Ports::Link up = ports_.at({endpoints_[target], 0});
            if (!works(up)) continue;
            if (up.peer.node != before) lists = toward(before = up.peer.node);
            for (uint32_t node = 0; node < graph_.nodes.size(); ++node)
                if (!graph_.nodes[node].is_host()) tables.at(node, target) = lists[node];
            tables.at(up.peer.node, target) = history_.lists.number_of({up.peer.port});
        }
        return tables;
    }

    // By switch: the ports that lead to `home` in the fewest hops.
    std::vector<uint32_t> toward(uint32_t home) {
        std::vector<uint32_t> distance(graph_.nodes.size(), kUnreached);
        std::vector<uint32_t> queue{home};
        distance[home] = 0;
        for (size_t i = 0; i < queue.size(); ++i)
            for (const topology::Ports::Link& link : ports_.of(queue[i])) {
                if (!works(link) || graph_.nodes[link.peer.node].is_host() ||
                    distance[link.peer.node] != kUnreached)
                    continue;
                distance[link.peer.node] = distance[queue[i]] + 1;
                queue.push_back(link.peer.node);
            }
        std::vector<uint32_t> lists(graph_.nodes.size(), PortLists::kEmpty);
        for (const uint32_t node : queue) {
            std::vector<uint16_t> ports;
            const auto links = ports_.of(node);
            for (uint16_t port = 0; port < links.size(); ++port)
                if (works(links[port]) && distance[links[port].peer.node] != kUnreached &&
                    distance[links[port].peer.node] + 1 == distance[node])
                    ports.push_back(port);
            lists[node] = history_.lists.number_of(ports);
        }
        return lists;
    }

    const Graph& graph_;
    topology::Ports ports_;
    History& history_;
    std::vector<uint32_t> endpoints_;
    std::vector<bool> cable_down_;
    std::vector<bool> node_down_;
    std::vector<TableWrite> writes_;  // the writes of single ports, by time
};

}  // namespace

bool has_tiers(const Graph& graph) {
    return std::ranges::all_of(graph.cables, [&](const topology::Cable& cable) {
        const int a = graph.nodes[cable.a.node].tier;
        const int b = graph.nodes[cable.b.node].tier;
        return a + 1 == b || b + 1 == a;
    });
}

// Ports that came back carry data only once they are active, and tables do not show the death of a
// manager. In both cases the earlier result counts.
void add_adaptive_groups(const Graph& graph, History& history) {
    using Kind = Disturbance::Kind;
    AdaptiveGroups(graph, history).add();
    const std::vector<Repair> before = history.repairs;
    judge_repairs(graph, history, true);
    for (size_t i = 0; i < before.size(); ++i) {
        Repair& repair = history.repairs[i];
        if (repair.cause.kind == Kind::manager_down) repair.repaired = before[i].repaired;
        const bool comes_back =
            repair.cause.kind == Kind::cable_up || repair.cause.kind == Kind::switch_up;
        if (comes_back && repair.is_repaired())
            repair.repaired = std::max(repair.repaired, before[i].repaired);
    }
}

}  // namespace tulle::control
