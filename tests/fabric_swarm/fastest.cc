#include "fastest.h"

#include <algorithm>

#include "report/ideal.h"

namespace tulle::fabric_swarm {
namespace {

using base::Duration;

constexpr uint64_t kSmallestPacket = 26;  // bytes: no envelope is shorter
constexpr int64_t kFar = INT64_MAX / 2;

}  // namespace

Fastest::Fastest(const sim::Setup& setup)
    : setup_(setup), ports_(setup.graph), hosts_(setup.graph.endpoints()) {
    for (const topology::Cable& cable : setup.graph.cables)
        if (cable.rate_bps != 0 || cable.delay.ps != 0 || cable.length_mm != 0) is_uniform_ = false;
}

Duration Fastest::of(const sim::Flow& flow) const {
    const uint32_t from = hosts_[flow.source];
    const uint32_t to = hosts_[flow.destination];
    const uint64_t mtu = setup_.host.mtu;
    const uint64_t packets = std::max<uint64_t>(1, (flow.bytes + mtu - 1) / mtu);
    const uint64_t last = report::data_wire_bytes(
        setup_, flow.operation, flow.bytes - (packets - 1) * mtu, packets == 1, true);
    const uint64_t all = report::flow_wire_bytes(setup_, flow);
    const bool is_read = flow.operation == sim::Verb::read;
    const Duration data =
        is_read ? way(to, from, all, packets, last) : way(from, to, all, packets, last);
    const Duration other = is_read ? way(from, to, kSmallestPacket, 1, kSmallestPacket)
                                   : way(to, from, kSmallestPacket, 1, kSmallestPacket);
    return setup_.host.send_latency + data + other + setup_.host.receive_latency * 2;
}

Duration Fastest::on_line(uint32_t cable, uint64_t bytes, uint64_t packets) const {
    const Duration exact = report::cable_rate(setup_, cable).time_for(bytes);
    if (!setup_.fabric.link.whole_nanoseconds) return exact;
    return {std::max<int64_t>(0, exact.ps - static_cast<int64_t>(packets) * 1'000)};
}

// Everything leaves the host's one port first; then the last packet goes by the fastest way.
Duration Fastest::way(uint32_t from, uint32_t to, uint64_t message_bytes, uint64_t packets,
                      uint64_t packet_bytes) const {
    const bool cuts = setup_.fabric.node.forwarding == fabric::Forwarding::cut_through;
    std::vector<int64_t> at(setup_.graph.nodes.size(), kFar);
    std::vector<bool> done(setup_.graph.nodes.size());
    at[from] = 0;
    for (;;) {
        uint32_t node = topology::kNone;
        for (uint32_t i = 0; i < at.size(); ++i)
            if (!done[i] && at[i] != kFar && (node == topology::kNone || at[i] < at[node]))
                node = i;
        if (node == topology::kNone || node == to) break;
        done[node] = true;
        for (const auto& link : ports_.of(node)) {
            if (!link.is_cabled()) continue;
            Duration takes = report::cable_delay(setup_, link.cable) + setup_.fabric.link.fec_delay;
            if (node == from)
                takes += on_line(link.cable, message_bytes, packets);
            else
                takes += setup_.fabric.node.latency +
                         (cuts ? Duration{} : on_line(link.cable, packet_bytes, 1));
            at[link.peer.node] = std::min(at[link.peer.node], at[node] + takes.ps);
        }
    }
    return {at[to]};
}

}  // namespace tulle::fabric_swarm
