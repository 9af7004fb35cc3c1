#include "report/remedies.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/time_shares.h"
#include "report/usual_cable.h"
#include "sim/cables.h"

namespace tulle::report {
namespace {

constexpr uint64_t kPlenty = 16;                   // times as much
constexpr uint64_t kEndless = uint64_t{1} << 40;   // bytes
constexpr uint32_t kMostOvertaking = 4096;         // packets: reordering within it is no loss
constexpr uint32_t kMostAhead = 32768;             // packets: as far as PSNs allow
constexpr Duration kAfterRest{1'000'000'000'000};  // more than timeouts take as a rule

const sim::ChainLink& last_link(const Facts& facts) {
    return facts.result.account.chain.back();
}

Instant much_later(const Facts& facts) {
    return facts.result.account.end + kAfterRest;
}

// The host that gets the data of a flow, and the one that sends it.
uint32_t receiver_of(const sim::Flow& flow) {
    return flow.operation == sim::Verb::read ? flow.source : flow.destination;
}

uint32_t sender_of(const sim::Flow& flow) {
    return flow.operation == sim::Verb::read ? flow.destination : flow.source;
}

// The flow that ended last stays, whatever else goes.
template <class Goes>
bool remove_flows(const Facts& facts, Remedy& remedy, Goes&& goes) {
    remedy.lacks_flow.resize(remedy.setup.flows.size());
    bool is_less = false;
    for (uint32_t i = 0; i < remedy.setup.flows.size(); ++i) {
        const bool is_last = !last_link(facts).is_task && last_link(facts).id == i;
        if (is_last || !goes(remedy.setup.flows[i])) continue;
        remedy.lacks_flow[i] = is_less = true;
        remedy.setup.flows[i].start = much_later(facts);
    }
    remedy.setup.stop = std::min(remedy.setup.stop, much_later(facts));
    return is_less;
}

bool remove_job(const Facts& facts, Remedy& remedy, size_t job) {
    if (job >= remedy.setup.program.jobs.size()) return false;
    remedy.lacks_job.resize(remedy.setup.program.jobs.size());
    remedy.lacks_job[job] = true;
    remedy.setup.program.jobs[job].start = much_later(facts);
    remedy.setup.stop = std::min(remedy.setup.stop, much_later(facts));
    return true;
}

// Groups of flows are numbered first, then jobs.
bool remove_work(const Facts& facts, Remedy& remedy, uint32_t work) {
    const size_t groups = remedy.setup.groups.size();
    if (work >= groups) return remove_job(facts, remedy, work - groups);
    return remove_flows(facts, remedy, [&](const sim::Flow& flow) { return flow.group == work; });
}

// Of all hosts, those with settings of their own included.
template <class Change>
void change_hosts(sim::Setup& setup, Change&& change) {
    change(setup.host);
    for (sim::HostOverride& other : setup.host_overrides) change(other.host);
}

bool is_of_host(const sim::Fault& fault) {
    return fault.kind == sim::Fault::Kind::pause_storm ||
           fault.kind == sim::Fault::Kind::pause_storm_end ||
           fault.kind == sim::Fault::Kind::slow_receiver;
}

bool remove_faults_of_host(const Facts& facts, const Cause& cause, sim::Setup& setup) {
    return std::erase_if(setup.faults, [&](const sim::Fault& fault) {
               return is_of_host(fault) && cause.place == facts.names.node(fault.subject);
           }) != 0;
}

// All of them: where several cables are down, the others would do the same in the place of one.
bool remove_outages(sim::Setup& setup) {
    return std::erase_if(setup.faults,
                         [](const sim::Fault& fault) { return !is_of_host(fault); }) != 0;
}

// Errors that all cables have are taken from all of them.
std::string remove_errors(sim::Setup& setup, uint32_t cable) {
    if (setup.fabric.link.error_rate_e18 != 0) {
        setup.fabric.link.error_rate_e18 = 0;
        for (topology::Cable& other : setup.graph.cables) other.loss_per_trillion = 0;
        setup.cable_errors.clear();
        return "without bit errors";
    }
    setup.graph.cables[cable].loss_per_trillion = 0;
    std::erase_if(setup.cable_errors,
                  [&](const sim::CableErrors& errors) { return errors.cable == cable; });
    return "without errors on that cable";
}

uint64_t bits_per_second(base::Rate rate) {
    return 8'000'000'000'000 / rate.numerator() * rate.denominator();
}

// Congestion control of a host whose adapter is slow reckons with its rate.
void make_usual(sim::Setup& setup, uint32_t number) {
    topology::Cable& cable = setup.graph.cables[number];
    const auto usual = usual_cables(setup)[is_at_host(setup.graph, cable)];
    cable.rate_bps = bits_per_second(usual->rate);
    cable.delay = usual->delay;
    for (sim::HostOverride& other : setup.host_overrides)
        if (other.node == cable.a.node || other.node == cable.b.node)
            other.host.algorithms = setup.host.algorithms;
}

void give_room(fabric::Settings& fabric) {
    fabric.node.buffer_bytes *= kPlenty;
    fabric.node.port_buffer_bytes *= kPlenty;
    fabric.pfc.xoff_bytes *= kPlenty;
    const fabric::CreditScale scale(fabric.credits.unit_bytes, fabric.credits.counter_bits);
    fabric.credits.lane_buffer_bytes =
        std::max<uint32_t>(fabric.credits.lane_buffer_bytes, scale.most_bytes());
}

void give_endless_room(fabric::Settings& fabric) {
    fabric.node.buffer_bytes = kEndless;
    fabric.node.port_buffer_bytes = 0;
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

std::string remove_errors_inside(sim::Setup& setup, const Cause& cause) {
    if (!setup.scale_up || !cause.node) return "";
    auto inside = std::make_shared<sim::Setup>(*setup.scale_up);
    std::string text = remove_errors(*inside, *cause.node);
    setup.scale_up = std::move(inside);
    return text;
}

std::string make_usual_inside(sim::Setup& setup, const Cause& cause) {
    if (!setup.scale_up || !cause.node) return "";
    auto inside = std::make_shared<sim::Setup>(*setup.scale_up);
    make_usual(*inside, *cause.node);
    setup.scale_up = std::move(inside);
    return "with that cable as the others";
}

// Of ranks: launches, the steps of a library, and hosts.reaction.
std::string shorten_software(sim::Setup& setup) {
    const bool had_copies = setup.host.staging.is_on;
    change_hosts(setup, [](sim::HostSettings& host) {
        host.send_latency = host.receive_latency = {};
        host.memory = {};
        host.staging.is_on = false;
    });
    for (sim::RankPlace& rank : setup.ranks) rank.reaction_permille /= kPlenty;
    std::string text = "without adapter latency";
    if (had_copies) text += " and copies";
    if (!setup.ranks.empty()) text += fmt::format(", and with 1/{} of the software", kPlenty);
    return text;
}

std::string make_adapter_usual(sim::Setup& setup, uint32_t node) {
    for (sim::HostOverride& other : setup.host_overrides) {
        if (other.node != node) continue;
        other.host.send_latency = setup.host.send_latency;
        other.host.receive_latency = setup.host.receive_latency;
        other.host.memory = setup.host.memory;
    }
    return "with that adapter as the others";
}

std::string make_switch_usual(sim::Setup& setup, uint32_t node) {
    for (sim::SwitchOverride& other : setup.switches)
        if (other.node == node) other.settings.node.latency = setup.fabric.node.latency;
    return "with that switch as the others";
}

std::string make_rank_usual(sim::Setup& setup, uint32_t rank) {
    sim::RankPlace& place = setup.ranks[rank];
    if (place.compute_permille == 1000 && place.reaction_permille == 1000) return "";
    place.compute_permille = place.reaction_permille = 1000;
    return "with that rank as fast as the others";
}

void lengthen_timeouts(sim::HostSettings& host) {
    host.ack_timeout = static_cast<uint8_t>(std::min(host.ack_timeout + 4, 31));
    host.timeouts.high = host.timeouts.high * kPlenty;
    host.timeouts.low = host.timeouts.low * kPlenty;
}

// Applies the remedy to the setup. Returns its text, or an empty one if nothing could be done.
std::string take_away(const Facts& facts, const Cause& cause, Remedy& remedy) {
    sim::Setup& setup = remedy.setup;
    const auto if_done = [](bool is_done, std::string text) {
        return is_done ? std::move(text) : std::string();
    };
    const auto& hosts = facts.names.hosts();
    switch (cause.kind) {
        case CauseKind::incast:
        case CauseKind::victim:
            if (!cause.node) return "";
            return if_done(
                remove_flows(
                    facts, remedy,
                    [&](const sim::Flow& flow) { return hosts[receiver_of(flow)] == *cause.node; }),
                fmt::format("without the other senders to {}", facts.names.node(*cause.node)));
        case CauseKind::shared_adapter:
            return if_done(remove_flows(facts, remedy,
                                        [&](const sim::Flow& flow) {
                                            return hosts[sender_of(flow)] == *cause.node;
                                        }),
                           fmt::format("without the other flows of {}", cause.place));
        case CauseKind::other_work:
            return if_done(cause.group && remove_work(facts, remedy, *cause.group),
                           "without the other work");
        case CauseKind::uneven_paths:
            setup.fabric.route.kind = fabric::RouteKind::shortest;
            setup.fabric.route.choice = fabric::PathChoice::adaptive;
            change_hosts(setup, [](sim::HostSettings& host) {
                host.loss = transport::LossPolicy::selective_repeat;
                host.reorder_tolerance = kMostOvertaking;
            });
            return "with packets spread over all paths";
        case CauseKind::oversubscribed:
            if (cause.at == fabric::kNowhere)
                return if_done(widen_inside_servers(setup),
                               fmt::format("with {} times the rate inside servers", kPlenty));
            widen_between_switches(setup);
            return fmt::format("with {} times the rate between switches", kPlenty);
        case CauseKind::slow_cable:
        case CauseKind::long_cable:
            if (cause.at == fabric::kNowhere) return make_usual_inside(setup, cause);
            make_usual(setup, cause.at / 2);
            return "with that cable as the others";
        case CauseKind::slow_receiver:
        case CauseKind::pause_storm:
            return if_done(remove_faults_of_host(facts, cause, setup), "without the fault");
        case CauseKind::link_down:
        case CauseKind::no_route: return if_done(remove_outages(setup), "without any outage");
        case CauseKind::small_buffer:
            give_room(setup.fabric);
            for (sim::SwitchOverride& own : setup.switches) give_room(own.settings);
            return fmt::format("with {} times the buffer", kPlenty);
        case CauseKind::buffer_overflow:
            give_endless_room(setup.fabric);
            for (sim::SwitchOverride& own : setup.switches) give_endless_room(own.settings);
            return "with buffers that hold everything";
        case CauseKind::headroom_overflow:
            set_headroom_by_need(setup.fabric);
            for (sim::SwitchOverride& own : setup.switches) set_headroom_by_need(own.settings);
            return "with as much headroom as the cables need";
        case CauseKind::congestion_control:
        case CauseKind::rate_limit:
            change_hosts(setup, [](sim::HostSettings& host) {
                host.congestion = transport::Algorithm::none;
            });
            return "without it";
        case CauseKind::window:
            change_hosts(setup, [](sim::HostSettings& host) {
                host.window_packets = 0;
                host.reorder_packets = kMostAhead;
            });
            return "without a window";
        case CauseKind::host_bus:
            change_hosts(setup,
                         [](sim::HostSettings& host) { host.send_toll = host.receive_toll = {}; });
            return "with memory as fast as the adapter";
        case CauseKind::lossy_cable:
        case CauseKind::link_retries:
            if (cause.at == fabric::kNowhere) return remove_errors_inside(setup, cause);
            return remove_errors(setup, cause.at / 2);
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
            change_hosts(setup, [](sim::HostSettings& host) {
                host.paths.policy = transport::PathPolicy::one;
            });
            return "with one path for each flow";
        case CauseKind::early_timeout:
            change_hosts(setup, lengthen_timeouts);
            return "with a longer timeout";
        case CauseKind::software:
            if (cause.node) return make_adapter_usual(setup, *cause.node);
            return shorten_software(setup);
        case CauseKind::slow_rank: return cause.node ? make_rank_usual(setup, *cause.node) : "";
        case CauseKind::deadlock:
            if (setup.fabric.route.kind == fabric::RouteKind::up_down) return "";
            setup.fabric.route.kind = fabric::RouteKind::up_down;
            return "with routes that go up and then down";
        case CauseKind::latency: return cause.node ? make_switch_usual(setup, *cause.node) : "";
        case CauseKind::not_ready:
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
    remedy.without = take_away(facts, cause, remedy);
    if (remedy.without.empty()) return std::nullopt;
    return remedy;
}

std::optional<Duration> time_without(const Remedy& remedy, const sim::Result& result) {
    Instant end{};
    for (size_t i = 0; i < result.flows.size(); ++i) {
        if (!remedy.lacks_flow.empty() && remedy.lacks_flow[i]) continue;
        if (!result.flows[i].has_ended()) return std::nullopt;
        end = std::max(end, remedy.setup.flows[i].start + result.flows[i].completion);
    }
    for (size_t i = 0; i < result.phases.size(); ++i) {
        const uint32_t job = remedy.setup.program.phases[i].job;
        if (!remedy.lacks_job.empty() && remedy.lacks_job[job]) continue;
        if (!result.phases[i].finished) return std::nullopt;
        end = std::max(end, result.phases[i].end);
    }
    return end - Instant{};
}

}  // namespace tulle::report
