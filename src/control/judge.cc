#include "control/judge.h"

#include <algorithm>
#include <numeric>

namespace tulle::control {
namespace {

using base::Instant;
using topology::Graph;
using topology::kNone;
using topology::Ports;

class Judge {
public:
    Judge(const Graph& graph, const History& history, bool avoids_dead_ports)
        : graph_(graph),
          ports_(graph),
          history_(history),
          endpoints_(graph.endpoints()),
          avoids_dead_ports_(avoids_dead_ports),
          cable_down_(graph.cables.size()),
          node_down_(graph.nodes.size()),
          works_(graph.cables.size(), true),
          tables_(history.tables),
          hosts_of_target_(history.target_count),
          served_of_(history.target_count),
          is_stale_(history.target_count, true) {
        for (uint32_t i = 0; i < endpoints_.size(); ++i)
            hosts_of_target_[history.target_of[i]].push_back(endpoints_[i]);
    }

    // Applies all writes from `first` on that come before `end`; returns the index of the next one.
    size_t live_through(const Disturbance& cause, size_t first, Instant end, Repair& repair) {
        apply(cause);
        const uint64_t joined = joined_pairs();
        repair.broken_pairs = joined - served_pairs();
        size_t next = first;
        const SwitchTables before = tables_;
        while (next < history_.writes.size() && history_.writes[next].at < end)
            write(history_.writes[next++]);
        repair.writes = next - first;
        repair.unserved_pairs = joined - served_pairs();
        repair.cut_off_pairs = endpoints_.size() * (endpoints_.size() - 1) - joined;
        repair.cut_off = cut_off();
        if (repair.unserved_pairs == 0)
            repair.repaired = std::max(cause.at, served_since(first, next, before));
        return next;
    }

    void apply(const Disturbance& cause) {
        using Kind = Disturbance::Kind;
        switch (cause.kind) {
            case Kind::cable_down:
            case Kind::cable_up:
                cable_down_[cause.subject] = cause.kind == Kind::cable_down;
                note_change(cause.subject);
                break;
            case Kind::switch_down:
            case Kind::switch_up:
                node_down_[cause.subject] = cause.kind == Kind::switch_down;
                for (const Ports::Link& link : ports_.of(cause.subject))
                    if (link.is_cabled()) note_change(link.cable);
                break;
            case Kind::manager_down: break;
        }
    }
    void write(const TableWrite& write) {
        tables_.at(write.node, write.target) = write.list;
        is_stale_[write.target] = true;
    }

private:
    // A cable between switches concerns only those targets whose paths use it.
    void note_change(uint32_t cable) {
        const topology::Cable& at = graph_.cables[cable];
        works_[cable] = !cable_down_[cable] && !node_down_[at.a.node] && !node_down_[at.b.node];
        for (const topology::CableEnd end : {at.a, at.b}) {
            if (graph_.nodes[end.node].is_host()) return is_stale_.assign(is_stale_.size(), true);
            for (uint32_t target = 0; target < history_.target_count; ++target)
                if (const uint32_t list = tables_.at(end.node, target); list != PortLists::kHere)
                    is_stale_[target] =
                        is_stale_[target] ||
                        std::ranges::count(history_.lists.ports(list), end.port) != 0;
        }
    }

    enum class Way : uint8_t { unknown, being_followed, good, bad };

    bool has_light(uint32_t host) const { return works_[ports_.at({host, 0}).cable]; }
    uint32_t switch_of(uint32_t host) const { return ports_.at({host, 0}).peer.node; }

    bool leads_on(uint32_t peer, uint32_t target) {
        if (!graph_.nodes[peer].is_host()) return follow(peer, target);
        const std::vector<uint32_t>& hosts = hosts_of_target_[target];
        return std::ranges::find(hosts, peer) != hosts.end();
    }

    // Whether a packet reaches the target by any choice that the switches may make.
    bool follow(uint32_t node, uint32_t target) {
        Way& way = ways_[node];
        if (way != Way::unknown) return way == Way::good;  // a loop is not good
        const uint32_t list = tables_.at(node, target);
        if (list == PortLists::kHere) {
            way = Way::good;
            return true;
        }
        way = Way::being_followed;
        bool is_good = true;
        bool is_some = false;
        for (const uint16_t port : history_.lists.ports(list)) {
            const Ports::Link& link = ports_.at({node, port});
            if (!link.is_cabled() || !works_[link.cable]) {
                if (avoids_dead_ports_) continue;
                is_good = false;
            } else {
                is_some = true;
                is_good = leads_on(link.peer.node, target);
            }
            if (!is_good) break;
        }
        is_good = is_good && is_some;
        ways_[node] = is_good ? Way::good : Way::bad;
        return is_good;
    }

    uint64_t served_pairs() {
        const std::vector<uint64_t> senders = senders_by_switch();
        for (uint32_t target = 0; target < history_.target_count; ++target) {
            if (!is_stale_[target]) continue;
            is_stale_[target] = false;
            ways_.assign(graph_.nodes.size(), Way::unknown);
            uint64_t sources = 0;
            for (uint32_t node = 0; node < senders.size(); ++node)
                if (senders[node] != 0 && follow(node, target)) sources += senders[node];
            uint64_t& served = served_of_[target] = 0;
            for (const uint32_t host : hosts_of_target_[target])
                if (has_light(host))  // minus the host itself
                    served += sources - (follow(switch_of(host), target) ? 1 : 0);
        }
        return std::accumulate(served_of_.begin(), served_of_.end(), uint64_t{0});
    }

    std::vector<uint64_t> senders_by_switch() const {
        std::vector<uint64_t> senders(graph_.nodes.size());
        for (const uint32_t host : endpoints_)
            if (has_light(host)) ++senders[switch_of(host)];
        return senders;
    }

    // The time of the last write that some pair needed in order to be served.
    Instant served_since(size_t first, size_t end, const SwitchTables& before) {
        std::vector<std::vector<size_t>> writes_of(history_.target_count);
        for (size_t i = first; i < end; ++i) writes_of[history_.writes[i].target].push_back(i);
        const std::vector<uint64_t> senders = senders_by_switch();
        Instant since{};
        for (uint32_t target = 0; target < history_.target_count; ++target)
            if (!writes_of[target].empty())
                since = served_since(target, writes_of[target], before, senders, since);
        return since;
    }

    // The same for one target, but no earlier than `since`.
    Instant served_since(uint32_t target, const std::vector<size_t>& writes,
                         const SwitchTables& before, const std::vector<uint64_t>& senders,
                         Instant since) {
        const std::vector<bool> at_the_end = served(target, senders);
        std::vector<uint32_t> undone;  // what each write replaced
        const auto entry = [&](size_t i) -> uint32_t& {
            return tables_.at(history_.writes[i].node, target);
        };
        for (const size_t i : writes) entry(i) = before.at(history_.writes[i].node, target);
        for (const size_t i : writes) {
            undone.push_back(entry(i));
            entry(i) = history_.writes[i].list;
        }
        for (size_t i = writes.size(); i-- > 0 && history_.writes[writes[i]].at > since;) {
            entry(writes[i]) = undone[i];
            const Instant at = history_.writes[writes[i]].at;
            if (i > 0 && history_.writes[writes[i - 1]].at == at) continue;
            if (served(target, senders) != at_the_end) since = at;
        }
        for (const size_t i : writes) entry(i) = history_.writes[i].list;
        return since;
    }

    // By switch with senders: whether they reach the target.
    std::vector<bool> served(uint32_t target, const std::vector<uint64_t>& senders) {
        ways_.assign(graph_.nodes.size(), Way::unknown);
        std::vector<bool> served(senders.size());
        for (uint32_t node = 0; node < senders.size(); ++node)
            served[node] = senders[node] != 0 && follow(node, target);
        return served;
    }

    // By host: its connected piece of the fabric, named by the piece's first node.
    std::vector<uint32_t> pieces() const {
        std::vector<uint32_t> first(graph_.nodes.size());
        std::iota(first.begin(), first.end(), 0);
        const auto root = [&](uint32_t node) {
            while (first[node] != node) node = first[node] = first[first[node]];
            return node;
        };
        for (uint32_t cable = 0; cable < graph_.cables.size(); ++cable) {
            if (!works_[cable]) continue;
            const uint32_t a = root(graph_.cables[cable].a.node);
            const uint32_t b = root(graph_.cables[cable].b.node);
            first[std::max(a, b)] = std::min(a, b);
        }
        std::vector<uint32_t> pieces;
        for (const uint32_t host : endpoints_) pieces.push_back(root(host));
        return pieces;
    }

    std::vector<uint64_t> sizes_of(const std::vector<uint32_t>& pieces) const {
        std::vector<uint64_t> sizes(graph_.nodes.size());
        for (const uint32_t piece : pieces) ++sizes[piece];
        return sizes;
    }

    uint64_t joined_pairs() const {
        uint64_t joined = 0;
        for (const uint64_t size : sizes_of(pieces())) joined += size * (size - (size > 0));
        return joined;
    }

    std::vector<uint32_t> cut_off() const {
        const std::vector<uint32_t> of = pieces();
        const std::vector<uint64_t> sizes = sizes_of(of);
        const auto largest = static_cast<uint32_t>(std::ranges::max_element(sizes) - sizes.begin());
        std::vector<uint32_t> outside;
        for (uint32_t i = 0; i < of.size(); ++i)
            if (of[i] != largest) outside.push_back(i);
        return outside;
    }

    const Graph& graph_;
    Ports ports_;
    const History& history_;
    std::vector<uint32_t> endpoints_;
    bool avoids_dead_ports_;
    std::vector<bool> cable_down_;
    std::vector<bool> node_down_;
    std::vector<bool> works_;  // by cable: it and both its ends
    SwitchTables tables_;
    std::vector<std::vector<uint32_t>> hosts_of_target_;  // nodes
    std::vector<uint64_t> served_of_;                     // by target: pairs of hosts
    std::vector<bool> is_stale_;                          // by target: it is counted anew
    std::vector<Way> ways_;                               // by node, of one target
};

}  // namespace

void judge_repairs(const Graph& graph, History& history, bool avoids_dead_ports) {
    Judge judge(graph, history, avoids_dead_ports);
    size_t next = 0;
    for (size_t i = 0; i < history.repairs.size(); ++i) {
        Repair& repair = history.repairs[i];
        const Instant end =
            i + 1 < history.repairs.size() ? history.repairs[i + 1].cause.at : Instant::never();
        next = judge.live_through(repair.cause, next, end, repair);
    }
    for (const ManagementSent& sent : history.management) {
        const auto after = std::ranges::upper_bound(history.repairs, sent.at, {},
                                                    [](const Repair& one) { return one.cause.at; });
        if (after != history.repairs.begin()) std::prev(after)->bytes += sent.bytes;
    }
}

}  // namespace tulle::control
