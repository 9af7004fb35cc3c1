// Clusters made in code, of built-in profiles, for runs of one collective.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "drive/run.h"
#include "scenario/gpus_machine.h"
#include "scenario/profile.h"
#include "scenario/scenario.h"
#include "topology/builders.h"
#include "workload/bus_bandwidth.h"
#include "workload/collectives/tuning.h"

namespace tulle::collectives {

using base::Duration;
using base::Instant;
using workload::Algorithm;
using workload::Collective;

struct Cluster {
    std::string profile = "ib-ndr";
    std::string scale_up{};  // none: all messages leave the server
    uint32_t servers = 8;
    uint32_t gpus = 1;              // of a server, an adapter each
    base::Duration more_latency{};  // of adapters than the profile has
};

inline scenario::Target profile_of(const std::string& name) {
    auto profile = scenario::read_profile(name, [](std::string_view path) {
        return base::Result<std::string>(base::Error{"no file " + std::string(path)});
    });
    EXPECT_TRUE(profile.ok()) << profile.error().message;
    return profile->target;
}

// A rail-optimised fabric where nothing but the lines is shared.
inline sim::Setup setup_of(const Cluster& cluster) {
    sim::Setup setup;
    const scenario::Target target = profile_of(cluster.profile);
    setup.fabric_name = cluster.profile;
    setup.fabric = target.fabric;
    setup.host = target.host;
    setup.host.send_latency += cluster.more_latency / 2;
    setup.host.receive_latency += cluster.more_latency / 2;
    setup.graph = *topology::build(
        topology::RailOptimised{.servers = cluster.servers, .rails = cluster.gpus});
    EXPECT_EQ(scenario::set_line_rates(setup), std::nullopt);
    const uint32_t ranks = cluster.servers * cluster.gpus;
    for (uint32_t rank = 0; rank < ranks; ++rank) setup.ranks.push_back({rank});
    if (cluster.scale_up.empty()) return setup;
    const scenario::Target inside = profile_of(cluster.scale_up);
    auto scale_up = std::make_shared<sim::Setup>();
    scale_up->fabric_name = cluster.scale_up;
    scale_up->fabric = inside.fabric;
    scale_up->host = inside.host;
    scale_up->graph =
        *topology::build(topology::Islands{.islands = cluster.servers, .hosts = cluster.gpus});
    setup.scale_up = std::move(scale_up);
    for (uint32_t rank = 0; rank < ranks; ++rank) setup.ranks[rank].scale_up = rank;
    return setup;
}

inline workload::Placement placement_of(const Cluster& cluster) {
    std::vector<workload::Member> members;
    for (uint32_t rank = 0; rank < cluster.servers * cluster.gpus; ++rank)
        members.push_back({rank, rank / cluster.gpus, rank % cluster.gpus});
    return {std::move(members), !cluster.scale_up.empty()};
}

// Lossless where the fabric has a lossless class.
inline workload::Job job_of(const sim::Setup& setup) {
    workload::Job job{.name = "job"};
    if (setup.fabric.flow_control == fabric::FlowControl::pfc)
        for (uint8_t level = 0; level < 8; ++level)
            if ((setup.fabric.pfc.priorities >> setup.fabric.qos.lane_of_level[level] & 1) != 0)
                job.service_level = level;
    return job;
}

inline sim::Setup setup_of(const Cluster& cluster, const workload::CollectiveOptions& options) {
    sim::Setup setup = setup_of(cluster);
    const workload::Placement placement = placement_of(cluster);
    const auto error = workload::check(options, placement);
    EXPECT_FALSE(error) << error->message;
    workload::JobBuilder job(setup.program, job_of(setup), placement);
    const bool is_tuned =
        options.algorithm == Algorithm::automatic || options.protocol != workload::Protocol::bare;
    const workload::Machine machine = scenario::machine_of(setup, cluster.gpus, cluster.gpus);
    workload::append(job, "it", is_tuned ? workload::tune(options, placement, machine) : options);
    job.end();
    return setup;
}

inline sim::Result run(const sim::Setup& setup, uint32_t threads = 1) {
    drive::Options options;
    options.threads = threads;
    auto result = drive::run(setup, options);
    EXPECT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->end, sim::Result::End::done) << result->stuck_reason;
    return std::move(*result);
}

inline Duration time_of(const sim::Setup& setup) {
    const sim::Result result = run(setup);
    EXPECT_TRUE(result.phases[0].finished);
    return result.phases[0].end - result.phases[0].begin;
}

// As nccl-tests prints it, in thousandths of a GB/s.
inline uint64_t bus_bandwidth(const sim::Setup& setup, Duration time) {
    const workload::Phase& phase = setup.program.phases[0];
    const workload::BusFactor factor = workload::bus_factor(phase.collective, phase.ranks);
    const base::uint128_t bytes = base::uint128_t{phase.bytes} * factor.numerator;
    return static_cast<uint64_t>(
        bytes * 1'000'000 / (base::uint128_t{factor.denominator} * static_cast<uint64_t>(time.ps)));
}

// Whether two figures are within so many thousandths of the second.
inline bool is_within(uint64_t figure, uint64_t of, uint64_t permille) {
    const uint64_t apart = figure > of ? figure - of : of - figure;
    return apart * 1000 <= of * permille;
}

}  // namespace tulle::collectives
