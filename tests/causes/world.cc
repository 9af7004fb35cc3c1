#include "world.h"

#include <algorithm>

#include "base/check.h"
#include "drive/run.h"
#include "topology/builders.h"
#include "workload/collectives/collective.h"

namespace tulle::causes {
namespace {

constexpr uint64_t kGiga = 1'000'000'000;
constexpr uint8_t kLosslessLevel = 3;
constexpr uint8_t kEcnCapable = 2;

void use_credits(Draw& draw, sim::Setup& setup) {
    fabric::Settings& f = setup.fabric;
    f.flow_control = fabric::FlowControl::credits;
    f.link.gap_bytes = 0;
    f.framing.encapsulation = wire::Encapsulation::infiniband_local;
    f.framing.envelope_bytes = 14;
    f.framing.minimum_bytes = 0;
    f.credits.lane_buffer_bytes = draw.pick<uint32_t>({64 << 10, 96 << 10, 128 << 10});
    f.node.forwarding = fabric::Forwarding::cut_through;
}

void use_pfc(Draw& draw, sim::Setup& setup) {
    fabric::PfcSettings& pfc = setup.fabric.pfc;
    setup.fabric.flow_control = fabric::FlowControl::pfc;
    pfc.priorities = 1 << kLosslessLevel;
    pfc.dynamic_threshold = draw.percent(50);
    pfc.xoff_bytes = draw.between(200, 600) * uint64_t{1'000};
    pfc.response_time = nanoseconds(draw.between(0, 1'000));
}

void use_dcqcn(Draw& draw, sim::Setup& setup) {
    fabric::EcnSettings& ecn = setup.fabric.ecn;
    setup.fabric.marking = fabric::Marking::ecn;
    ecn.kmin_bytes = draw.between(100, 400) * uint64_t{1'000};
    ecn.kmax_bytes = 4 * ecn.kmin_bytes;
    setup.fabric.ets.strict = 1 << 6;
    setup.host.congestion = transport::Algorithm::dcqcn;
    setup.host.notifications.interval = nanoseconds(4'000);
    setup.host.algorithms.dcqcn.min_rate_bps = kGiga;
    setup.host.algorithms.dcqcn.additive_bps = kGiga;
    setup.host.algorithms.dcqcn.hyper_bps = 5 * kGiga;
    setup.host.algorithms.dcqcn.increase_interval =
        nanoseconds(draw.pick<uint32_t>({10'000, 55'000}));
}

void use_hosts(Draw& draw, sim::HostSettings& host) {
    host.mtu = draw.pick<uint32_t>({1024, 2048, 4096, 4096});
    host.ack_every = draw.pick<uint32_t>({1, 4, 16});
    host.ack_timeout = static_cast<uint8_t>(draw.between(6, 9));  // 0.26 to 2.1 ms
    host.send_latency = nanoseconds(draw.between(0, 1'200));
    host.receive_latency = nanoseconds(draw.between(0, 1'200));
    host.reaction = nanoseconds(draw.between(300, 1'000));
}

std::vector<std::vector<uint32_t>> hosts_by_leaf(const topology::Graph& graph) {
    std::vector<std::vector<uint32_t>> by_leaf(graph.nodes.size());
    for (uint32_t host = 0; host < graph.host_count(); ++host)
        by_leaf[leaf_of(graph, host)].push_back(host);
    std::erase_if(by_leaf, [](const auto& hosts) { return hosts.empty(); });
    return by_leaf;
}

}  // namespace

sim::Setup draw_settings(Draw& draw, std::initializer_list<Technology> technologies) {
    sim::Setup setup;
    setup.fabric_name = "fabric";
    setup.groups = {"the work"};
    setup.seed = draw.word();
    fabric::Settings& f = setup.fabric;
    const uint64_t rate = draw.pick<uint64_t>({100, 200, 400});
    f.link.rate = base::Rate::bits_per_second(rate * kGiga);
    f.link.delay = nanoseconds(draw.between(20, 300));
    if (draw.percent(50)) f.link.fec_delay = nanoseconds(110);
    f.node.latency = nanoseconds(draw.between(100, 800));
    f.node.buffer_bytes = uint64_t{draw.between(16, 64)} << 20;
    f.node.lossy_dynamic_threshold = false;
    if (draw.percent(30)) f.node.forwarding = fabric::Forwarding::cut_through;
    f.route.reroute_delay = nanoseconds(draw.between(1, 50) * 1'000);
    use_hosts(draw, setup.host);
    setup.host.algorithms.dcqcn.line_rate_bps = rate * kGiga;
    const Technology technology = draw.pick(technologies);
    if (technology == Technology::credits) use_credits(draw, setup);
    if (technology == Technology::pfc || technology == Technology::pfc_dcqcn) use_pfc(draw, setup);
    if (technology == Technology::pfc_dcqcn) use_dcqcn(draw, setup);
    if (technology == Technology::lossy && draw.percent(40))
        setup.host.loss = transport::LossPolicy::selective_repeat;
    return setup;
}

topology::Graph draw_star(Draw& draw) {
    return *topology::build(topology::Star{draw.between(3, 8)});
}

topology::Graph draw_leaf_spine(Draw& draw, uint32_t least_spines, uint32_t most_spines,
                                uint32_t least_hosts) {
    return *topology::build(topology::LeafSpine{.leaves = draw.between(2, 4),
                                                .spines = draw.between(least_spines, most_spines),
                                                .hosts = draw.between(least_hosts, 5)});
}

topology::Graph draw_graph(Draw& draw) {
    switch (draw.between(0, 4)) {
        case 0:
        case 1: return draw_star(draw);
        case 2: return *topology::build(topology::FatTree{.k = 4});
        default: return draw_leaf_spine(draw, 1, 4, 2);
    }
}

uint32_t node_of(const topology::Graph& graph, uint32_t host) {
    return graph.endpoints()[host];
}

uint32_t host_cable(const topology::Graph& graph, uint32_t host) {
    return topology::Ports(graph).at({node_of(graph, host), 0}).cable;
}

uint32_t leaf_of(const topology::Graph& graph, uint32_t host) {
    return topology::Ports(graph).at({node_of(graph, host), 0}).peer.node;
}

bool are_neighbours(const topology::Graph& graph, uint32_t a, uint32_t b) {
    return leaf_of(graph, a) == leaf_of(graph, b);
}

std::vector<uint32_t> neighbours_of(const topology::Graph& graph, uint32_t host) {
    std::vector<uint32_t> neighbours;
    for (uint32_t other = 0; other < graph.host_count(); ++other)
        if (other != host && are_neighbours(graph, host, other)) neighbours.push_back(other);
    return neighbours;
}

Pair draw_pair(Draw& draw, const topology::Graph& graph) {
    const auto hosts = static_cast<uint32_t>(graph.host_count());
    const uint32_t source = draw.between(0, hosts - 1);
    return {source, (source + draw.between(1, hosts - 1)) % hosts};
}

Pair draw_distant_pair(Draw& draw, const topology::Graph& graph) {
    for (;;) {
        const Pair pair = draw_pair(draw, graph);
        if (!are_neighbours(graph, pair.source, pair.destination)) return pair;
    }
}

sim::Flow flow_of(const sim::Setup& setup, Pair pair, uint64_t bytes) {
    sim::Flow flow;
    flow.source = pair.source;
    flow.destination = pair.destination;
    flow.bytes = bytes;
    if (setup.fabric.flow_control == fabric::FlowControl::pfc) flow.service_level = kLosslessLevel;
    if (setup.fabric.marking == fabric::Marking::ecn) flow.traffic_class = kEcnCapable;
    return flow;
}

uint64_t draw_bytes(Draw& draw) {
    return draw.between(100, 3'000) * uint64_t{1'000} + draw.between(0, 999);
}

// On a leaf of their own two hosts share nothing with anybody but the switch.
Pair add_flows(Draw& draw, sim::Setup& setup, Pair pair, uint64_t bytes) {
    setup.flows.push_back(flow_of(setup, pair, bytes));
    if (!draw.percent(60)) return pair;
    for (std::vector<uint32_t>& hosts : hosts_by_leaf(setup.graph)) {
        std::erase_if(
            hosts, [&](uint32_t host) { return host == pair.source || host == pair.destination; });
        for (size_t i = 0; i + 1 < hosts.size(); i += 2)
            if (draw.percent(50))
                setup.flows.push_back(
                    flow_of(setup, {hosts[i], hosts[i + 1]}, bytes / draw.between(4, 40) + 1));
    }
    return pair;
}

void add_ring(Draw& draw, sim::Setup& setup, uint64_t bytes) {
    using workload::Collective;
    const auto hosts = static_cast<uint32_t>(setup.graph.host_count());
    std::vector<workload::Member> members;
    for (uint32_t rank = 0; rank < hosts; ++rank) {
        setup.ranks.push_back({rank});
        members.push_back({rank, rank, 0});
    }
    const sim::Flow like = flow_of(setup, {}, 0);
    workload::Job job{.name = "training"};
    job.service_level = like.service_level;
    job.traffic_class = like.traffic_class;
    workload::CollectiveOptions options;
    options.collective = draw.pick({Collective::all_reduce, Collective::all_gather});
    options.algorithm = workload::Algorithm::ring;
    options.channels = 1;
    options.bytes = bytes;
    workload::JobBuilder builder(setup.program, job, workload::Placement(members, false));
    workload::append(builder, "ring", options);
    builder.end();
}

Pair add_work(Draw& draw, sim::Setup& setup) {
    if (draw.percent(70))
        return add_flows(draw, setup, draw_pair(draw, setup.graph), draw_bytes(draw));
    add_ring(draw, setup, draw_bytes(draw));
    const auto hosts = static_cast<uint32_t>(setup.graph.host_count());
    const uint32_t rank = draw.between(0, hosts - 1);
    return {rank, (rank + 1) % hosts};
}

std::vector<Place> path_of(const sim::Setup& setup, Pair pair) {
    const auto result = drive::run(setup, {.explains = true});
    TULLE_CHECK(result.ok());
    std::vector<Place> path;
    const topology::Ports ports(setup.graph);
    topology::CableEnd at{node_of(setup.graph, pair.source), 0};
    const auto crosses = [&](topology::CableEnd end) {
        const auto& link = ports.at(end);
        if (!link.is_cabled()) return false;
        const Place place = fabric::place_of(link.cable, setup.graph.cables[link.cable].a == end);
        return std::ranges::any_of(result->account.crossings, [&](const auto& crossing) {
            return crossing.place == place && crossing.source == pair.source &&
                   crossing.destination == pair.destination;
        });
    };
    while (crosses(at) && path.size() < 16) {
        const auto& link = ports.at(at);
        path.push_back(fabric::place_of(link.cable, setup.graph.cables[link.cable].a == at));
        const uint32_t next = link.peer.node;
        if (setup.graph.nodes[next].is_host()) break;
        for (uint16_t port = 0; port < setup.graph.nodes[next].port_count; ++port)
            if (crosses({next, port})) at = {next, port};
    }
    return path;
}

bool is_flow_last(const sim::Setup& setup) {
    const auto result = drive::run(setup, {});
    const Instant end = setup.flows[0].start + result->flows[0].completion;
    return std::ranges::all_of(result->phases, [&](const auto& phase) { return phase.end < end; });
}

std::optional<Duration> time_of(const sim::Setup& setup) {
    const auto result = drive::run(setup, {});
    if (!result || result->end != sim::Result::End::done) return std::nullopt;
    Duration time{};
    for (size_t i = 0; i < setup.flows.size(); ++i) {
        if (!result->flows[i].finished || result->flows[i].status != transport::Status::success)
            return std::nullopt;
        time = std::max(time, setup.flows[i].start + result->flows[i].completion - Instant{});
    }
    for (const sim::PhaseResult& phase : result->phases) {
        if (!phase.finished) return std::nullopt;
        time = std::max(time, phase.end - Instant{});
    }
    return time;
}

}  // namespace tulle::causes
