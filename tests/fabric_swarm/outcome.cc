#include "outcome.h"

#include <algorithm>

#include "base/hash.h"
#include "fastest.h"
#include "journal.h"
#include "report/ideal.h"

namespace tulle::fabric_swarm {
namespace {

using base::Duration;
using fabric::FlowControl;
using sim::Drop;
using sim::Fault;
using sim::Result;

uint64_t dropped(const Result& result, Drop cause) {
    return result.totals.dropped[static_cast<size_t>(cause)];
}

uint64_t dropped(const Result& result) {
    uint64_t sum = 0;
    for (const uint64_t count : result.totals.dropped) sum += count;
    return sum;
}

bool has_link_faults(const sim::Setup& setup) {
    return std::ranges::any_of(
        setup.faults, [](const Fault& fault) { return fault.kind != Fault::Kind::slow_receiver; });
}

// Nothing that would excuse the loss of a packet.
bool is_undisturbed(const sim::Setup& setup) {
    const bool has_errors =
        setup.fabric.link.error_rate_e18 != 0 ||
        std::ranges::any_of(setup.graph.cables, [](const auto& c) { return c.loss_per_trillion; });
    return !has_link_faults(setup) && !has_errors;
}

// PFC in all priorities that anybody uses, with headroom that was computed and pauses that last
// until they are said again.
bool is_lossless_pfc(const sim::Setup& setup) {
    const fabric::PfcSettings& pfc = setup.fabric.pfc;
    const auto& lanes = setup.fabric.qos.lane_of_level;
    return setup.fabric.flow_control == FlowControl::pfc && (pfc.priorities & 0xff) == 0xff &&
           std::ranges::all_of(lanes, [](uint8_t lane) { return lane < 8; }) &&
           pfc.headroom_bytes == 0 && pfc.quanta >= 4096 && pfc.watchdog.ps == 0 &&
           setup.qos.empty() && !has_link_faults(setup) && !setup.fabric.link.whole_nanoseconds;
}

bool uses_management_lane(const sim::Setup& setup) {
    const auto& lanes = setup.fabric.qos.lane_of_level;
    return std::ranges::find(lanes, fabric::kManagementLane) != lanes.end();
}

std::string check_losses(const sim::Setup& setup, const Result& result) {
    const bool has_credits = setup.fabric.flow_control == FlowControl::credits;
    const bool is_lossless =
        is_lossless_pfc(setup) || (has_credits && !uses_management_lane(setup));
    if (has_credits && dropped(result, Drop::headroom_full) != 0) return "credits, and no headroom";
    if (is_lossless && dropped(result, Drop::headroom_full) != 0) return "headroom was too small";
    // Words to sources may be lost: their lane is none of PFC's.
    if (is_lossless && dropped(result, Drop::buffer_full) > result.totals.lost_words)
        return "a lossless fabric lost packets for lack of room";
    if (!has_credits && dropped(result, Drop::head_of_queue) != 0)
        return "packets died at the head of a queue, without credits";
    if (setup.fabric.pfc.watchdog.ps == 0 && dropped(result, Drop::watchdog) != 0)
        return "packets were lost to a watchdog that is off";
    // A packet of ten copies all of which are hit: one in 10^11 at these rates.
    const bool repairs = setup.fabric.link.bit_errors == fabric::BitErrors::retransmitted &&
                         setup.fabric.link.retry.replays >= 9;
    const bool loses_by_itself = std::ranges::any_of(
        setup.graph.cables, [](const auto& cable) { return cable.loss_per_trillion != 0; });
    if (repairs && !loses_by_itself && dropped(result, Drop::corrupted) != 0)
        return "a link that sends damaged packets again lost one";
    if (is_undisturbed(setup) &&
        (dropped(result, Drop::corrupted) != 0 || dropped(result, Drop::link_down) != 0 ||
         dropped(result, Drop::no_route) != 0 || dropped(result, Drop::hop_limit) != 0))
        return "packets were lost on links that have no faults";
    return {};
}

// Neither the switches nor the sender spread what belongs together.
bool has_one_path(const sim::Setup& setup) {
    return fabric::keeps_flows_together(setup.fabric.route.choice) &&
           !setup.host.paths.are_several();
}

bool keeps_order(const sim::Setup& setup) {
    const bool waits =
        setup.host.ack_timeout == 0 || setup.host.service == sim::Service::unreliable;
    return has_one_path(setup) && setup.faults.empty() && waits;
}

// Nothing happened to a network that a message would not survive.
bool is_calm(const sim::Setup& setup, const Result& result) {
    // What an adapter refuses for its P_Key nobody counts as dropped.
    return keeps_order(setup) && dropped(result) == 0 && result.totals.trimmed == 0 &&
           setup.tenants.empty();
}

// A flow keeps its order, and without loss it has no reason to send anything again.
std::string check_order(const sim::Setup& setup, const Result& result) {
    if (!is_calm(setup, result)) return {};
    if (result.totals.retransmitted != 0) return "nothing was lost, but something was sent again";
    for (const sim::FlowResult& flow : result.flows)
        if (flow.status != transport::Status::success) return "nothing was lost, but a flow failed";
    if (setup.scale_up && !is_calm(*setup.scale_up, *result.scale_up)) return {};
    if (result.end == Result::End::stuck && result.deadlock.empty())
        return "nothing was lost and no circle waits, but this is stuck: " + result.stuck_reason;
    return {};
}

// Who shares no tenant with the other: a limited member talks to full ones alone.
bool are_strangers(const sim::Setup& setup, uint32_t a, uint32_t b) {
    const auto has = [](const std::vector<uint32_t>& list, uint32_t host) {
        return std::ranges::find(list, host) != list.end();
    };
    bool a_has_any = false;
    bool b_has_any = false;
    for (const sim::Tenant& tenant : setup.tenants) {
        const bool a_is_full = has(tenant.full, a);
        const bool b_is_full = has(tenant.full, b);
        const bool a_is_in = a_is_full || has(tenant.limited, a);
        const bool b_is_in = b_is_full || has(tenant.limited, b);
        if (a_is_in && b_is_in && (a_is_full || b_is_full)) return false;
        a_has_any |= a_is_in;
        b_has_any |= b_is_in;
    }
    return a_has_any || b_has_any;
}

std::string check_tenants(const sim::Setup& setup, const Result& result) {
    // Between two hosts on one cable there is no switch that could know VLANs.
    const auto joins_hosts = [&](const topology::Cable& cable) {
        return setup.graph.nodes[cable.a.node].is_host() &&
               setup.graph.nodes[cable.b.node].is_host();
    };
    if (std::ranges::any_of(setup.graph.cables, joins_hosts)) return {};
    for (size_t i = 0; i < result.flows.size(); ++i)
        if (result.flows[i].finished &&
            are_strangers(setup, setup.flows[i].source, setup.flows[i].destination))
            return "flow " + std::to_string(i) + " went from one tenant to another";
    if (setup.tenants.empty() && dropped(result, Drop::other_tenant) != 0)
        return "packets were refused, and there are no tenants";
    return {};
}

std::string check_flows(const sim::Setup& setup, const Result& result) {
    for (size_t i = 0; i < result.flows.size(); ++i) {
        const sim::FlowResult& flow = result.flows[i];
        const bool has_end = flow.finished || flow.status != transport::Status::success;
        if (!has_end && result.end == Result::End::done)
            return "flow " + std::to_string(i) + " has no end, and nobody says why";
        if (flow.completion.ps < 0) return "flow " + std::to_string(i) + " ends before it begins";
    }
    if (result.end == Result::End::stuck && result.stuck_reason.empty()) return "stuck without why";
    if (setup.stop == base::Instant::never() && result.end == Result::End::stop_time)
        return "stopped at a time that nobody gave";
    if (result.end == Result::End::done &&
        !std::ranges::all_of(result.phases, &sim::PhaseResult::finished))
        return "a phase has no end, and nobody says why";
    return {};
}

std::string check_times(const sim::Setup& setup, const Result& result) {
    const Fastest fastest(setup);
    const report::Routes routes(setup.graph);
    const report::Ideal ideal(setup, routes);
    for (size_t i = 0; i < result.flows.size(); ++i) {
        if (!result.flows[i].finished) continue;
        const sim::Flow& flow = setup.flows[i];
        Duration least = fastest.of(flow);
        // Packets that go by several paths at once may beat the closed form, which knows one.
        if (fastest.is_uniform() && flow.path < 0 && has_one_path(setup))
            least = std::max(least, ideal.of(flow));
        // The closed form rounds each packet up on each link; the engine carries the fractions.
        constexpr Duration kRounding{100};
        if (result.flows[i].completion + kRounding < least)
            return "flow " + std::to_string(i) + " takes " +
                   std::to_string(result.flows[i].completion.ps) +
                   " ps, but nothing is faster than " + std::to_string(least.ps);
    }
    return {};
}

// Where nothing gets lost, every mark of a switch arrives, and no other. A contribution that ends
// in a switch takes its mark with it, and each copy of a packet has that packet's.
std::string check_marks(const sim::Setup& setup, const Result& result, const Seen& seen) {
    const bool all_arrived = dropped(result) == 0 && result.totals.in_flight == 0 &&
                             std::ranges::all_of(result.flows, &sim::FlowResult::finished) &&
                             std::ranges::all_of(result.phases, &sim::PhaseResult::finished);
    if (setup.fabric.marking != fabric::Marking::ecn || !all_arrived) return {};
    const bool is_few = seen.ecn_marks + result.totals.reduced < result.totals.ecn_marked;
    const bool is_much = seen.ecn_marks > result.totals.ecn_marked + result.totals.replicated;
    if (!is_few && !is_much) return {};
    return std::to_string(result.totals.ecn_marked) + " packets were marked, but " +
           std::to_string(seen.ecn_marks) + " marks arrived";
}

std::string check_links(const sim::Setup& setup, const Result& result, base::Instant ended) {
    // What began before the end is counted whole.
    const uint64_t packet = 2 * (setup.host.mtu + 256);
    const Duration time = ended - base::Instant{};
    for (const sim::LinkResult& link : result.links) {
        const base::Rate rate = report::cable_rate(setup, link.cable);
        if (!setup.fabric.link.whole_nanoseconds && link.busy > time + rate.time_for(packet))
            return "a link was busy for longer than there was time";
        if (link.paused.ps < 0 || link.paused > time * fabric::kLanes)
            return "a link was paused for " + std::to_string(link.paused.ps) + " ps of " +
                   std::to_string(time.ps);
    }
    for (const sim::Blame& blame : result.blames)
        if (blame.paused.ps < 0 || blame.paused > time)
            return "a port is blamed for longer than there was time";
    return {};
}

std::string check_network(const sim::Setup& setup, const Result& result, const Seen& seen) {
    if (std::string wrong = check_losses(setup, result); !wrong.empty()) return wrong;
    if (std::string wrong = check_order(setup, result); !wrong.empty()) return wrong;
    if (std::string wrong = check_marks(setup, result, seen); !wrong.empty()) return wrong;
    return check_links(setup, result, seen.ended);
}

}  // namespace

std::string check_result(const sim::Setup& setup, const Result& result, const Seen& seen,
                         const Seen& seen_inside) {
    if (std::string wrong = check_network(setup, result, seen); !wrong.empty()) return wrong;
    if (std::string wrong = check_flows(setup, result); !wrong.empty()) return wrong;
    if (std::string wrong = check_tenants(setup, result); !wrong.empty()) return wrong;
    if (std::string wrong = check_times(setup, result); !wrong.empty()) return wrong;
    if (std::string wrong = check_program(setup, result); !wrong.empty()) return wrong;
    if (!setup.scale_up) return {};
    std::string wrong = check_network(*setup.scale_up, *result.scale_up, seen_inside);
    return wrong.empty() ? wrong : "inside a server: " + wrong;
}

uint64_t hash_of(const Result& result) {
    base::Hash hash;
    const auto add = [&](auto value) { hash.add(static_cast<uint64_t>(value)); };
    add(result.hash), add(result.end), add(result.engine.hops), add(result.totals.delivered);
    add(result.totals.in_flight), add(result.totals.retransmitted), add(result.totals.trimmed);
    add(result.totals.cnps), add(result.totals.watchdog_fired), add(result.deadlock.size());
    for (const sim::Blame& blame : result.blames)
        add(blame.node), add(blame.port), add(blame.lane), add(blame.paused.ps);
    for (const sim::TraceSample& event : result.trace)
        add(event.at.ps), add(event.kind), add(event.node), add(event.port), add(event.value);
    for (const sim::CapturedPacket& captured : result.captured)
        add(captured.at.ps), add(captured.packet.psn().value), add(captured.packet.opcode);
    for (const sim::PhaseResult& phase : result.phases)
        add(phase.begin.ps), add(phase.end.ps), add(phase.finished), add(phase.messages);
    add(result.payload_bytes), add(result.cpu.ps), add(result.message_latency.count());
    add(result.message_latency.max()), add(result.totals.reduced), add(result.totals.replicated);
    if (result.scale_up) add(hash_of(*result.scale_up));
    return hash.value();
}

}  // namespace tulle::fabric_swarm
