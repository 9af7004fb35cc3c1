// Work that shares something.
#include <algorithm>

#include "plants.h"

namespace tulle::causes {
namespace {

using report::CauseKind;

// Everybody but the pair, in a random order.
std::vector<uint32_t> others(Draw& draw, const topology::Graph& graph, Pair pair) {
    std::vector<uint32_t> hosts;
    for (uint32_t host = 0; host < graph.host_count(); ++host)
        if (host != pair.source && host != pair.destination) hosts.push_back(host);
    draw.shuffle(hosts);
    return hosts;
}

Case incast(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kAnyTechnology);
    setup.graph = draw.percent(60) ? draw_star(draw) : draw_leaf_spine(draw, 1, 4, 3);
    const Pair pair = draw_pair(draw, setup.graph);
    const uint64_t bytes = draw_bytes(draw);
    setup.flows = {flow_of(setup, pair, bytes)};
    drawn.with = setup;
    // Neighbours of the receiver, so that they meet at its link and not before.
    std::vector<uint32_t> senders = neighbours_of(setup.graph, pair.destination);
    std::erase(senders, pair.source);
    draw.shuffle(senders);
    senders.resize(draw.between(1, static_cast<uint32_t>(senders.size())));
    for (const uint32_t sender : senders)
        drawn.with.flows.push_back(flow_of(setup, {sender, pair.destination}, bytes));
    drawn.answers = {{CauseKind::incast, link_name(setup, place_to_host(setup, pair.destination))}};
    return drawn;
}

sim::Flow flow_of_others(const sim::Setup& setup, Pair pair, uint64_t bytes) {
    sim::Flow flow = flow_of(setup, pair, bytes);
    flow.group = 1;
    return flow;
}

// Another piece of work on the only uplink.
Case other_work_on_uplink(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kAnyTechnology);
    setup.graph = draw_leaf_spine(draw, 1, 1, 3);
    setup.groups.push_back("backup");
    const Pair pair = draw_distant_pair(draw, setup.graph);
    const uint64_t bytes = draw_bytes(draw);
    setup.flows = {flow_of(setup, pair, bytes)};
    drawn.with = setup;
    const std::vector<uint32_t> from = neighbours_of(setup.graph, pair.source);
    const std::vector<uint32_t> to = neighbours_of(setup.graph, pair.destination);
    const auto most = static_cast<uint32_t>(std::min(from.size(), to.size()));
    const uint32_t count = draw.between(1, most);
    for (uint32_t i = 0; i < count; ++i)
        drawn.with.flows.push_back(
            flow_of_others(setup, {from[i], to[i]}, bytes * draw.between(40, 80) / 100));
    drawn.answers = {{CauseKind::other_work, link_name(setup, path_of(setup, pair)[1])}};
    return drawn;
}

Case other_work_at_receiver(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kAnyTechnology);
    setup.graph = draw_star(draw);
    setup.groups.push_back("storage");
    const Pair pair = draw_pair(draw, setup.graph);
    const uint64_t bytes = draw_bytes(draw);
    setup.flows = {flow_of(setup, pair, bytes)};
    drawn.with = setup;
    std::vector<uint32_t> senders = others(draw, setup.graph, pair);
    senders.resize(draw.between(1, static_cast<uint32_t>(senders.size())));
    for (const uint32_t sender : senders)
        drawn.with.flows.push_back(
            flow_of_others(setup, {sender, pair.destination}, bytes * draw.between(40, 80) / 100));
    drawn.answers = {
        {CauseKind::other_work, link_name(setup, place_to_host(setup, pair.destination))}};
    return drawn;
}

// A collective, and flows of others to one of its hosts.
Case other_work_beside_program(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kLossless);
    setup.graph = draw_star(draw);
    setup.groups = {"storage"};
    const uint64_t bytes = draw_bytes(draw);
    add_ring(draw, setup, bytes);
    drawn.with = setup;
    const auto time = time_of(setup);
    const Pair pair = draw_pair(draw, setup.graph);
    const uint64_t rate = 1'000'000'000'000 / setup.fabric.link.rate.numerator();  // bytes a second
    const auto most = static_cast<uint64_t>(time->ps) / 1'000'000 * rate / 1'000'000;
    drawn.with.flows.push_back(flow_of(setup, pair, most * draw.between(20, 60) / 100 + 1));
    drawn.is_void = is_flow_last(drawn.with);
    // The flow leaves by the sender's adapter, where it shares the line with the ring, and arrives
    // by the receiver's link, where it does too: the ring waits at either.
    drawn.answers = {
        {CauseKind::other_work, link_name(setup, place_to_host(setup, pair.destination))},
        {CauseKind::other_work, host_name(setup, pair.source)}};
    return drawn;
}

// Flows of a leaf to another, each by a spine of its own, and then by the same.
Case paths_collide(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kAnyTechnology);
    setup.graph = draw_leaf_spine(draw, 2, 4, 2);
    const Pair pair = draw_distant_pair(draw, setup.graph);
    const Pair other{neighbours_of(setup.graph, pair.source)[0],
                     neighbours_of(setup.graph, pair.destination)[0]};
    const uint64_t bytes = draw_bytes(draw);
    setup.flows = {flow_of(setup, pair, bytes), flow_of(setup, other, bytes)};
    for (sim::Flow& flow : setup.flows) flow.port = static_cast<uint16_t>(draw.between(1, 65'000));
    drawn.with = setup;
    drawn.with.flows[1].port = static_cast<uint16_t>(draw.between(1, 65'000));
    const Place up = path_of(setup, pair)[1];
    drawn.is_void = path_of(setup, other)[1] == up || path_of(drawn.with, other)[1] != up;
    drawn.answers = {{CauseKind::uneven_paths, link_name(setup, up)}};
    return drawn;
}

// All hosts of a leaf send to another, by uplinks that cannot carry that.
Case too_few_uplinks(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.with = draw_settings(draw, kAnyTechnology);
    setup.graph = draw_leaf_spine(draw, 1, 1, 2);
    const Pair pair = draw_distant_pair(draw, setup.graph);
    const uint64_t bytes = draw_bytes(draw);
    setup.flows = {flow_of(setup, pair, bytes)};
    const std::vector<uint32_t> from = neighbours_of(setup.graph, pair.source);
    const std::vector<uint32_t> to = neighbours_of(setup.graph, pair.destination);
    for (size_t i = 0; i < from.size(); ++i)
        setup.flows.push_back(flow_of(setup, {from[i], to[i]}, bytes));
    drawn.without = setup;
    const base::Rate rate = setup.fabric.link.rate;
    for (topology::Cable& cable : drawn.without.graph.cables)
        if (!setup.graph.nodes[cable.a.node].is_host() &&
            !setup.graph.nodes[cable.b.node].is_host())
            cable.rate_bps = 8'000'000'000'000 / rate.numerator() * rate.denominator() * 8;
    drawn.answers = {{CauseKind::oversubscribed, link_name(setup, path_of(setup, pair)[1])}};
    return drawn;
}

Case adapter_is_shared(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kAnyTechnology);
    setup.graph = draw_star(draw);
    const Pair pair = draw_pair(draw, setup.graph);
    const uint64_t bytes = draw_bytes(draw);
    setup.flows = {flow_of(setup, pair, bytes)};
    drawn.with = setup;
    std::vector<uint32_t> receivers = others(draw, setup.graph, pair);
    receivers.resize(draw.between(1, static_cast<uint32_t>(receivers.size())));
    for (const uint32_t receiver : receivers)
        drawn.with.flows.push_back(flow_of(setup, {pair.source, receiver}, bytes));
    drawn.answers = {{CauseKind::shared_adapter, host_name(setup, pair.source)}};
    return drawn;
}

// Hosts near a receiver fill its link. One that is far sends to it too, and its packets, which have
// to wait, stand before those of a flow to the receiver's neighbour.
Case stands_behind_others(Draw& draw, bool are_of_one_group) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, {Technology::credits, Technology::pfc});
    setup.graph = draw_leaf_spine(draw, 1, 1, 5);
    setup.fabric.pfc.dynamic_threshold = false;
    setup.fabric.pfc.xoff_bytes = draw.between(20, 60) * uint64_t{1'000};
    setup.groups.push_back("others");
    const Pair pair = draw_distant_pair(draw, setup.graph);
    const uint64_t bytes = draw.between(1'000, 3'000) * uint64_t{1'000};
    const uint32_t full = neighbours_of(setup.graph, pair.destination)[0];
    std::vector<uint32_t> near = neighbours_of(setup.graph, full);
    std::erase(near, pair.destination);
    const uint64_t each = bytes * draw.between(90, 99) / 100 / (near.size() + 1);
    const auto flow_to_full = [&](uint32_t sender) {
        sim::Flow flow = flow_of(setup, {sender, full}, each);
        flow.group = are_of_one_group ? 0 : 1;
        return flow;
    };
    setup.flows = {flow_of(setup, pair, bytes),
                   flow_to_full(neighbours_of(setup.graph, pair.source)[0])};
    drawn.with = setup;
    for (const uint32_t sender : near) drawn.with.flows.push_back(flow_to_full(sender));
    drawn.answers = {{are_of_one_group ? CauseKind::victim : CauseKind::other_work,
                      link_name(setup, place_to_host(setup, full))}};
    return drawn;
}

Case victim(Draw& draw) {
    return stands_behind_others(draw, true);
}

Case victim_of_other_work(Draw& draw) {
    return stands_behind_others(draw, false);
}

}  // namespace

const std::vector<Plant> kSharingPlants = {
    {"incast", incast},
    {"other work on the uplink", other_work_on_uplink},
    {"other work at the receiver", other_work_at_receiver},
    {"other work beside a program", other_work_beside_program},
    {"paths collide", paths_collide},
    {"too few uplinks", too_few_uplinks},
    {"shared adapter", adapter_is_shared},
    {"victim", victim},
    {"victim of other work", victim_of_other_work},
};

}  // namespace tulle::causes
