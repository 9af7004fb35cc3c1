// Small fabrics made in code, for runs whose outcome a formula gives.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "drive/run.h"
#include "topology/spec.h"

namespace tulle::exact {

using base::Duration;
using base::Instant;
using namespace base::literals;
using sim::Fault;
using sim::Flow;
using sim::Result;
using sim::Verb;
using Lab = sim::Setup;

inline constexpr uint64_t kGiga = 1'000'000'000;

// What RoCE v2 over IPv4 puts around the payload of a WRITE, gap included.
inline constexpr int64_t kOverhead = 82;  // 14 + 20 + 8 + BTH 12 + ICRC 4 + FCS 4, and 20
inline constexpr int64_t kReth = 16;      // besides, in the first packet of a WRITE
inline constexpr int64_t kAckBytes = 86;  // the same with 4 of AETH
inline constexpr int64_t kPauseBytes = 84;

inline int64_t ps_per_byte(uint64_t gbps) {
    return static_cast<int64_t>(8000 / gbps);
}

// No loss, no arbitration, an acknowledgement for the last packet alone: nothing but the lines.
inline Lab plain(topology::Graph graph) {
    Lab setup;
    setup.graph = std::move(graph);
    setup.fabric.node.lossy_dynamic_threshold = false;
    setup.host.ack_every = 1 << 22;
    setup.host.ack_timeout = 0;
    return setup;
}

inline Lab plain(const char* spec) {
    return plain(*topology::build_spec(spec));
}

// Host, switches in a row, host: one cable more than there are switches, each with its own rate.
inline topology::Graph chain(const std::vector<uint64_t>& gbps) {
    topology::Graph graph;
    graph.add({.name = "first"});
    graph.add({.name = "last"});
    uint32_t before = 0;
    for (size_t i = 0; i < gbps.size(); ++i) {
        uint32_t next = 1;
        if (i + 1 < gbps.size())
            next = graph.add({.name = std::to_string(i),
                              .kind = topology::NodeKind::switch_node,
                              .tier = topology::kLeafTier});
        graph.connect(before, next).rate_bps = gbps[i] * kGiga;
        before = next;
    }
    return graph;
}

inline Result run(const Lab& setup, uint32_t threads = 1) {
    auto result = drive::run(setup, {.threads = threads});
    if (!result) {
        ADD_FAILURE() << result.error().message;
        return {};
    }
    return std::move(*result);
}

// The completion time of the setup's only flow, which is made to carry so many bytes.
inline Duration completion(Lab setup, uint64_t bytes, uint32_t threads = 1) {
    setup.flows = {Flow{.source = 0, .destination = 1, .bytes = bytes}};
    const Result result = run(setup, threads);
    if (result.flows.size() != 1 || !result.flows[0].finished) {
        ADD_FAILURE() << "the flow did not finish";
        return {};
    }
    return result.flows[0].completion;
}

inline const sim::LinkResult& link(const Result& result, uint32_t node, uint16_t port = 0) {
    for (const sim::LinkResult& l : result.links)
        if (l.node == node && l.port == port) return l;
    ADD_FAILURE() << "no link " << node << ":" << port;
    return result.links.front();
}

inline uint64_t dropped(const Result& result, sim::Drop cause) {
    return result.totals.dropped[static_cast<size_t>(cause)];
}

}  // namespace tulle::exact
