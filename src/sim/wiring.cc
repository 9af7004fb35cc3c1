#include "sim/wiring.h"

#include <algorithm>

#include "cluster/framing.h"
#include "sim/cables.h"

namespace tulle::sim {
namespace {

using topology::Cable;
using topology::Node;

constexpr uint32_t kLinkStream = 2;

}  // namespace

Wiring::Wiring(const Setup& setup)
    : setup_(setup),
      cables_(setup.graph),
      overrides_(setup.graph.nodes.size()),
      host_rate_(setup.fabric.link.rate) {
    for (const SwitchOverride& own : setup.switches) overrides_[own.node] = &own;
    const std::vector<uint32_t> hosts = setup.graph.endpoints();
    if (hosts.empty()) return;
    if (const auto link = cables_.at({hosts.front(), 0}); link.is_cabled())
        host_rate_ = cable_rate(setup, link.cable);
}

Duration Wiring::delay_of(const Cable& cable) const {
    return cable_delay(setup_, cable) + setup_.fabric.link.fec_delay;
}

Duration shortest_cable(const Setup& setup) {
    Duration shortest{INT64_MAX};
    for (const Cable& cable : setup.graph.cables)
        shortest = std::min(shortest, cable_delay(setup, cable));
    return shortest + setup.fabric.link.fec_delay;
}

// The bytes that may arrive after a pause was decided: a packet that is being sent at either end,
// the pause frame, the bytes on the cable both ways, and what the peer sends until it reacts.
uint32_t Wiring::headroom_of(const Cable& cable, uint32_t node) const {
    const bool at_host = setup_.graph.nodes[node].is_host();
    const fabric::Settings& f = settings_of(node);
    if (f.pfc.headroom_bytes != 0) return static_cast<uint32_t>(f.pfc.headroom_bytes);
    if (f.pfc.headroom_delays != 0)
        return static_cast<uint32_t>(f.pfc.headroom_delays *
                                     cable_rate(setup_, cable).bytes_in(delay_of(cable)));
    Duration away =
        2 * delay_of(cable) + f.pfc.response_time + (at_host ? Duration{} : f.node.latency);
    uint64_t packets = 3;
    const bool has_errors =
        f.link.error_rate_e18 != 0 || cable.loss_per_trillion != 0 || !setup_.cable_errors.empty();
    if (has_errors && f.link.bit_errors == fabric::BitErrors::retransmitted) {
        // The pause frame waits for a packet that the link retransmits, at worst the maximum number
        // of times.
        const fabric::LinkRetry& retry = f.link.retry;
        away += int64_t{retry.replays} * (2 * delay_of(cable) + retry.response);
        packets += retry.replays;
    }
    // Telemetry makes packets longer, and contributions to sums take more of the line.
    const uint64_t packet =
        std::max(setup_.host.mtu + 128, cluster::Framing(f).room_for_any(setup_.host.mtu));
    return static_cast<uint32_t>(cable_rate(setup_, cable).bytes_in(away) + packets * packet);
}

base::Rate Wiring::line_rate(uint32_t node, uint16_t port) const {
    const topology::Ports::Link link = cables_.at({node, port});
    return link.is_cabled() ? cable_rate(setup_, setup_.graph.cables[link.cable])
                            : setup_.fabric.link.rate;
}

fabric::ErrorModel Wiring::errors_of(uint32_t node, uint16_t port) const {
    const topology::Ports::Link link = cables_.at({node, port});
    const uint64_t owner = uint64_t{node} << 16 | port;
    fabric::ErrorModel errors{setup_.fabric.link.error_rate_e18, 0,
                              base::RandomStream({setup_.seed, kLinkStream, owner})};
    if (!link.is_cabled()) return errors;
    const Cable& cable = setup_.graph.cables[link.cable];
    errors.packet_loss_e12 = cable.loss_per_trillion;
    const bool is_a = cable.a == topology::CableEnd{node, port};
    for (const CableErrors& own : setup_.cable_errors) {
        if (own.cable != link.cable || !(is_a ? own.from_a : own.from_b)) continue;
        errors.packet_loss_e12 = own.loss_per_trillion.value_or(errors.packet_loss_e12);
        errors.bit_error_e18 = own.error_rate_e18.value_or(errors.bit_error_e18);
    }
    return errors;
}

const fabric::Settings& Wiring::settings_of(uint32_t node) const {
    return overrides_[node] != nullptr ? overrides_[node]->settings : setup_.fabric;
}

// The bytes that the ports of a switch reserve, for one priority each.
uint64_t Wiring::reserved_bytes(uint32_t node) const {
    uint64_t bytes = 0;
    for (const topology::Ports::Link& link : cables_.of(node))
        if (link.is_cabled())
            bytes += settings_of(node).pfc.reserve_bytes +
                     headroom_of(setup_.graph.cables[link.cable], node);
    return bytes;
}

uint64_t Wiring::shared_bytes(uint32_t node) const {
    const fabric::SwitchSettings& own = settings_of(node).node;
    return own.buffer_bytes - (own.buffer_holds_all ? reserved_bytes(node) : 0);
}

std::vector<fabric::EcnSettings> Wiring::marking_of(uint32_t node) const {
    std::vector<fabric::EcnSettings> ecn;
    const fabric::EcnSettings& usual = settings_of(node).ecn;
    if (setup_.marking_of_rate.empty() && usual.at_hosts) return ecn;
    for (const topology::Ports::Link& link : cables_.of(node)) {
        const uint64_t rate = link.is_cabled() ? setup_.graph.cables[link.cable].rate_bps : 0;
        const auto found = std::ranges::find(setup_.marking_of_rate, rate, &RateMarking::rate_bps);
        ecn.push_back(found != setup_.marking_of_rate.end() ? found->ecn : usual);
        const bool leads_to_host = link.is_cabled() && setup_.graph.nodes[link.peer.node].is_host();
        if (leads_to_host && !usual.at_hosts) ecn.back().kmin_bytes = UINT64_MAX;
    }
    return ecn;
}

// How often alpha is doubled for a port faster than a host's; at most until alpha is one.
uint8_t Wiring::alpha_doublings(const Cable& cable) const {
    const fabric::PfcSettings& pfc = setup_.fabric.pfc;
    const base::Rate rate = cable_rate(setup_, cable);
    uint8_t doublings = 0;
    const auto is_faster = [&](uint8_t than) {
        // Rates are kept as times: picoseconds per byte.
        return rate.numerator() * host_rate_.denominator() << than <
               host_rate_.numerator() * rate.denominator();
    };
    while (is_faster(doublings) && pfc.alpha_numerator << doublings < pfc.alpha_denominator)
        ++doublings;
    return doublings;
}

uint32_t Wiring::first_switch() const {
    const auto found = std::ranges::find(setup_.graph.nodes, false, &Node::is_host);
    return static_cast<uint32_t>(found - setup_.graph.nodes.begin());
}

}  // namespace tulle::sim
