// Adapters and switches that take far longer than others of their kind. What each message of the
// chain spends there follows from its settings; it is a part of the software at the ends, or of the
// pipelines of switches.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/causes/investigation.h"
#include "sim/rank_trails.h"

namespace tulle::report::causes {
namespace {

constexpr int64_t kFarSlower = 4;  // than the others

struct Ends {
    uint32_t from = 0;  // endpoints
    uint32_t to = 0;
};

// The messages of the chain between servers.
std::vector<Ends> messages_of(const Facts& facts) {
    std::vector<Ends> messages;
    for (const sim::ChainLink& link : facts.result.account.chain) {
        if (!link.is_task) {
            const sim::Flow& flow = facts.setup.flows[link.id];
            messages.push_back({flow.source, flow.destination});
            continue;
        }
        const workload::Task task = sim::task_of(facts.setup.program, link);
        if (task.kind == workload::Task::Kind::compute || task.tier == workload::Tier::scale_up)
            continue;
        messages.push_back(
            {facts.setup.ranks[task.rank].endpoint, facts.setup.ranks[task.peer].endpoint});
    }
    return messages;
}

Duration to_send(const sim::HostSettings& host) {
    return host.send_latency + host.memory.latency;
}

Duration excess(Duration own, Duration usual) {
    return own > usual * kFarSlower ? own - usual : Duration{};
}

}  // namespace

void Investigation::explain_slow_ways() {
    const sim::Setup& setup = facts_.setup;
    if (setup.host_overrides.empty() && setup.switches.empty()) return;
    std::map<uint32_t, Duration> by_node;
    for (const Ends& message : messages_of(facts_)) {
        const uint32_t from = facts_.names.hosts()[message.from];
        const uint32_t to = facts_.names.hosts()[message.to];
        by_node[from] += excess(to_send(setup.host_of(from)), to_send(setup.host));
        by_node[to] += excess(setup.host_of(to).receive_latency, setup.host.receive_latency);
        for (const sim::SwitchOverride& own : setup.switches)
            if (crossings_.passes(own.node, {message.from, message.to}))
                by_node[own.node] += excess(own.settings.node.latency, setup.fabric.node.latency);
    }
    for (const auto& [node, time] : by_node) {
        Duration& all = nowhere_[facts_.is_host(node) ? ShareKind::software : ShareKind::switching];
        const Duration part = std::min(time, all);
        all -= part;
        if (facts_.is_host(node)) {
            const sim::HostSettings& own = setup.host_of(node);
            add(CauseKind::software, facts_.names.node(node), part,
                fmt::format("the adapter of {} takes {} for a message, others {}",
                            facts_.names.node(node),
                            base::to_string(to_send(own) + own.receive_latency),
                            base::to_string(to_send(setup.host) + setup.host.receive_latency)),
                fabric::kNowhere, node);
            continue;
        }
        const auto own = std::ranges::find(setup.switches, node, &sim::SwitchOverride::node);
        add(CauseKind::latency, facts_.names.node(node), part,
            fmt::format(
                "the switch {} takes {} for a packet, others {}", facts_.names.node(node),
                own == setup.switches.end() ? "" : base::to_string(own->settings.node.latency),
                base::to_string(setup.fabric.node.latency)),
            fabric::kNowhere, node);
    }
}

}  // namespace tulle::report::causes
