// Hosts and ranks.
#include <algorithm>

#include "plants.h"
#include "workload/job.h"

namespace tulle::causes {
namespace {

using report::CauseKind;
using sim::Fault;

base::Rate part_of_rate(const sim::Setup& setup, uint32_t percent) {
    return base::Rate::bits_per_second(setup.host.algorithms.dcqcn.line_rate_bps / 100 * percent);
}

Case slow_receiver(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kLossless);
    setup.graph = draw_graph(draw);
    const Pair pair = add_work(draw, setup);
    drawn.with = setup;
    drawn.with.faults.push_back({.kind = Fault::Kind::slow_receiver,
                                 .at = Instant{},
                                 .subject = node_of(setup.graph, pair.destination),
                                 .rate = part_of_rate(setup, draw.between(10, 70))});
    drawn.answers = {{CauseKind::slow_receiver, host_name(setup, pair.destination)}};
    return drawn;
}

Case pause_storm(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kPauses);
    setup.graph = draw_graph(draw);
    const Pair pair = add_work(draw, setup);
    drawn.with = setup;
    const auto time = time_of(setup);
    const Instant at = Instant{} + *time * draw.between(5, 70) / 100;
    const uint32_t node = node_of(setup.graph, pair.destination);
    drawn.with.faults = {
        {.kind = Fault::Kind::pause_storm, .at = at, .subject = node},
        {.kind = Fault::Kind::pause_storm_end,
         .at = at + *time * draw.between(30, 150) / 100,
         .subject = node},
    };
    drawn.answers = {{CauseKind::pause_storm, host_name(setup, pair.destination)}};
    return drawn;
}

Case sends_slowly(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kAnyTechnology);
    setup.graph = draw_graph(draw);
    const Pair pair = add_flows(draw, setup, draw_pair(draw, setup.graph), draw_bytes(draw));
    drawn.with = setup;
    if (draw.percent(50))
        drawn.with.host.send_toll.rate = part_of_rate(setup, draw.between(10, 75));
    else
        drawn.with.host.send_toll.per_packet =
            setup.fabric.link.rate.time_for(setup.host.mtu) * draw.between(130, 600) / 100;
    drawn.answers = {{CauseKind::host_bus, host_name(setup, pair.source)}};
    return drawn;
}

Case receives_slowly(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kLossless);
    setup.graph = draw_graph(draw);
    const Pair pair = add_flows(draw, setup, draw_pair(draw, setup.graph), draw_bytes(draw));
    drawn.with = setup;
    if (draw.percent(50))
        drawn.with.host.receive_toll.rate = part_of_rate(setup, draw.between(10, 75));
    else
        drawn.with.host.receive_toll.per_packet =
            setup.fabric.link.rate.time_for(setup.host.mtu) * draw.between(130, 600) / 100;
    drawn.answers = {{CauseKind::host_bus, host_name(setup, pair.destination)}};
    return drawn;
}

// Ranks compute, and then reduce; one of them takes longer.
Case slow_rank(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kAnyTechnology);
    setup.graph = draw_graph(draw);
    const auto hosts = static_cast<uint32_t>(setup.graph.host_count());
    const uint32_t slow = draw.between(0, hosts - 1);
    const Duration usual = nanoseconds(draw.between(5'000, 40'000));
    const Duration longer = usual * draw.between(200, 900) / 100;
    const auto build = [&](const Duration of_slow) {
        sim::Setup made = setup;
        std::vector<workload::Member> members;
        for (uint32_t rank = 0; rank < hosts; ++rank) {
            made.ranks.push_back({rank});
            members.push_back({rank, rank, 0});
        }
        const sim::Flow like = flow_of(made, {}, 0);
        workload::Job job{.name = "training"};
        job.service_level = like.service_level;
        job.traffic_class = like.traffic_class;
        workload::JobBuilder builder(made.program, job, workload::Placement(members, false));
        builder.begin({.name = "forward", .collective = workload::Collective::compute});
        std::vector<uint32_t> done;
        for (uint32_t rank = 0; rank < hosts; ++rank)
            done.push_back(builder.add(
                {.kind = workload::Task::Kind::compute, .duration = rank == slow ? of_slow : usual},
                rank, rank, {}));
        builder.begin({.name = "shift", .collective = workload::Collective::all_to_all});
        for (uint32_t rank = 0; rank < hosts; ++rank)
            builder.add({.kind = workload::Task::Kind::send, .bytes = 60'000}, rank,
                        (rank + 1) % hosts, {});
        builder.end();
        return made;
    };
    drawn.with = build(longer);
    drawn.without = build(usual);
    drawn.answers = {{CauseKind::slow_rank, "rank " + std::to_string(slow)}};
    return drawn;
}

Case slow_reaction(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kAnyTechnology);
    setup.graph = draw_graph(draw);
    add_ring(draw, setup, draw_bytes(draw));
    drawn.with = setup;
    drawn.with.host.reaction = nanoseconds(draw.between(5'000, 60'000));
    drawn.answers = {{CauseKind::software, ""}};
    return drawn;
}

Case slow_software(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kAnyTechnology);
    setup.graph = draw_graph(draw);
    add_flows(draw, setup, draw_pair(draw, setup.graph), draw_bytes(draw));
    drawn.with = setup;
    drawn.with.host.send_latency = nanoseconds(draw.between(10'000, 200'000));
    drawn.answers = {{CauseKind::software, ""}};
    return drawn;
}

Case flow_starts_late(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kAnyTechnology);
    setup.graph = draw_graph(draw);
    add_flows(draw, setup, draw_pair(draw, setup.graph), draw_bytes(draw));
    drawn.with = setup;
    const auto time = time_of(setup);
    drawn.with.flows[0].start = Instant{} + *time * draw.between(40, 300) / 100;
    drawn.answers = {{CauseKind::late_start, ""}};
    return drawn;
}

Case long_way(Draw& draw) {
    Case drawn;
    sim::Setup& setup = drawn.without = draw_settings(draw, kAnyTechnology);
    setup.graph = draw_graph(draw);
    setup.host.ack_timeout = 14;
    add_flows(draw, setup, draw_pair(draw, setup.graph), draw.between(100, 60'000));
    setup.fabric.credits.lane_buffer_bytes = 128 << 10;
    drawn.with = setup;
    drawn.with.fabric.link.delay = nanoseconds(draw.between(1'000, 20'000));
    drawn.answers = {{CauseKind::latency, ""}};
    return drawn;
}

}  // namespace

const std::vector<Plant> kEndPlants = {
    {"slow receiver", slow_receiver},
    {"pause storm", pause_storm},
    {"host sends slowly", sends_slowly},
    {"host receives slowly", receives_slowly},
    {"slow rank", slow_rank},
    {"slow reaction", slow_reaction},
    {"slow software", slow_software},
    {"flow starts late", flow_starts_late},
    {"long way", long_way},
};

}  // namespace tulle::causes
