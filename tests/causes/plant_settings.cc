// Settings of the fabric and of the transport that do not fit the work.
#include <algorithm>

#include "plants.h"

namespace tulle::causes {
namespace {

using report::CauseKind;

Case window(Draw& draw) {
    Case drawn;
    drawn.without = draw_settings(draw, kAnyTechnology);
    drawn.without.graph = draw_graph(draw);
    drawn.without.host.ack_every = 1;
    add_work(draw, drawn.without);
    drawn.with = drawn.without;
    drawn.with.host.window_packets = draw.between(1, 12);
    drawn.answers = {{CauseKind::window, ""}};
    return drawn;
}

Case rate_limit(Draw& draw) {
    Case drawn;
    drawn.without = draw_settings(draw, {Technology::credits, Technology::pfc, Technology::lossy});
    drawn.without.graph = draw_graph(draw);
    add_work(draw, drawn.without);
    drawn.with = drawn.without;
    drawn.with.host.congestion = transport::Algorithm::fixed_rate;
    drawn.with.host.algorithms.fixed_rate.rate_bps =
        drawn.with.host.algorithms.dcqcn.line_rate_bps / 100 * draw.between(10, 75);
    drawn.answers = {{CauseKind::rate_limit, ""}};
    return drawn;
}

// Several senders and one receiver on a star.
Pair add_incast(Draw& draw, sim::Setup& setup, uint32_t least, uint32_t most) {
    setup.graph = draw_star(draw);
    const Pair pair = draw_pair(draw, setup.graph);
    const uint64_t bytes = draw_bytes(draw);
    uint32_t left = draw.between(least, most);
    for (uint32_t host = 0; host < setup.graph.host_count() && left != 0; ++host) {
        if (host == pair.destination) continue;
        setup.flows.push_back(flow_of(setup, {host, pair.destination}, bytes));
        --left;
    }
    return pair;
}

// Two senders; the first marks bring their rates down, and the receiver's link falls idle.
Case marks_too_early(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, {Technology::pfc_dcqcn});
    const Pair pair = add_incast(draw, setup, 2, 2);
    setup.fabric.ecn.kmin_bytes = 8'000'000;
    setup.fabric.ecn.kmax_bytes = 9'000'000;
    setup.host.algorithms.dcqcn.increase_interval = nanoseconds(draw.between(100'000, 300'000));
    setup.host.algorithms.dcqcn.additive_bps = 100'000'000;
    drawn.with = setup;
    drawn.with.fabric.ecn.kmin_bytes = draw.between(0, 20) * uint64_t{1'000};
    drawn.with.fabric.ecn.kmax_bytes = drawn.with.fabric.ecn.kmin_bytes + 20'000;
    drawn.with.fabric.ecn.pmax_millionths = 1'000'000;
    drawn.answers = {
        {CauseKind::congestion_control, link_name(setup, place_to_host(setup, pair.destination))}};
    return drawn;
}

Case buffer_overflows(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, {Technology::lossy});
    const Pair pair = add_incast(draw, setup, 2, 7);
    setup.fabric.node.buffer_bytes = 64 << 20;
    drawn.with = setup;
    drawn.with.fabric.node.buffer_bytes = draw.between(30, 400) * uint64_t{1'000};
    drawn.answers = {
        {CauseKind::buffer_overflow, link_name(setup, place_to_host(setup, pair.destination))}};
    return drawn;
}

// Long cables, so that much is under way when the pause is sent.
Case headroom_overflows(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, {Technology::pfc});
    const Pair pair = add_incast(draw, setup, 2, 7);
    setup.fabric.link.delay = nanoseconds(draw.between(1'000, 3'000));
    setup.fabric.pfc.dynamic_threshold = false;
    setup.fabric.pfc.xoff_bytes = draw.between(40, 120) * uint64_t{1'000};
    drawn.with = setup;
    drawn.with.fabric.pfc.headroom_bytes = draw.between(1, 8) * uint64_t{1'000};
    drawn.answers = {
        {CauseKind::headroom_overflow, link_name(setup, place_to_host(setup, pair.destination))}};
    return drawn;
}

// A sender that does not heed pauses.
Case settings_disagree(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, {Technology::pfc});
    add_incast(draw, setup, 2, 3);
    setup.fabric.pfc.dynamic_threshold = false;
    setup.fabric.pfc.xoff_bytes = draw.between(20, 60) * uint64_t{1'000};
    drawn.with = setup;
    const uint32_t deaf = setup.flows[draw.between(0, 1)].source;
    sim::QosOverride qos;
    qos.node = node_of(setup.graph, deaf);
    qos.pfc_priorities = 1 << 5;
    qos.ets = setup.fabric.ets;
    drawn.with.qos = {qos};
    drawn.answers = {
        {CauseKind::settings_disagree, cable_name(setup, host_cable(setup.graph, deaf))}};
    return drawn;
}

// The receiver's leaf pauses the uplink, for longer than the watchdog likes.
Case watchdog(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, {Technology::pfc});
    setup.graph = draw_leaf_spine(draw, 1, 1, 3);
    setup.fabric.pfc.dynamic_threshold = false;
    setup.fabric.pfc.xon_offset_bytes = draw.between(50, 150) * uint64_t{1'000};
    const Pair pair = draw_distant_pair(draw, setup.graph);
    const uint64_t bytes = draw_bytes(draw);
    setup.flows = {flow_of(setup, pair, bytes)};
    for (const uint32_t sender : neighbours_of(setup.graph, pair.destination))
        setup.flows.push_back(flow_of(setup, {sender, pair.destination}, bytes));
    drawn.with = setup;
    drawn.with.fabric.pfc.watchdog = nanoseconds(draw.between(2'000, 20'000));
    drawn.with.fabric.pfc.watchdog_restore = nanoseconds(draw.between(5'000, 50'000));
    // What the watchdog throws away is in the queues of a port that was paused. Both ports before
    // the receiver's leaf are paused for as long as it is full.
    const std::vector<Place> path = path_of(setup, pair);
    drawn.answers = {{CauseKind::watchdog, link_name(setup, path[1])},
                     {CauseKind::watchdog, link_name(setup, path[2])}};
    return drawn;
}

Case lifetime_ends(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, {Technology::credits});
    setup.graph = draw_leaf_spine(draw, 1, 1, 3);
    const Pair pair = draw_distant_pair(draw, setup.graph);
    const uint64_t bytes = draw_bytes(draw);
    setup.flows = {flow_of(setup, pair, bytes)};
    for (const uint32_t sender : neighbours_of(setup.graph, pair.destination))
        setup.flows.push_back(flow_of(setup, {sender, pair.destination}, bytes));
    drawn.with = setup;
    drawn.with.fabric.credits.head_of_queue_lifetime =
        setup.fabric.link.rate.time_for(setup.host.mtu) * draw.between(50, 250) / 100;
    // Its first packet waits at either port before the receiver's leaf.
    const std::vector<Place> path = path_of(setup, pair);
    drawn.answers = {{CauseKind::head_of_queue, link_name(setup, path[1])},
                     {CauseKind::head_of_queue, link_name(setup, path[2])}};
    return drawn;
}

// Packets of one flow by spines whose cables differ.
Case reordering(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kAnyTechnology);
    setup.host.loss = transport::LossPolicy::go_back_n;
    setup.host.reorder_tolerance = 0;
    setup.graph = draw_leaf_spine(draw, 2, 4, 2);
    setup.fabric.link.delay = nanoseconds(draw.between(400, 900));
    for (topology::Cable& cable : setup.graph.cables)
        if (!setup.graph.nodes[cable.a.node].is_host() &&
            !setup.graph.nodes[cable.b.node].is_host())
            cable.delay = nanoseconds(draw.between(400, 1'500));
    add_flows(draw, setup, draw_distant_pair(draw, setup.graph), draw_bytes(draw));
    drawn.with = setup;
    drawn.with.fabric.route.choice = fabric::PathChoice::spray;
    drawn.answers = {{CauseKind::reordering, ""}};
    return drawn;
}

// Answers take longer than the timeout.
Case timeout_too_short(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kAnyTechnology);
    setup.host.loss = transport::LossPolicy::go_back_n;
    setup.graph = draw_graph(draw);
    setup.fabric.link.delay = nanoseconds(draw.between(1'500, 8'000));
    setup.host.window_packets = draw.between(60, 400);
    setup.host.ack_every = 16;
    add_work(draw, setup);
    drawn.with = setup;
    drawn.with.host.ack_timeout = static_cast<uint8_t>(draw.between(0, 2) + 1);
    drawn.answers = {{CauseKind::early_timeout, ""}};
    return drawn;
}

// Buffers that hold less than a round trip. All switches have them, so any port of the path will
// do.
Case credits_too_few(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, {Technology::credits});
    setup.fabric.credits.lane_buffer_bytes = 128 << 10;
    setup.graph = draw_graph(draw);
    setup.fabric.link.delay = nanoseconds(draw.between(100, 600));
    const Pair pair = add_flows(draw, setup, draw_pair(draw, setup.graph), draw_bytes(draw));
    drawn.with = setup;
    drawn.with.fabric.credits.lane_buffer_bytes =
        setup.host.mtu + 128 + setup.fabric.credits.update_bytes + draw.between(0, 8'000);
    for (const Place place : path_of(drawn.with, pair))
        drawn.answers.push_back({CauseKind::small_buffer, link_name(setup, place)});
    return drawn;
}

// Pauses at once and ends them late: two senders are never both there.
Case pauses_too_early(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, {Technology::pfc});
    setup.fabric.link.delay = nanoseconds(draw.between(500, 3'000));
    const Pair pair = add_incast(draw, setup, 2, 3);
    setup.fabric.pfc.dynamic_threshold = false;
    setup.fabric.pfc.reserve_bytes = 0;
    setup.fabric.pfc.xoff_bytes = 600'000;
    drawn.with = setup;
    drawn.with.fabric.pfc.xoff_bytes = draw.between(1, 8) * uint64_t{1'000};
    drawn.with.fabric.pfc.xon_offset_bytes = drawn.with.fabric.pfc.xoff_bytes;
    drawn.answers = {
        {CauseKind::small_buffer, link_name(setup, place_to_host(setup, pair.destination))}};
    return drawn;
}

}  // namespace

const std::vector<Plant> kSettingPlants = {
    {"small window", window},
    {"rate limit", rate_limit},
    {"marks too early", marks_too_early},
    {"buffer overflows", buffer_overflows},
    {"headroom overflows", headroom_overflows},
    {"settings disagree", settings_disagree},
    {"watchdog", watchdog},
    {"lifetime at the head of a queue", lifetime_ends},
    {"reordering", reordering},
    {"timeout too short", timeout_too_short},
    {"too few credits", credits_too_few},
    {"pauses too early", pauses_too_early},
};

}  // namespace tulle::causes
