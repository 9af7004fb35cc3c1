// Phases that are generated find what stored ones find, to the last bit, and where the time went.
#include "sim/rank_streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/rank_trails.h"
#include "sim/run_hash.h"
#include "sim/testing.h"
#include "topology/builders.h"
#include "workload/generated_job.h"

namespace tulle::sim {
namespace {

using workload::Algorithm;
using workload::Collective;
using workload::CollectiveOptions;
using workload::Placement;

// Several ways between any two, by a hash; queues that mark, and senders that heed it.
void make_crowded(Setup& setup, uint32_t hosts) {
    setup.graph = *topology::build(topology::LeafSpine{(hosts + 2) / 3, 2, 3});
    setup.fabric.flow_control = fabric::FlowControl::pfc;
    setup.fabric.marking = fabric::Marking::ecn;
    setup.fabric.ecn.kmin_bytes = 6'000;
    setup.fabric.ecn.kmax_bytes = 30'000;
    setup.host.congestion = transport::Algorithm::dcqcn;
}

Setup cluster(uint32_t servers, uint32_t gpus, bool has_scale_up) {
    Setup setup;
    setup.fabric_name = "star";
    setup.graph = *topology::build(topology::Star{servers * gpus});
    setup.host.reaction = Duration{700'000};
    setup.host.send_latency = Duration{300'000};
    for (uint32_t i = 0; i < servers * gpus; ++i) setup.ranks.push_back({i});
    if (!has_scale_up) return setup;
    auto inside = std::make_shared<Setup>(setup);
    inside->graph = *topology::build(topology::Islands{servers, gpus});
    inside->host.service = Service::unreliable;
    inside->fabric.flow_control = fabric::FlowControl::credits;
    inside->ranks.clear();
    setup.scale_up = inside;
    for (uint32_t i = 0; i < servers * gpus; ++i) setup.ranks[i].scale_up = i;
    return setup;
}

Placement placement_of(uint32_t servers, uint32_t gpus, bool has_scale_up) {
    std::vector<workload::Member> members;
    for (uint32_t i = 0; i < servers * gpus; ++i) members.push_back({i, i / gpus, i % gpus});
    return Placement(std::move(members), has_scale_up);
}

struct Found {
    Result result;
    uint64_t hash = 0;  // of what was found
};

// Once for what happens, and once more for where the time went.
Found run(const Setup& setup, size_t partitions) {
    Found found;
    found.result = testing::run(setup, partitions);
    found.hash = run_hash(Setup(), found.result);
    EXPECT_FALSE(found.result.account.chain.empty());
    if (found.result.account.chain.empty()) return found;
    const FirstRun first{.chain = found.result.account.chain};
    found.result.account = testing::run(setup, partitions, first).account;
    return found;
}

// Without places that no share has: the order of equal ones says nothing.
std::multiset<std::string> shares_of(const TimeAccount& account) {
    std::multiset<std::string> shares;
    for (const TimeShare& share : account.shares)
        shares.insert(std::to_string(static_cast<int>(share.kind)) + " tier " +
                      std::to_string(static_cast<int>(share.tier)) + " place " +
                      std::to_string(share.place) + " rank " + std::to_string(share.rank) + ": " +
                      std::to_string(share.time.ps));
    return shares;
}

void expect_same_shares(const Found& expected, const Found& found) {
    const TimeAccount& account = found.result.account;
    EXPECT_EQ(shares_of(account), shares_of(expected.result.account));
    EXPECT_EQ(account.end, expected.result.account.end);
    EXPECT_EQ(Instant{} + account.total(), account.end);
    EXPECT_EQ(account.end, found.result.time);
}

// The messages of a chain. Meeting points are there only where a program is stored.
std::vector<std::string> messages_of(const Setup& setup, const TimeAccount& account) {
    std::vector<std::string> messages;
    for (const ChainLink& link : account.chain) {
        const workload::Task task = task_of(setup.program, link);
        if (task.kind == workload::Task::Kind::compute) continue;
        messages.push_back(std::to_string(task.rank) + " to " + std::to_string(task.peer) +
                           " in phase " + std::to_string(task.phase) + " on tier " +
                           std::to_string(static_cast<int>(task.tier)));
    }
    return messages;
}

// A network inside servers whose links, switches and ports are not those between servers.
void change_inside(Setup& setup, base::RandomStream& random) {
    auto inside = std::make_shared<Setup>(*setup.scale_up);
    const auto up_to = [&](uint64_t nanoseconds) {
        return Duration{static_cast<int64_t>(random.below(nanoseconds) * 1000)};
    };
    inside->fabric.link.rate = base::Rate::bits_per_second(50'000'000'000 * (1 + random.below(12)));
    inside->fabric.link.delay = Duration{10'000} + up_to(1000);
    inside->fabric.node.latency = up_to(400);
    if (random.chance(1, 2)) inside->fabric.node.forwarding = fabric::Forwarding::cut_through;
    inside->host.reaction = Duration{100'000} + up_to(1500);
    inside->host.send_latency = up_to(1000);
    inside->host.receive_latency = up_to(1000);
    inside->host.mtu = 1024u << random.below(3);
    Toll& toll = random.chance(1, 2) ? inside->host.send_toll : inside->host.receive_toll;
    toll.per_packet = up_to(300);
    setup.scale_up = inside;
}

CollectiveOptions random_options(Collective collective, Algorithm algorithm,
                                 base::RandomStream& random) {
    CollectiveOptions options;
    options.collective = collective;
    options.algorithm = algorithm;
    options.channels = static_cast<uint16_t>(random.below(3));
    options.chunking.chunk = 2000 + random.below(30'000);
    options.chunking.window = static_cast<uint32_t>(random.below(4));
    options.chunking.inside_window = static_cast<uint32_t>(random.below(3));
    options.chunking.slices = static_cast<uint32_t>(random.below(4));
    options.peers = static_cast<uint32_t>(random.below(4));
    options.bytes = 1000 + random.below(300'000);
    options.pxn = collective == Collective::all_to_all && random.chance(1, 2);
    if (random.chance(1, 2)) {
        options.software.launch = Duration{2'000'000};
        options.software.step = {Duration{1'500'000}, Duration{900'000}};
        options.software.least = {Duration{800'000}, Duration{600'000}};
        options.software.copy_fs = {3000, 1000};
        options.software.passes_on_lines = random.chance(1, 2);
        options.software.is_in_turn = {random.chance(1, 2), random.chance(1, 2)};
    }
    return options;
}

constexpr std::pair<Collective, Algorithm> kWays[] = {
    {Collective::all_reduce, Algorithm::ring},
    {Collective::all_reduce, Algorithm::tree},
    {Collective::reduce_scatter, Algorithm::ring},
    {Collective::all_gather, Algorithm::ring},
    {Collective::broadcast, Algorithm::ring},
    {Collective::broadcast, Algorithm::tree},
    {Collective::reduce_scatter, Algorithm::direct},
    {Collective::all_gather, Algorithm::direct},
    {Collective::all_to_all, Algorithm::direct},
    {Collective::all_reduce, Algorithm::halving_doubling},
    {Collective::all_reduce, Algorithm::two_level},
    {Collective::reduce_scatter, Algorithm::two_level},
    {Collective::all_gather, Algorithm::two_level}};

// The same job, once stored and once generated.
struct Twins {
    sim::Setup stored;
    sim::Setup generated;
    bool exist = true;

    Twins() = default;
    explicit Twins(base::RandomStream& random) {
        const auto servers = static_cast<uint32_t>(1 + random.below(5));
        const auto gpus = static_cast<uint32_t>(1 + random.below(4));
        const bool has_scale_up = random.chance(1, 2) && gpus > 1;
        stored = cluster(servers, gpus, has_scale_up);
        if (random.chance(1, 2)) make_crowded(stored, servers * gpus);
        stored.host.staging.is_on = random.chance(1, 4);
        if (has_scale_up && random.chance(1, 2)) change_inside(stored, random);
        generated = stored;
        const Placement where = placement_of(servers, gpus, has_scale_up);
        const auto shared = std::make_shared<const Placement>(where);
        const workload::Job job{.name = "job", .start = Instant{1'000'000}};
        workload::JobBuilder stored_job(stored.program, job, where);
        workload::GeneratedJob generated_job(generated.program, job, shared);
        const uint64_t steps = 1 + random.below(3);
        for (uint64_t step = 0; step < steps; ++step) {
            const auto way = kWays[random.below(std::size(kWays))];
            const CollectiveOptions options = random_options(way.first, way.second, random);
            const auto schedule = workload::Schedule::make(options, shared);
            if (schedule == nullptr) exist = false;
            if (!exist) return;
            workload::append(stored_job, "step", options);
            generated_job.append("step", schedule);
            if (random.chance(1, 2)) continue;
            stored_job.compute("compute", Duration{5'000'000});
            generated_job.compute("compute", Duration{5'000'000});
        }
        stored_job.end();
    }
};

void compare(const Twins& twins) {
    const Found expected = run(twins.stored, 1);
    const Found found = run(twins.generated, 1);
    ASSERT_EQ(expected.result.end, Result::End::done);
    ASSERT_EQ(found.result.end, Result::End::done) << found.result.stuck_reason;
    for (size_t i = 0; i < expected.result.phases.size(); ++i) {
        const PhaseResult& a = expected.result.phases[i];
        const PhaseResult& b = found.result.phases[i];
        EXPECT_TRUE(b.finished);
        EXPECT_EQ(a.begin, b.begin) << "phase " << i;
        EXPECT_EQ(a.end, b.end) << "phase " << i;
        EXPECT_EQ(a.messages, b.messages);
    }
    EXPECT_EQ(expected.hash, found.hash);
    expect_same_shares(expected, found);
    EXPECT_EQ(messages_of(twins.generated, found.result.account),
              messages_of(twins.stored, expected.result.account));
    for (const size_t partitions : {2, 5}) {
        const Found in_partitions = run(twins.generated, partitions);
        EXPECT_EQ(in_partitions.hash, found.hash) << partitions << " partitions";
        expect_same_shares(found, in_partitions);
    }
}

TEST(GeneratedPhases, find_what_stored_ones_find) {
    base::RandomStream random({.seed = 24'576});
    uint32_t compared = 0;
    for (uint32_t i = 0; i < 200; ++i) {
        const Twins twins(random);
        if (!twins.exist || twins.stored.ranks.size() < 3) continue;
        ++compared;
        SCOPED_TRACE("job " + std::to_string(i));
        compare(twins);
        if (HasFailure()) return;
    }
    EXPECT_GT(compared, 100u);
}

// The slow network inside lets messages overtake others: the next part of a ring's data begins
// while the end of the last one waits.
TEST(GeneratedPhases, find_what_stored_ones_find_if_messages_overtake_others) {
    base::RandomStream random({.seed = 161'016});
    CollectiveOptions options;
    options.collective = Collective::all_gather;
    options.algorithm = Algorithm::ring;
    options.channels = 1;
    options.chunking.chunk = 7390;
    options.chunking.window = 3;
    options.chunking.slices = 2;
    options.bytes = 161'016;
    const auto where = std::make_shared<const Placement>(placement_of(2, 2, true));
    const auto schedule = workload::Schedule::make(options, where);
    for (uint32_t i = 0; i < 40; ++i) {
        SCOPED_TRACE("job " + std::to_string(i));
        Twins twins;
        twins.stored = cluster(2, 2, true);
        make_crowded(twins.stored, 4);
        change_inside(twins.stored, random);
        twins.generated = twins.stored;
        workload::JobBuilder stored_job(twins.stored.program, {.name = "job"}, *where);
        workload::append(stored_job, "step", options);
        stored_job.end();
        workload::GeneratedJob(twins.generated.program, {.name = "job"}, where)
            .append("step", schedule);
        compare(twins);
        if (HasFailure()) return;
    }
}

// Servers with two GPUs; a ring through the first GPUs, and one through the second.
Setup two_rings(bool skips) {
    constexpr uint32_t kServers = 40;
    Setup setup = cluster(kServers, 2, false);
    setup.skips = skips;
    setup.program.jobs.push_back({"rings"});
    CollectiveOptions options;
    options.collective = workload::Collective::all_gather;
    options.algorithm = workload::Algorithm::ring;
    options.channels = 1;
    options.bytes = kServers * (128 << 10);
    options.chunking.chunk = 32 << 10;
    for (uint32_t place = 0; place < 2; ++place) {
        std::vector<workload::Member> members;
        for (uint32_t server = 0; server < kServers; ++server)
            members.push_back({2 * server + place, server, place});
        const auto group = std::make_shared<const Placement>(std::move(members), false);
        workload::GeneratedJob(setup.program, 0, group)
            .append("ring", workload::Schedule::make(options, group));
    }
    return setup;
}

TEST(skipping, moves_on_rings_that_are_alike_together) {
    const Result full = testing::run(two_rings(false), 1, {});
    for (const size_t partitions : {1, 2}) {
        const Result skipped = testing::run(two_rings(true), partitions, {});
        EXPECT_GT(skipped.skipping.jumps, 0u) << skipped.skipping.why_not;
        ASSERT_EQ(skipped.phases.size(), 2u);
        for (size_t i = 0; i < 2; ++i) {
            EXPECT_EQ(skipped.phases[i].messages, full.phases[i].messages);
            const auto took = static_cast<double>((full.phases[i].end - full.phases[i].begin).ps);
            const auto reckoned =
                static_cast<double>((skipped.phases[i].end - skipped.phases[i].begin).ps);
            EXPECT_NEAR(reckoned / took, 1, 0.01);
        }
    }
}

// Trees, in which leaves run ahead of what they feed.
Setup trees(bool skips, bool checks) {
    constexpr uint32_t kServers = 12;
    Setup setup = cluster(kServers, 1, false);
    setup.skips = skips;
    setup.checks_skipping = checks;
    setup.program.jobs.push_back({"trees"});
    CollectiveOptions options;
    options.collective = workload::Collective::all_reduce;
    options.algorithm = workload::Algorithm::tree;
    options.channels = 1;
    options.bytes = 16 << 20;
    options.chunking.chunk = 32 << 10;
    std::vector<workload::Member> members;
    for (uint32_t server = 0; server < kServers; ++server) members.push_back({server, server, 0});
    const auto group = std::make_shared<const Placement>(std::move(members), false);
    workload::GeneratedJob(setup.program, 0, group)
        .append("tree", workload::Schedule::make(options, group));
    return setup;
}

TEST(skipping, moves_on_each_group_of_a_tree_at_its_own_pace) {
    const Result full = testing::run(trees(false, false), 1, {});
    const auto took = static_cast<double>((full.phases[0].end - full.phases[0].begin).ps);
    Instant end{};
    for (const bool checks : {true, false})
        for (const size_t partitions : {1, 2}) {
            const Result skipped = testing::run(trees(true, checks), partitions, {});
            EXPECT_EQ(skipped.end, Result::End::done);
            EXPECT_EQ(skipped.phases[0].messages, full.phases[0].messages);
            EXPECT_GT(static_cast<double>(skipped.skipping.time.ps), (checks ? 0.05 : 0.15) * took);
            EXPECT_EQ(skipped.skipping.expected.ps > 0, checks);
            const auto reckoned =
                static_cast<double>((skipped.phases[0].end - skipped.phases[0].begin).ps);
            EXPECT_NEAR(reckoned / took, 1, 0.01);
            if (partitions == 2) {
                EXPECT_EQ(skipped.phases[0].end, end);
            }
            end = skipped.phases[0].end;
        }
}

}  // namespace
}  // namespace tulle::sim
