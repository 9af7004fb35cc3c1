#include "world.h"

#include <algorithm>

#include "fabric/credits.h"
#include "plugin.h"
#include "topology/groups.h"
#include "transport/congestion/testing.h"

namespace tulle::fabric_swarm {
namespace {

using sim::Fault;
using transport::Algorithm;

base::Duration microseconds(uint32_t count) {
    return {int64_t{count} * 1'000'000};
}

void draw_congestion(uint64_t seed, sim::HostSettings& host) {
    Draw draw(seed, Drawer::congestion, 0);
    host.congestion = draw.pick({Algorithm::none, Algorithm::none, Algorithm::fixed_rate,
                                 Algorithm::dcqcn, Algorithm::dcqcn, Algorithm::ib_cc,
                                 Algorithm::timely, Algorithm::dctcp, Algorithm::plugin});
    host.algorithms.plugin = swarm::plugged_settings();
    host.algorithms.fixed_rate.rate_bps = draw.between(1, 400) * uint64_t{1'000'000'000};
    const uint64_t line = draw.between(10, 400) * uint64_t{1'000'000'000};
    host.algorithms.dcqcn = draw.percent(50) ? transport::testing::dcqcn_of_paper(line)
                                             : transport::DcqcnSettings::of_adapter(line);
    host.algorithms.dcqcn.min_rate_bps = draw.between(100, 1'000) * uint64_t{1'000'000};
    host.algorithms.dcqcn.decrease_interval = microseconds(draw.between(1, 50));
    host.algorithms.dcqcn.increase_bytes = draw.pick<uint32_t>({0, 1'000, 1'000'000});
    host.algorithms.ib_cc.line = base::Rate::bits_per_second(line);
    host.algorithms.ib_cc.increase = static_cast<uint16_t>(draw.between(1, 20));
    host.algorithms.ib_cc.timer = static_cast<uint16_t>(draw.between(0, 20));
    for (uint32_t i = draw.between(0, 60); i != 0; --i)
        host.algorithms.ib_cc.table.push_back(
            static_cast<uint16_t>(draw.between(0, 3) << 14 | draw.between(0, 60)));
    host.algorithms.timely.line_rate_bps = line;
    host.algorithms.timely.min_rate_bps = 500'000'000;
    host.algorithms.timely.low = microseconds(draw.between(1, 20));
    host.algorithms.timely.high = host.algorithms.timely.low + microseconds(draw.between(1, 100));
    host.algorithms.timely.smallest = microseconds(draw.between(1, 20));
    host.algorithms.dctcp.initial_window = draw.pick<uint32_t>({10, 2, 100});
    host.algorithms.dctcp.gain = transport::kDctcpOne >> draw.between(0, 6);
    using Way = transport::NotificationSettings::Way;
    host.notifications.way = draw.percent(50) ? Way::packet : Way::answer;
    host.notifications.service_level = static_cast<uint8_t>(draw.between(0, 15));
    host.notifications.traffic_class = static_cast<uint8_t>(draw.between(0, 63) << 2);
    host.notifications.interval = microseconds(draw.pick<uint32_t>({0, 1, 50}));
}

// Packets in any order, over paths of the sender's choice, under the algorithms made for them.
void draw_delivery(uint64_t seed, sim::Setup& setup) {
    using transport::Delivery;
    using transport::PathPolicy;
    Draw draw(seed, Drawer::delivery, 0);
    if (!draw.percent(35)) return;
    sim::HostSettings& host = setup.host;
    host.loss = transport::LossPolicy::selective_repeat;
    host.delivery = draw.pick({Delivery::placed, Delivery::unordered, Delivery::unordered});
    host.paths.policy = draw.pick({PathPolicy::one, PathPolicy::oblivious, PathPolicy::bitmap,
                                   PathPolicy::reps, PathPolicy::round_trip});
    host.paths.count = draw.pick<uint32_t>({2, 16, 128});
    host.reorder_tolerance = draw.pick<uint32_t>({0, 3, 64, 1'000});
    host.reorder_packets = draw.pick<uint32_t>({8, 128, 4'096});
    if (draw.percent(60))
        host.congestion = draw.pick({Algorithm::nscc, Algorithm::nscc, Algorithm::swift,
                                     Algorithm::pcc_rtt, Algorithm::rccc, Algorithm::rccc});
    host.algorithms.nscc.base_rtt = microseconds(draw.between(1, 30));
    host.algorithms.nscc.packet_bytes = host.mtu;
    host.algorithms.nscc.set_line(setup.fabric.link.rate);
    host.algorithms.nscc.has_credit = draw.percent(30);
    host.algorithms.rccc.base_rtt = host.algorithms.nscc.base_rtt;
    host.algorithms.rccc.packet_bytes = host.mtu;
    host.algorithms.rccc.heeds_marks = draw.percent(50);
    host.algorithms.rccc.set_line(setup.fabric.link.rate);
    host.answers_apart = draw.percent(40);
    setup.fabric.ecn.at_hosts = !draw.percent(20);
    host.algorithms.pcc_rtt.set_line(setup.fabric.link.rate);
    host.algorithms.pcc_rtt.floor = transport::kPccOne / 100;
    if (draw.percent(70)) host.notifications.way = transport::NotificationSettings::Way::answer;
}

// A way that a packet may go: from switch to switch, at random but never twice the same.
std::vector<uint32_t> draw_walk(Draw& draw, const topology::Graph& graph,
                                const topology::Ports& ports, uint32_t from, uint32_t to) {
    std::vector<uint32_t> walk{from};
    std::vector<bool> seen(graph.nodes.size());
    seen[from] = true;
    while (walk.back() != to) {
        std::vector<uint32_t> next;
        for (const auto& link : ports.of(walk.back()))
            if (link.is_cabled() && !seen[link.peer.node] &&
                (link.peer.node == to || !graph.nodes[link.peer.node].is_host()))
                next.push_back(link.peer.node);
        if (next.empty()) return {};
        walk.push_back(next[draw.between(0, static_cast<uint32_t>(next.size() - 1))]);
        seen[walk.back()] = true;
    }
    return walk;
}

void draw_paths(uint64_t seed, sim::Setup& setup) {
    Draw draw(seed, Drawer::paths, 0);
    if (!draw.percent(20)) return;
    const topology::Ports ports(setup.graph);
    const std::vector<uint32_t> hosts = setup.graph.endpoints();
    for (sim::Flow& flow : setup.flows) {
        if (!draw.percent(50)) continue;
        sim::ExplicitPath path;
        const uint32_t from = hosts[flow.source];
        const uint32_t to = hosts[flow.destination];
        path.data = draw_walk(draw, setup.graph, ports, from, to);
        path.acknowledgements = draw_walk(draw, setup.graph, ports, to, from);
        if (path.data.empty() || path.acknowledgements.empty()) continue;
        flow.path = static_cast<int32_t>(setup.paths.size());
        setup.paths.push_back(path);
    }
}

uint64_t draw_bytes(Draw& draw, uint32_t mtu) {
    switch (draw.between(0, 9)) {
        case 0: return 0;
        case 1: return draw.between(1, 64);
        case 2: return draw.pick<uint64_t>({mtu - 1, mtu, mtu + 1, 2 * mtu});
        case 3:
        case 4:
        case 5: return draw.between(1, 10'000);
        case 6:
        case 7: return draw.between(1, 100'000);
        case 8: return draw.between(1, 300'000);
        default: return draw.percent(30) ? draw.between(1, 1 << 20) : draw.between(0, 2'000);
    }
}

void draw_fault(Draw& draw, sim::Setup& setup) {
    const base::Instant at{draw.between(0, 100'000) * int64_t{1'000}};
    const base::Instant back = at + microseconds(draw.between(0, 300));
    const auto node = [&](bool is_host) {
        for (;;) {
            const auto i = draw.between(0, static_cast<uint32_t>(setup.graph.nodes.size() - 1));
            if (setup.graph.nodes[i].is_host() == is_host) return i;
        }
    };
    const auto both = [&](Fault::Kind begins, Fault::Kind ends, uint32_t subject,
                          uint32_t percent) {
        setup.faults.push_back({begins, at, subject});
        if (draw.percent(percent)) setup.faults.push_back({ends, back, subject});
    };
    switch (draw.between(0, 4)) {
        case 0:
        case 1:
            return both(Fault::Kind::cable_down, Fault::Kind::cable_up,
                        draw.between(0, static_cast<uint32_t>(setup.graph.cables.size() - 1)), 80);
        case 2:
            if (setup.graph.switch_count() == 0) return;
            return both(Fault::Kind::switch_down, Fault::Kind::switch_up, node(false), 80);
        case 3:
            // Short pauses are said so often that a storm without an end takes for ever.
            return both(Fault::Kind::pause_storm, Fault::Kind::pause_storm_end, node(true),
                        setup.fabric.pfc.quanta < 4096 ? 100 : 70);
        default:
            setup.faults.push_back(
                {Fault::Kind::slow_receiver, at, node(true),
                 base::Rate::bits_per_second(draw.between(1, 100) * uint64_t{1'000'000'000})});
    }
}

}  // namespace

void draw_hosts(uint64_t seed, sim::Setup& setup) {
    Draw draw(seed, Drawer::hosts, 0);
    sim::HostSettings& host = setup.host;
    host.loss = draw.percent(50) ? transport::LossPolicy::go_back_n
                                 : transport::LossPolicy::selective_repeat;
    host.mtu = draw.pick<uint32_t>({256, 1'024, 1'024, 2'048, 4'096, 4'096, 1'000, 1'500, 9'000});
    host.ack_every = draw.pick<uint32_t>({1, 1, 2, 16, 100});
    host.coalesce_acks = draw.percent(70);
    if (draw.percent(40)) host.window_packets = draw.between(1, 100);
    host.ack_timeout = draw.pick<uint8_t>({0, 6, 8, 10, 14, 14});
    host.retry_count = draw.pick<uint8_t>({7, 7, 1, 0});
    if (draw.percent(40)) host.send_latency = {draw.between(1, 2'000) * int64_t{1'000}};
    if (draw.percent(40)) host.receive_latency = {draw.between(1, 2'000) * int64_t{1'000}};
    host.receive_buffer_bytes = draw.pick<uint64_t>({1 << 20, 100'000, 20'000});
    if (draw.percent(30)) {
        host.memory.latency = {draw.between(0, 1'000) * int64_t{1'000}};
        if (draw.percent(80))
            host.memory.rate =
                base::Rate::bits_per_second(draw.between(20, 900) * uint64_t{1'000'000'000});
        host.memory.max_inline = draw.pick<uint32_t>({0, 220, 5'000});
    }
    draw_congestion(seed, host);
    // A virtual lane's buffer that takes a packet and waits for an update, and not much more.
    fabric::CreditSettings& credits = setup.fabric.credits;
    const fabric::CreditScale scale(credits.unit_bytes, credits.counter_bits);
    const uint32_t least = scale.blocks_of(host.mtu + 128) * scale.bytes() + credits.update_bytes;
    credits.lane_buffer_bytes = least + draw.pick<uint32_t>({0, 1, 100, 10'000, 60'000, 300'000});
    host.answers_apart = draw.percent(15);
}

// Reliable datagrams, in place of connections that deliver in order.
void draw_datagrams(uint64_t seed, sim::HostSettings& host) {
    Draw draw(seed, Drawer::datagrams, 0);
    if (host.delivery != transport::Delivery::ordered || !draw.percent(12)) return;
    host.service = sim::Service::datagram;
    host.congestion = Algorithm::none;
}

// HPCC, on any fabric: where packets are spread it has nothing to compare, and must not mind.
void draw_telemetry(uint64_t seed, sim::Setup& setup) {
    Draw draw(seed, Drawer::telemetry, 0);
    sim::HostSettings& host = setup.host;
    const bool may_be =
        host.delivery == transport::Delivery::ordered && host.service == sim::Service::reliable;
    setup.fabric.framing.telemetry_bytes = draw.pick<uint32_t>({42, 0, 100});
    transport::HpccSettings& hpcc = host.algorithms.hpcc;
    hpcc.base_rtt = microseconds(draw.between(1, 30));
    hpcc.additive_bytes = draw.pick<uint32_t>({80, 0, 5'000});
    hpcc.max_stage = draw.pick<uint8_t>({5, 0});
    hpcc.min_rate_bps = 1'000'000'000;
    hpcc.each_answer = draw.percent(80);
    hpcc.set_line(setup.fabric.link.rate);
    if (may_be && draw.percent(20)) host.congestion = Algorithm::hpcc;
    setup.fabric.telemetry = sim::wants_telemetry(setup);
}

// UGAL, mostly where there are groups; elsewhere it is adaptive routing.
void draw_detours(uint64_t seed, sim::Setup& setup) {
    Draw draw(seed, Drawer::detours, 0);
    fabric::RouteSettings& route = setup.fabric.route;
    const bool has_groups = !topology::dragonfly_groups(setup.graph).empty();
    if (draw.percent(has_groups ? 60 : 4)) {
        route.choice = fabric::PathChoice::ugal;
        if (draw.percent(70)) route.kind = fabric::RouteKind::shortest;
        route.detour_bias = {draw.pick<int64_t>({0, 0, 1'000, 1'000'000})};
        if (draw.percent(60)) route.flowlet_gap = {};
    }
    // A lane more may be one that no pause protects.
    if (setup.fabric.flow_control != fabric::FlowControl::pfc) route.group_lanes = draw.percent(50);
    setup.fabric.credits.counter_bits = draw.pick<uint32_t>({12, 12, 14, 16});
}

// How well switches know loads, what they tell neighbours, and whom they hold up.
void draw_loads(uint64_t seed, sim::Setup& setup) {
    Draw draw(seed, Drawer::loads, 0);
    fabric::Settings& f = setup.fabric;
    f.route.load_step_bytes = draw.pick<uint64_t>({0, 0, 1'000, 20'000});
    f.route.load_period = {draw.pick<int64_t>({0, 0, 100'000, 1'000'000})};
    f.route.warn_above_bytes = draw.pick<uint64_t>({0, 0, 2'000, 50'000});
    if (!draw.percent(25) || f.flow_control == fabric::FlowControl::credits) return;
    fabric::BackPressureSettings& words = f.back_pressure;
    words.above_bytes = draw.pick<uint64_t>({1'000, 10'000, 50'000});
    words.interval = microseconds(draw.between(0, 4));
    words.forget_after = microseconds(draw.between(0, 20));
    words.lane = static_cast<uint8_t>(draw.between(8, 14));  // no priority of PFC
    setup.host.algorithms.back_pressure.set_line(f.link.rate);
    if (draw.percent(60)) setup.host.congestion = Algorithm::back_pressure;
    setup.fabric.telemetry = sim::wants_telemetry(setup);
}

// Some hosts belong together, some talk to those alone who are full members, some are nobody's.
void draw_tenants(uint64_t seed, sim::Setup& setup) {
    Draw draw(seed, Drawer::tenants, 0);
    if (!draw.percent(12)) return;
    if (draw.percent(50)) {
        setup.fabric.framing.encapsulation = wire::Encapsulation::infiniband_local;
        setup.fabric.node.enforces_partitions = draw.percent(70);
    }
    setup.tenants = {{"red", 1, 10, {}, {}}, {"blue", 2, 20, {}, {}}};
    for (uint32_t host = 0; host < setup.graph.host_count(); ++host)
        for (sim::Tenant& tenant : setup.tenants)
            if (draw.percent(50)) (draw.percent(80) ? tenant.full : tenant.limited).push_back(host);
}

void draw_work(uint64_t seed, sim::Setup& setup) {
    Draw draw(seed, Drawer::flows, 0);
    const auto hosts = static_cast<uint32_t>(setup.graph.host_count());
    const bool is_incast = draw.percent(30);
    const bool is_shift = !is_incast && draw.percent(15);  // what makes rings wait in a circle
    const uint32_t levels = draw.pick<uint32_t>({0, 0, 1, 3, 15});
    uint64_t budget = 1'500'000;
    for (uint32_t i = draw.pick<uint32_t>({1, 4, 12, 40}); i != 0; --i) {
        sim::Flow flow;
        flow.source = draw.between(0, hosts - 1);
        flow.destination = is_incast ? 0 : draw.between(0, hosts - 1);
        if (is_shift) flow.destination = (flow.source + 2) % hosts;
        if (flow.source == flow.destination) flow.source = (flow.source + 1) % hosts;
        flow.bytes = std::min(is_shift ? 200'000 : draw_bytes(draw, setup.host.mtu), budget);
        budget -= flow.bytes;
        flow.start =
            base::Instant{} +
            base::Duration{draw.percent(50) ? 0 : draw.between(0, 50'000) * int64_t{1'000}};
        flow.operation = draw.pick({sim::Verb::write, sim::Verb::send, sim::Verb::read});
        flow.service_level = static_cast<uint8_t>(draw.between(0, levels));
        flow.traffic_class = static_cast<uint8_t>(draw.between(0, levels) << 2);
        if (draw.percent(10)) flow.port = static_cast<uint16_t>(draw.between(1, 0xffff));
        setup.flows.push_back(flow);
    }
    if (!setup.host.paths.are_several()) draw_paths(seed, setup);
}

void draw_faults(uint64_t seed, sim::Setup& setup) {
    Draw draw(seed, Drawer::faults, 0);
    if (draw.percent(35))
        for (uint32_t i = draw.between(1, 4); i != 0; --i) draw_fault(draw, setup);
    if (draw.percent(10) && setup.fabric.flow_control == fabric::FlowControl::pfc) {
        sim::QosOverride qos;
        qos.node = draw.between(0, static_cast<uint32_t>(setup.graph.nodes.size() - 1));
        qos.pfc_priorities = static_cast<uint16_t>(draw.between(0, 0xff));
        qos.ets = setup.fabric.ets;
        qos.willing = draw.percent(50);
        setup.qos.push_back(qos);
    }
}

sim::Setup draw_setup(uint64_t seed) {
    sim::Setup setup;
    setup.seed = seed;
    setup.graph = draw_graph(seed);
    draw_fabric(seed, setup);
    draw_hosts(seed, setup);
    draw_delivery(seed, setup);
    draw_datagrams(seed, setup.host);
    draw_telemetry(seed, setup);
    draw_detours(seed, setup);
    draw_loads(seed, setup);
    draw_work(seed, setup);
    draw_program(seed, setup);
    if (setup.program.empty()) draw_tenants(seed, setup);
    draw_faults(seed, setup);
    Draw draw(seed, Drawer::rest, 0);
    if (draw.percent(20)) setup.stop = base::Instant{} + microseconds(draw.between(0, 200));
    setup.trace = draw.percent(20);
    if (draw.percent(20))
        setup.taps.push_back(
            {draw.between(0, static_cast<uint32_t>(setup.graph.cables.size() - 1))});
    return setup;
}

}  // namespace tulle::fabric_swarm
