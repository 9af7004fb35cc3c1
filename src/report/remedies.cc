#include "report/remedies.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/time_shares.h"
#include "report/usual_cable.h"
#include "sim/cables.h"

namespace tulle::report {
namespace {

constexpr uint64_t kPlenty = 16;            // times as much
constexpr uint32_t kMostOvertaking = 4096;  // packets: what is late then is not taken for lost

const sim::ChainLink& last_link(const Facts& facts) {
    return facts.result.account.chain.back();
}

// Keeps the flow that ended last, whatever else goes.
template <class Goes>
bool remove_flows(const Facts& facts, sim::Setup& setup, Goes&& goes) {
    if (last_link(facts).is_task) return false;
    std::vector<sim::Flow> kept;
    for (uint32_t i = 0; i < setup.flows.size(); ++i)
        if (i == last_link(facts).id || !goes(setup.flows[i])) kept.push_back(setup.flows[i]);
    const bool is_less = kept.size() < setup.flows.size();
    setup.flows = std::move(kept);
    return is_less;
}

bool remove_faults(sim::Setup& setup) {
    const bool had_any = !setup.faults.empty();
    setup.faults.clear();
    return had_any;
}

uint64_t bits_per_second(base::Rate rate) {
    return 8'000'000'000'000 / rate.numerator() * rate.denominator();
}

void make_usual(sim::Setup& setup, uint32_t number) {
    topology::Cable& cable = setup.graph.cables[number];
    const auto usual = usual_cables(setup)[is_at_host(setup.graph, cable)];
    cable.rate_bps = bits_per_second(usual->rate);
    cable.delay = usual->delay;
}

void give_room(fabric::Settings& fabric) {
    fabric.node.buffer_bytes *= kPlenty;
    fabric.node.port_buffer_bytes *= kPlenty;
    fabric.pfc.xoff_bytes *= kPlenty;
    fabric.credits.lane_buffer_bytes =
        std::max<uint32_t>(fabric.credits.lane_buffer_bytes,
                           fabric::CreditUnit(fabric.credits.unit_bytes).most_bytes());
}

void set_headroom_by_need(fabric::Settings& fabric) {
    fabric.pfc.headroom_bytes = 0;
    fabric.pfc.headroom_delays = 0;
}

void widen_between_switches(sim::Setup& setup) {
    for (uint32_t i = 0; i < setup.graph.cables.size(); ++i) {
        topology::Cable& cable = setup.graph.cables[i];
        if (is_at_host(setup.graph, cable)) continue;
        cable.rate_bps = bits_per_second(sim::cable_rate(setup, i)) * kPlenty;
    }
}

// Buffers hold as many round trips as before.
bool widen_inside_servers(sim::Setup& setup) {
    if (!setup.scale_up) return false;
    auto inside = std::make_shared<sim::Setup>(*setup.scale_up);
    for (topology::Cable& cable : inside->graph.cables)
        cable.rate_bps = bits_per_second(sim::cable_rate(*inside, cable)) * kPlenty;
    give_room(inside->fabric);
    set_headroom_by_need(inside->fabric);
    setup.scale_up = std::move(inside);
    return true;
}

// No more than that: the headroom of its switches is what the profile says.
// What is done to the setup; the text is empty if nothing could be.
std::string take_away(const Facts& facts, const Cause& cause, sim::Setup& setup) {
    const auto if_done = [](bool is_done, std::string text) {
        return is_done ? std::move(text) : std::string();
    };
    switch (cause.kind) {
        case CauseKind::incast:
        case CauseKind::victim: {
            const auto& hosts = facts.names.hosts();
            return if_done(
                cause.node && remove_flows(facts, setup,
                                           [&](const sim::Flow& flow) {
                                               return hosts[flow.destination] == *cause.node;
                                           }),
                cause.node
                    ? fmt::format("without the other senders to {}", facts.names.node(*cause.node))
                    : "");
        }
        case CauseKind::shared_adapter: {
            const auto& hosts = facts.names.hosts();
            return if_done(remove_flows(facts, setup,
                                        [&](const sim::Flow& flow) {
                                            return hosts[flow.source] == *cause.node;
                                        }),
                           fmt::format("without the other flows of {}", cause.place));
        }
        case CauseKind::other_work:
            return if_done(cause.group && remove_flows(facts, setup,
                                                       [&](const sim::Flow& flow) {
                                                           return flow.group == *cause.group;
                                                       }),
                           "without the other work");
        case CauseKind::uneven_paths:
            setup.fabric.route.choice = fabric::PathChoice::adaptive;
            setup.host.loss = transport::LossPolicy::selective_repeat;
            setup.host.reorder_tolerance = kMostOvertaking;
            return "with packets spread over all paths";
        case CauseKind::oversubscribed:
            if (cause.at == fabric::kNowhere)
                return if_done(widen_inside_servers(setup),
                               fmt::format("with {} times the rate inside servers", kPlenty));
            widen_between_switches(setup);
            return fmt::format("with {} times the rate between switches", kPlenty);
        case CauseKind::slow_cable:
        case CauseKind::long_cable:
            make_usual(setup, cause.at / 2);
            return "with that cable as the others";
        case CauseKind::slow_receiver:
        case CauseKind::pause_storm:
        case CauseKind::link_down:
        case CauseKind::no_route: return if_done(remove_faults(setup), "without the fault");
        case CauseKind::small_buffer:
        case CauseKind::buffer_overflow:
            give_room(setup.fabric);
            for (sim::SwitchOverride& own : setup.switches) give_room(own.settings);
            return fmt::format("with {} times the buffer", kPlenty);
        case CauseKind::headroom_overflow:
            set_headroom_by_need(setup.fabric);
            for (sim::SwitchOverride& own : setup.switches) set_headroom_by_need(own.settings);
            return "with as much headroom as the cables need";
        case CauseKind::congestion_control:
        case CauseKind::rate_limit:
            setup.host.congestion = transport::Algorithm::none;
            return "without it";
        case CauseKind::window: setup.host.window_packets = 0; return "without a window";
        case CauseKind::host_bus:
            setup.host.send_toll = setup.host.receive_toll = {};
            return "with memory as fast as the adapter";
        case CauseKind::lossy_cable:
        case CauseKind::link_retries:
            for (topology::Cable& cable : setup.graph.cables) cable.loss_per_trillion = 0;
            setup.fabric.link.error_rate_e18 = 0;
            setup.cable_errors.clear();
            return "without bit errors";
        case CauseKind::settings_disagree:
            return if_done(!std::exchange(setup.qos, {}).empty(),
                           "with the same settings everywhere");
        case CauseKind::watchdog:
            setup.fabric.pfc.watchdog = {};
            for (sim::SwitchOverride& own : setup.switches) own.settings.pfc.watchdog = {};
            return "without the watchdog";
        case CauseKind::head_of_queue:
            setup.fabric.credits.head_of_queue_lifetime = {};
            return "without the lifetime";
        case CauseKind::reordering:
            setup.fabric.route.choice = fabric::PathChoice::ecmp;
            return "with one path for each flow";
        case CauseKind::early_timeout:
            setup.host.ack_timeout = static_cast<uint8_t>(setup.host.ack_timeout + 4);
            return "with a longer timeout";
        case CauseKind::software:
            setup.host.send_latency = setup.host.receive_latency = {};
            setup.host.memory = {};
            return "without adapter latency";
        case CauseKind::not_ready:
        case CauseKind::slow_rank:
        case CauseKind::latency:
        case CauseKind::compute:
        case CauseKind::late_start:
        case CauseKind::own_bytes:
        case CauseKind::unexplained: return "";
    }
    return "";
}

}  // namespace

std::optional<Remedy> without(const Facts& facts, const Cause& cause) {
    Remedy remedy{facts.setup, ""};
    remedy.without = take_away(facts, cause, remedy.setup);
    if (remedy.without.empty()) return std::nullopt;
    return remedy;
}

}  // namespace tulle::report
