// Cables, and what becomes of them.
#include <algorithm>

#include "plants.h"

namespace tulle::causes {
namespace {

using report::CauseKind;
using sim::Fault;

Place pick(Draw& draw, const std::vector<Place>& places) {
    return places[draw.between(0, static_cast<uint32_t>(places.size() - 1))];
}

// Of a path, those between switches; all where there are none.
std::vector<Place> inner(const std::vector<Place>& path) {
    if (path.size() <= 2) return path;
    return {path.begin() + 1, path.end() - 1};
}

void slow_down(Draw& draw, sim::Setup& setup, uint32_t cable) {
    const base::Rate rate = setup.fabric.link.rate;
    const uint64_t bps = 8'000'000'000'000 / rate.numerator() * rate.denominator();
    setup.graph.cables[cable].rate_bps = bps / draw.between(2, 8);
}

Case slow_cable(Draw& draw) {
    Case drawn;
    drawn.without = draw_settings(draw, kLossless);
    drawn.without.graph = draw_graph(draw);
    const Pair pair = add_work(draw, drawn.without);
    const Place place = pick(draw, inner(path_of(drawn.without, pair)));
    drawn.with = drawn.without;
    slow_down(draw, drawn.with, place / 2);
    drawn.answers = {{CauseKind::slow_cable, cable_name(drawn.with, place / 2)}};
    return drawn;
}

Case slow_adapter_link(Draw& draw) {
    Case drawn;
    drawn.without = draw_settings(draw, kLossless);
    drawn.without.graph = draw_graph(draw);
    const Pair pair = add_work(draw, drawn.without);
    drawn.with = drawn.without;
    const uint32_t host = draw.percent(50) ? pair.source : pair.destination;
    const uint32_t cable = host_cable(drawn.with.graph, host);
    slow_down(draw, drawn.with, cable);
    drawn.answers = {{CauseKind::slow_cable, cable_name(drawn.with, cable)}};
    return drawn;
}

Case long_cable(Draw& draw) {
    Case drawn;
    drawn.without = draw_settings(draw, kAnyTechnology);
    drawn.without.host.ack_timeout = 12;
    drawn.without.graph = draw_graph(draw);
    const Pair pair = add_work(draw, drawn.without);
    const Place place = pick(draw, path_of(drawn.without, pair));
    drawn.with = drawn.without;
    drawn.with.graph.cables[place / 2].delay = nanoseconds(draw.between(5'000, 200'000));
    drawn.answers = {{CauseKind::long_cable, cable_name(drawn.with, place / 2)}};
    return drawn;
}

Case lossy_cable(Draw& draw) {
    Case drawn;
    drawn.without = draw_settings(draw, kAnyTechnology);
    drawn.without.graph = draw_graph(draw);
    const Pair pair = add_work(draw, drawn.without);
    const Place place = pick(draw, path_of(drawn.without, pair));
    drawn.with = drawn.without;
    drawn.with.graph.cables[place / 2].loss_per_trillion =
        draw.between(500, 30'000) * uint64_t{1'000'000};
    drawn.answers = {{CauseKind::lossy_cable, cable_name(drawn.with, place / 2)}};
    return drawn;
}

Case link_retries(Draw& draw) {
    Case drawn;
    drawn.without = draw_settings(draw, kAnyTechnology);
    drawn.without.fabric.link.bit_errors = fabric::BitErrors::retransmitted;
    drawn.without.graph = draw_graph(draw);
    const Pair pair = add_work(draw, drawn.without);
    const Place place = pick(draw, path_of(drawn.without, pair));
    drawn.with = drawn.without;
    drawn.with.graph.cables[place / 2].loss_per_trillion =
        draw.between(50, 400) * uint64_t{1'000'000'000};
    // Both directions have errors. Where the link gives a packet up, it is lost on that cable.
    drawn.answers = {{CauseKind::link_retries, link_name(drawn.with, place)},
                     {CauseKind::link_retries, link_name(drawn.with, place ^ 1)},
                     {CauseKind::lossy_cable, cable_name(drawn.with, place / 2)}};
    return drawn;
}

void add_fault(sim::Setup& setup, Fault::Kind kind, Instant at, uint32_t subject) {
    setup.faults.push_back({.kind = kind, .at = at, .subject = subject});
}

// Somewhere in the first two thirds of what a run takes.
Instant draw_instant(Draw& draw, const sim::Setup& setup) {
    const auto time = time_of(setup);
    return Instant{} + (time ? *time : Duration{}) * draw.between(5, 65) / 100;
}

Case cable_flaps(Draw& draw) {
    Case drawn;
    drawn.without = draw_settings(draw, kAnyTechnology);
    drawn.without.graph = draw_star(draw);
    const Pair pair = add_work(draw, drawn.without);
    drawn.with = drawn.without;
    const uint32_t cable =
        host_cable(drawn.with.graph, draw.percent(50) ? pair.source : pair.destination);
    const Instant at = draw_instant(draw, drawn.without);
    add_fault(drawn.with, Fault::Kind::cable_down, at, cable);
    add_fault(drawn.with, Fault::Kind::cable_up, at + nanoseconds(draw.between(5'000, 300'000)),
              cable);
    drawn.answers = {{CauseKind::link_down, cable_name(drawn.with, cable)}};
    return drawn;
}

// A path with another one beside it.
Case rerouted(Draw& draw, Pair& pair) {
    Case drawn;
    drawn.without = draw_settings(draw, kAnyTechnology);
    drawn.without.graph = draw_leaf_spine(draw, 2, 4, 2);
    pair = add_flows(draw, drawn.without, draw_distant_pair(draw, drawn.without.graph),
                     draw_bytes(draw));
    drawn.with = drawn.without;
    return drawn;
}

Case cable_breaks(Draw& draw) {
    Pair pair;
    Case drawn = rerouted(draw, pair);
    const Place place = pick(draw, inner(path_of(drawn.without, pair)));
    add_fault(drawn.with, Fault::Kind::cable_down, draw_instant(draw, drawn.without), place / 2);
    drawn.answers = {{CauseKind::link_down, cable_name(drawn.with, place / 2)}};
    return drawn;
}

Case switch_breaks(Draw& draw) {
    Pair pair;
    Case drawn = rerouted(draw, pair);
    const Place up = path_of(drawn.without, pair)[1];
    const topology::Cable& cable = drawn.with.graph.cables[up / 2];
    const uint32_t spine = up % 2 == 0 ? cable.b.node : cable.a.node;
    add_fault(drawn.with, Fault::Kind::switch_down, draw_instant(draw, drawn.without), spine);
    drawn.answers = {{CauseKind::link_down, drawn.with.graph.nodes[spine].name}};
    return drawn;
}

// Two flows had an uplink each; from the beginning there is only one.
Case cable_is_missing(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kAnyTechnology);
    setup.graph = draw_leaf_spine(draw, 2, 2, 2);
    setup.fabric.route.reroute_delay = {};
    const Pair first = draw_distant_pair(draw, setup.graph);
    const Pair second{neighbours_of(setup.graph, first.source)[0],
                      neighbours_of(setup.graph, first.destination)[0]};
    const uint64_t bytes = draw_bytes(draw);
    setup.flows = {flow_of(setup, first, bytes), flow_of(setup, second, bytes)};
    setup.flows[0].port = static_cast<uint16_t>(draw.between(1'000, 60'000));
    setup.flows[1].port = static_cast<uint16_t>(draw.between(1'000, 60'000));
    const Place up = path_of(setup, second)[1];
    drawn.is_void = path_of(setup, first)[1] == up;
    drawn.with = setup;
    add_fault(drawn.with, Fault::Kind::cable_down, Instant{}, up / 2);
    drawn.answers = {{CauseKind::link_down, cable_name(setup, up / 2)}};
    return drawn;
}

}  // namespace

const std::vector<Plant> kCablePlants = {
    {"slow cable", slow_cable},
    {"slow link of an adapter", slow_adapter_link},
    {"long cable", long_cable},
    {"lossy cable", lossy_cable},
    {"bit errors that the link repairs", link_retries},
    {"cable flaps", cable_flaps},
    {"cable breaks", cable_breaks},
    {"switch breaks", switch_breaks},
    {"cable is missing", cable_is_missing},
};

}  // namespace tulle::causes
