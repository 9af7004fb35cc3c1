// Programs: ranks on the hosts, some with a network inside their servers, and jobs of collectives,
// computing and storage, small enough that a run stays short.
#include <algorithm>

#include "topology/builders.h"
#include "workload/collectives/collective.h"
#include "workload/storage.h"
#include "world.h"

namespace tulle::fabric_swarm {
namespace {

using base::Duration;
using workload::Collective;
using workload::CollectiveOptions;
using workload::Member;

constexpr uint32_t kMostGpus = 12;
constexpr uint64_t kMostBytes = 400'000;  // that all messages of a phase have together, about
constexpr uint64_t kMostTasks = 1'500;    // of a phase
constexpr uint64_t kInside = uint64_t{1} << 40;  // added to the seed, for the network in servers

Duration nanoseconds(uint32_t count) {
    return {int64_t{count} * 1'000};
}

// What is drawn of a program before its jobs.
struct Servers {
    uint32_t count = 0;
    uint32_t gpus = 0;  // of each
};

sim::Toll draw_toll(Draw& draw) {
    sim::Toll toll;
    if (!draw.percent(30)) return toll;
    if (draw.percent(70)) toll.per_packet = nanoseconds(draw.between(1, 3'000));
    if (draw.percent(50))
        toll.rate = base::Rate::bits_per_second(draw.between(5, 500) * uint64_t{1'000'000'000});
    return toll;
}

void draw_costs(Draw& draw, sim::HostSettings& host) {
    // Often shorter than any cable.
    host.reaction = nanoseconds(draw.pick<uint32_t>({1, 7, 50, 500, 2'000}));
    host.send_toll = draw_toll(draw);
    host.receive_toll = draw_toll(draw);
    host.cpu.per_message_sent = nanoseconds(draw.between(0, 900));
    host.cpu.per_packet_received = nanoseconds(draw.between(0, 90));
    host.cpu.per_byte_sent_e18 = draw.between(0, 1'000'000'000);
}

void draw_staging(Draw& draw, sim::Staging& staging) {
    if (!draw.percent(25)) return;
    staging.is_on = true;
    staging.latency = nanoseconds(draw.between(0, 2'000));
    staging.rate = base::Rate::bits_per_second(draw.between(10, 500) * uint64_t{1'000'000'000});
    staging.cpu_per_copy = nanoseconds(draw.between(0, 500));
}

// Links that lose nothing, as a service without answers expects.
void make_lossless(fabric::Settings& fabric) {
    fabric.pfc.priorities = 0xff;
    fabric.pfc.headroom_bytes = 0;
    fabric.pfc.quanta = 0xffff;
    fabric.pfc.watchdog = {};
    fabric.link.error_rate_e18 = 0;
    fabric.link.whole_nanoseconds = false;
    fabric.credits.head_of_queue_lifetime = {};
    for (uint8_t& lane : fabric.qos.lane_of_level) lane &= 7;
}

void draw_islands(uint64_t seed, const Servers& servers, sim::Setup& setup) {
    Draw draw(seed, Drawer::islands, 0);
    if (servers.gpus < 2 || !draw.percent(80)) return;
    const auto inside = std::make_shared<sim::Setup>();
    inside->fabric_name = "islands";
    inside->seed = seed;
    inside->graph = *topology::build(topology::Islands{servers.count, servers.gpus});
    draw_fabric(seed + kInside, *inside);
    draw_hosts(seed + kInside, *inside);
    draw_costs(draw, inside->host);
    inside->fabric.flow_control = draw.pick(
        {fabric::FlowControl::pfc, fabric::FlowControl::pfc, fabric::FlowControl::credits});
    if (draw.percent(80)) make_lossless(inside->fabric);
    if (draw.percent(75)) {
        inside->host.service = sim::Service::unreliable;
        inside->host.congestion = transport::Algorithm::none;
        inside->fabric.node.reduction = draw.percent(70);
        inside->fabric.node.reduction_denominator = draw.between(100, 140);
        inside->fabric.node.reduction_numerator = 100;
        // Sums and copies take more of the line, and of the buffers.
        inside->fabric.credits.lane_buffer_bytes *= 2;
    }
    if (draw.percent(10))
        inside->faults.push_back(
            {sim::Fault::Kind::cable_down, base::Instant{} + nanoseconds(draw.between(0, 50'000)),
             draw.between(0, static_cast<uint32_t>(inside->graph.cables.size() - 1))});
    setup.scale_up = inside;
}

// A rank for each host. The first ones are the GPUs, server by server.
Servers draw_ranks(uint64_t seed, sim::Setup& setup) {
    Draw draw(seed, Drawer::ranks, 0);
    std::vector<uint32_t> endpoints;
    for (uint32_t i = 0; i < setup.graph.host_count(); ++i) endpoints.push_back(i);
    if (draw.percent(50)) draw.shuffle(endpoints);
    const auto most = std::min(static_cast<uint32_t>(endpoints.size()), kMostGpus);
    Servers servers;
    servers.gpus = std::min(draw.pick<uint32_t>({1, 2, 2, 3, 4}), most);
    servers.count = std::max(1u, draw.between(1, most) / servers.gpus);
    if (draw.percent(50)) servers.count = most / servers.gpus;
    draw_islands(seed, servers, setup);
    for (uint32_t rank = 0; rank < endpoints.size(); ++rank) {
        const bool is_inside = setup.scale_up && rank < servers.count * servers.gpus;
        setup.ranks.push_back({endpoints[rank], is_inside ? rank : topology::kNone});
    }
    return servers;
}

class Jobs {
public:
    Jobs(uint64_t seed, const Servers& servers, sim::Setup& setup)
        : draw_(seed, Drawer::jobs, 0), servers_(servers), setup_(setup) {}

    void draw() {
        for (uint32_t jobs = draw_.between(1, 3); jobs != 0; --jobs)
            draw_.percent(20) ? draw_storage() : draw_collectives();
    }

private:
    workload::Job draw_job() {
        workload::Job job;
        job.name = "job " + std::to_string(setup_.program.jobs.size());
        if (draw_.percent(40)) job.start = base::Instant{} + nanoseconds(draw_.between(0, 30'000));
        job.service_level = static_cast<uint8_t>(draw_.pick<uint32_t>({0, 0, 3, 15}));
        job.traffic_class = static_cast<uint8_t>(draw_.between(0, 63) << 2);
        return job;
    }

    // All GPUs, some of the servers, or any of them.
    workload::Placement draw_placement(bool& has_whole_servers) {
        const bool has_some_servers = draw_.percent(30);
        has_whole_servers = has_some_servers || draw_.percent(70);
        const uint32_t first = has_some_servers ? draw_.between(0, servers_.count - 1) : 0;
        std::vector<Member> members;
        for (uint32_t server = first; server < servers_.count; ++server)
            for (uint32_t local = 0; local < servers_.gpus; ++local)
                if (has_whole_servers || draw_.percent(60))
                    members.push_back({server * servers_.gpus + local, server, local});
        if (members.empty()) members.push_back({0, 0, 0});
        return {std::move(members), setup_.scale_up != nullptr};
    }

    void draw_collectives() {
        bool has_whole_servers = false;
        workload::Placement placement = draw_placement(has_whole_servers);
        const bool computes =
            has_whole_servers && setup_.scale_up && setup_.scale_up->fabric.node.reduction;
        workload::JobBuilder job(setup_.program, draw_job(), std::move(placement), channel_);
        for (uint32_t phases = draw_.between(1, 3); phases != 0; --phases) {
            const std::string name = std::to_string(phases);
            const auto options = draw_options(job.placement(), computes);
            if (draw_.percent(20) || !options)
                job.compute(name, nanoseconds(draw_.percent(20) ? 0 : draw_.between(1, 20'000)));
            else
                workload::append(job, name, *options);
        }
        job.end();
        channel_ = job.end_channel();
    }

    std::optional<CollectiveOptions> draw_options(const workload::Placement& placement,
                                                  bool computes) {
        CollectiveOptions options;
        options.collective =
            draw_.pick({Collective::all_reduce, Collective::all_reduce, Collective::reduce_scatter,
                        Collective::all_gather, Collective::all_to_all, Collective::broadcast});
        const auto known = workload::algorithms_of(options.collective);
        options.algorithm = known[draw_.between(0, static_cast<uint32_t>(known.size() - 1))];
        if (computes && options.collective == Collective::all_reduce && draw_.percent(50))
            options.algorithm = placement.server_count() > 1 ? workload::Algorithm::two_level
                                                             : workload::Algorithm::in_switch;
        options.between = draw_.pick({workload::Algorithm::ring, workload::Algorithm::tree,
                                      workload::Algorithm::halving_doubling});
        if (setup_.fabric.node.reduction && options.collective == Collective::all_reduce &&
            placement.server_count() > 1 && draw_.percent(60)) {
            options.algorithm = placement.server_count() == placement.size()
                                    ? workload::Algorithm::in_network
                                    : workload::Algorithm::two_level;
            options.between = workload::Algorithm::in_network;
        }
        if (workload::is_in_network(options) && !setup_.fabric.node.reduction) return std::nullopt;
        options.in_switch = draw_.percent(60);
        if (!computes && options.algorithm == workload::Algorithm::in_switch) return std::nullopt;
        options.in_switch &= computes && options.algorithm == workload::Algorithm::two_level;
        options.pxn = options.collective == Collective::all_to_all && draw_.percent(40);
        options.channels = static_cast<uint16_t>(draw_.between(0, 3));
        options.peers = draw_.between(0, 4);
        options.root = draw_.between(0, placement.size() - 1);
        options.bytes = std::min<uint64_t>(
            draw_.pick<uint64_t>({0, 1, 64, setup_.host.mtu, draw_.between(1, 10'000),
                                  draw_.between(1, 100'000), draw_.between(1, 400'000)}),
            kMostBytes / placement.size());
        options.chunking.chunk = draw_.pick<uint64_t>({512 << 10, 20'000, 4'096, 1'000});
        options.chunking.window = draw_.pick<uint32_t>({8, 0, 1, 2});
        if (workload::most_tasks(options, placement) > kMostTasks)
            options.chunking.chunk = 512 << 10;
        if (workload::check(options, placement)) return std::nullopt;
        if (workload::is_in_network(options) && !take_trees(options, placement))
            return std::nullopt;
        return options;
    }

    // With as many trees as it takes: that there may be none is the affair of scenarios.
    bool take_trees(CollectiveOptions& options, const workload::Placement& placement) {
        if (options.channels == 0) options.channels = 1;
        options.streams = draw_.percent(50);
        options.chunking.tree_piece = draw_.pick<uint64_t>({0, 1'000, 5'000});
        options.chunking.tree_window = draw_.pick<uint32_t>({0, 1, 2, 5});
        if (workload::most_tasks(options, placement) > kMostTasks) options.chunking.tree_piece = 0;
        const auto job = static_cast<uint32_t>(setup_.program.jobs.size() - 1);
        const std::vector<uint32_t> endpoints = setup_.graph.endpoints();
        for (const auto& members : workload::tree_members(options, placement))
            for (uint16_t channel = 0; channel < options.channels; ++channel) {
                std::vector<uint32_t> hosts;
                for (const uint32_t member : members)
                    hosts.push_back(endpoints[setup_.ranks[placement[member].rank].endpoint]);
                const auto its_channel = static_cast<uint16_t>(
                    channel_ + workload::tree_channel(channel, options.streams));
                auto tree = trees_.take(hosts, options.streams);
                if (!tree) return false;
                setup_.trees.push_back(
                    {job, its_channel, placement[members.front()].rank, std::move(*tree)});
            }
        return true;
    }

    // Targets are the hosts that have no GPU, where there are any.
    void draw_storage() {
        const auto ranks = static_cast<uint32_t>(setup_.ranks.size());
        const uint32_t gpus = servers_.count * servers_.gpus;
        const uint32_t first = gpus < ranks ? gpus : ranks - 1;
        workload::Storage storage;
        for (uint32_t rank = 0; rank < ranks; ++rank)
            (rank < first ? storage.initiators : storage.targets).push_back(rank);
        storage.writes = setup_.host.service == sim::Service::reliable && draw_.percent(50);
        storage.block = draw_.pick<uint64_t>({128 << 10, 4'096, 1'000});
        storage.bytes = draw_.between(1, static_cast<uint32_t>(60'000 / storage.initiators.size()));
        storage.depth = draw_.between(1, 8);
        workload::append_storage(setup_.program, draw_job(), storage, channel_++);
    }

    Draw draw_;
    Servers servers_;
    sim::Setup& setup_;
    uint16_t channel_ = 0;
    fabric::ReductionTrees trees_{setup_.graph, {}};
};

// Every packet that a host sends or is sent, for whoever checks what happened.
void tap_hosts(sim::Setup& setup) {
    for (uint32_t i = 0; i < setup.graph.cables.size(); ++i) {
        const topology::Cable& cable = setup.graph.cables[i];
        if (setup.graph.nodes[cable.a.node].is_host() || setup.graph.nodes[cable.b.node].is_host())
            setup.taps.push_back({i});
    }
}

// Switches between servers that add up, where nothing gets lost.
void draw_sums(uint64_t seed, sim::Setup& setup) {
    Draw draw(seed, Drawer::sums, 0);
    if (!draw.percent(40) || setup.fabric.flow_control == fabric::FlowControl::none ||
        setup.host.service == sim::Service::datagram)
        return;
    make_lossless(setup.fabric);
    setup.fabric.node.reduction = true;
    setup.fabric.node.reduction_denominator = draw.between(100, 140);
    setup.fabric.node.reduction_numerator = 100;
    setup.fabric.credits.lane_buffer_bytes *= 2;
}

}  // namespace

void draw_program(uint64_t seed, sim::Setup& setup) {
    Draw draw(seed, Drawer::program, 0);
    if (!draw.percent(40)) return;
    setup.fabric_name = "fabric";
    draw_costs(draw, setup.host);
    draw_staging(draw, setup.host.staging);
    if (draw.percent(60)) setup.flows.resize(std::min<size_t>(setup.flows.size(), 2));
    if (draw.percent(8)) {
        setup.host.service = sim::Service::unreliable;
        setup.host.congestion = transport::Algorithm::none;
        setup.flows.clear();
    }
    draw_sums(seed, setup);
    const Servers servers = draw_ranks(seed, setup);
    Jobs(seed, servers, setup).draw();
    tap_hosts(setup);
    if (!setup.scale_up) return;
    const auto inside = std::make_shared<sim::Setup>(*setup.scale_up);
    tap_hosts(*inside);
    setup.scale_up = inside;
}

}  // namespace tulle::fabric_swarm
