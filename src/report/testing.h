// Hand-made runs: a small fabric, flows with given durations, links with given figures.
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "report/verdict.h"

namespace tulle::report::testing {

using namespace base::literals;

struct MadeRun {
    sim::Setup setup;
    sim::Result result;

    uint32_t add_host() { return add('h', topology::NodeKind::host, topology::kHostTier); }
    uint32_t add_switch(uint8_t tier) { return add('s', topology::NodeKind::switch_node, tier); }

    // After the last cable: adds a link for each end, without traffic.
    void plug_in() {
        const topology::Ports ports(setup.graph);
        for (uint32_t node = 0; node < setup.graph.nodes.size(); ++node)
            for (uint16_t port = 0; port < setup.graph.nodes[node].port_count; ++port) {
                sim::LinkResult link;
                link.node = node;
                link.port = port;
                link.cable = ports.at({node, port}).cable;
                link.peer_node = ports.at({node, port}).peer.node;
                link.peer_port = ports.at({node, port}).peer.port;
                result.links.push_back(link);
            }
    }

    uint32_t node(const std::string& name) const {
        for (uint32_t i = 0; i < setup.graph.nodes.size(); ++i)
            if (setup.graph.nodes[i].name == name) return i;
        TULLE_CHECK(false);
    }
    sim::LinkResult& link(const std::string& from, const std::string& to) {
        for (sim::LinkResult& link : result.links)
            if (link.node == node(from) && link.peer_node == node(to)) return link;
        TULLE_CHECK(false);
    }

    // A flow that took this many thousandths of its time alone.
    size_t flow(uint32_t source, uint32_t destination, uint64_t slowdown_permille = 1000,
                uint64_t bytes = 1 << 20) {
        sim::Flow flow;
        flow.source = source;
        flow.destination = destination;
        flow.bytes = bytes;
        flow.traffic_class = 2;
        setup.flows.push_back(flow);
        const Routes routes(setup.graph);
        const Duration alone = Ideal(setup, routes).of(flow);
        result.flows.push_back({true,
                                transport::Status::success,
                                {alone.ps * static_cast<int64_t>(slowdown_permille) / 1000}});
        result.time = std::max(result.time, Instant{} + result.flows.back().completion);
        return setup.flows.size() - 1;
    }

    // A phase in which each rank, one per host, sends to the next one. It begins at the end of the
    // phase before.
    size_t phase(const std::string& name, workload::Collective collective, uint64_t bytes,
                 Duration time, bool finished = true) {
        const auto ranks = static_cast<uint32_t>(setup.graph.host_count());
        setup.ranks.clear();
        for (uint32_t rank = 0; rank < ranks; ++rank) setup.ranks.push_back({rank});
        const auto index = static_cast<uint32_t>(setup.program.phases.size());
        setup.program.phases.push_back({name, collective, "ring", bytes, ranks, 0});
        setup.program.jobs.resize(1);
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            workload::Task task;
            task.rank = rank;
            task.peer = (rank + 1) % ranks;
            task.bytes = bytes / ranks;
            task.phase = index;
            setup.program.add(task, {});
        }
        const Instant begin = result.time;
        result.time = begin + time;
        result.phases.push_back({finished, begin, result.time, ranks});
        return index;
    }

    // `from -> to` could not send, because of the port `culprit -> behind`.
    void blame(const std::string& from, const std::string& to, const std::string& culprit,
               const std::string& behind, Duration paused) {
        sim::LinkResult& held = link(from, to);
        held.paused += paused;
        const sim::LinkResult& guilty = link(culprit, behind);
        result.blames.push_back({held.node, held.port, 0, guilty.node, guilty.port, paused});
        result.totals.paused += paused;
        ++result.totals.pause_frames;
    }

    Verdict verdict() const { return judge(Facts(setup, result)); }

private:
    uint32_t add(char letter, topology::NodeKind kind, uint8_t tier) {
        const size_t number = kind == topology::NodeKind::host ? setup.graph.host_count()
                                                               : setup.graph.switch_count();
        topology::Node node;
        node.name = fmt::format("{}{}", letter, number);
        node.kind = kind;
        node.tier = tier;
        return setup.graph.add(node);
    }
};

// Hosts h0, h1, ... on one switch s0.
inline MadeRun star(uint32_t hosts) {
    MadeRun run;
    run.setup.fabric_name = "by hand";
    for (uint32_t i = 0; i < hosts; ++i) run.add_host();
    const uint32_t hub = run.add_switch(topology::kLeafTier);
    for (uint32_t i = 0; i < hosts; ++i) run.setup.graph.connect(i, hub);
    run.plug_in();
    return run;
}

// Leaves s0, s1, ... with hosts, then spines, each leaf on each spine.
inline MadeRun leaf_spine(uint32_t leaves, uint32_t spines, uint32_t hosts_per_leaf) {
    MadeRun run;
    run.setup.fabric_name = "by hand";
    for (uint32_t i = 0; i < leaves * hosts_per_leaf; ++i) run.add_host();
    std::vector<uint32_t> switches;
    for (uint32_t i = 0; i < leaves; ++i) switches.push_back(run.add_switch(topology::kLeafTier));
    for (uint32_t i = 0; i < leaves * hosts_per_leaf; ++i)
        run.setup.graph.connect(i, switches[i / hosts_per_leaf]);
    for (uint32_t i = 0; i < spines; ++i) {
        const uint32_t spine = run.add_switch(topology::kSpineTier);
        for (uint32_t leaf = 0; leaf < leaves; ++leaf)
            run.setup.graph.connect(switches[leaf], spine);
    }
    run.plug_in();
    return run;
}

inline const Finding* find(const Verdict& verdict, FindingKind kind) {
    const auto place = std::find_if(verdict.findings.begin(), verdict.findings.end(),
                                    [&](const Finding& finding) { return finding.kind == kind; });
    return place == verdict.findings.end() ? nullptr : &*place;
}

}  // namespace tulle::report::testing
