#include "workload/collectives/tuning.h"

#include <gtest/gtest.h>

#include "workload/collectives/cost_model.h"

namespace tulle::workload {
namespace {

using base::Duration;

Placement servers(uint32_t count, uint32_t gpus, bool scale_up = true) {
    std::vector<Member> members;
    for (uint32_t rank = 0; rank < count * gpus; ++rank)
        members.push_back({rank, rank / gpus, rank % gpus});
    return {std::move(members), scale_up};
}

// 8 H100 of a server with NVLink 4 and eight adapters of 400 Gb/s.
Machine hopper() {
    Machine machine;
    machine.network(Tier::scale_up) = {370'800, Duration{450'000}, Duration{150'000}};
    machine.network(Tier::scale_out) = {50'000, Duration{2'800'000}, Duration{1'000'000}};
    machine.adapters = 8;
    machine.gpus = 8;
    machine.reduces = true;
    return machine;
}

int64_t nanoseconds(const CostModel& model, Way way) {
    const CostModel::Latency each = model.latency(way, 8);
    const CostModel::Steps steps = model.steps(way);
    return (each.base + each.inside * steps.inside + each.between * steps.between).ps / 1000;
}

// What NCCL's formula gives for its constants, worked out by hand from src/graph/tuning.cc.
TEST(cost_model, latencies_are_those_of_nccl) {
    struct Case {
        uint32_t servers;
        int64_t ring[3];
        int64_t tree[3];
    };
    for (const Case& c :
         {Case{1, {15'000, 40'600, 56'000}, {15'200, 31'500, 64'400}},
          Case{2, {40'000, 75'200, 131'600}, {25'200, 48'500, 92'400}},
          Case{8, {156'400, 282'800, 585'200}, {45'200, 82'500, 148'400}},
          Case{128, {2'484'400, 4'434'800, 9'657'200}, {85'200, 150'500, 260'400}}}) {
        const CostModel model(hopper(), servers(c.servers, 8), Collective::all_reduce);
        for (const nccl::Proto proto : {nccl::ll, nccl::ll128, nccl::simple}) {
            EXPECT_EQ(nanoseconds(model, {nccl::ring, proto}), c.ring[proto]) << c.servers;
            EXPECT_EQ(nanoseconds(model, {nccl::tree, proto}), c.tree[proto]) << c.servers;
        }
    }
}

// 12 rings of 30 GB/s in a server, 8 of 45 GB/s between them: what NCCL's logs name on DGX H100.
TEST(cost_model, bandwidths_are_those_of_nccl) {
    const uint64_t large = uint64_t{1} << 30;
    const CostModel one(hopper(), servers(1, 8), Collective::all_reduce);
    EXPECT_EQ(one.bandwidth({nccl::ring, nccl::simple}, large), 360'000u * 8 / 14);
    EXPECT_EQ(one.bandwidth({nccl::ring, nccl::ll}, large), 141'000u * 8 / 14);
    EXPECT_EQ(one.bandwidth({nccl::nvls, nccl::simple}, large), 8 * 59'500u * 8 / 14);
    const CostModel four(hopper(), servers(4, 8), Collective::all_reduce);
    EXPECT_EQ(four.bandwidth({nccl::ring, nccl::simple}, large), 360'000u * 32 / 62);
    EXPECT_EQ(four.bandwidth({nccl::nvls_tree, nccl::simple}, large), 8 * 45'500u * 32 / 62);
}

CollectiveOptions tuned(uint64_t bytes, const Placement& where, Machine machine = hopper(),
                        Collective collective = Collective::all_reduce) {
    CollectiveOptions options;
    options.collective = collective;
    options.bytes = bytes;
    options.algorithm = Algorithm::automatic;
    options.protocol = Protocol::automatic;
    return tune(options, where, machine);
}

TEST(tuning, few_bytes_go_by_ll_and_many_through_the_switch) {
    const CollectiveOptions few = tuned(1024, servers(1, 8));
    EXPECT_EQ(few.algorithm, Algorithm::ring);
    EXPECT_EQ(few.protocol, Protocol::ll);
    EXPECT_EQ(few.next_best.name, "tree LL");
    const CollectiveOptions many = tuned(64 << 20, servers(1, 8));
    EXPECT_EQ(many.algorithm, Algorithm::in_switch);
    EXPECT_EQ(many.predicted.name, "in_switch Simple");
}

TEST(tuning, between_servers_trees_are_taken_and_rings_where_nothing_adds_up) {
    const CollectiveOptions few = tuned(1024, servers(16, 8));
    EXPECT_EQ(few.algorithm, Algorithm::tree);
    EXPECT_EQ(few.protocol, Protocol::ll);
    const CollectiveOptions many = tuned(uint64_t{1} << 30, servers(16, 8));
    EXPECT_EQ(many.algorithm, Algorithm::two_level);
    EXPECT_TRUE(many.in_switch);
    EXPECT_EQ(many.between, Algorithm::tree);
    Machine plain = hopper();
    plain.reduces = false;
    EXPECT_EQ(tuned(uint64_t{1} << 30, servers(2, 8), plain).algorithm, Algorithm::ring);
}

TEST(tuning, over_pci_express_steps_are_longer_and_ll128_is_left_out) {
    Machine pci = hopper();
    pci.network(Tier::scale_up).mbps = 51'200;
    pci.reduces = false;
    const CostModel model(pci, servers(1, 8), Collective::all_reduce);
    EXPECT_EQ(nanoseconds(model, {nccl::ring, nccl::simple}), 8'400 + 14 * 5'700);
    for (uint64_t bytes = 8; bytes <= uint64_t{1} << 30; bytes *= 2)
        EXPECT_NE(tuned(bytes, servers(1, 8), pci).protocol, Protocol::ll128) << bytes;
}

TEST(tuning, switches_need_all_gpus_of_each_server) {
    EXPECT_NE(tuned(64 << 20, servers(1, 4)).algorithm, Algorithm::in_switch);
}

TEST(tuning, gathering_is_by_ring_and_exchanging_by_direct_messages) {
    EXPECT_EQ(tuned(1 << 20, servers(2, 8), hopper(), Collective::all_gather).algorithm,
              Algorithm::ring);
    const CollectiveOptions exchange =
        tuned(1 << 10, servers(2, 8), hopper(), Collective::all_to_all);
    EXPECT_EQ(exchange.algorithm, Algorithm::direct);
    EXPECT_EQ(exchange.protocol, Protocol::ll);
    EXPECT_EQ(tuned(64 << 20, servers(2, 8), hopper(), Collective::all_to_all).protocol,
              Protocol::simple);
}

// NCCL's figure for a step has the wire in it, so the wire is taken away.
TEST(tuning, software_is_what_remains_of_a_step_without_the_network) {
    const CollectiveOptions ring = [] {
        CollectiveOptions options;
        options.bytes = 1 << 10;
        options.algorithm = Algorithm::ring;
        options.protocol = Protocol::ll128;
        return tune(options, servers(1, 8), hopper());
    }();
    EXPECT_EQ(ring.software.before(Tier::scale_up, 0), Duration{1'900'000 - 450'000});
    EXPECT_EQ(ring.software.wire_bytes(1200), 1280u);
}

// A rank does nothing for a block that is empty; 16 bytes are one block of eight.
TEST(tuning, a_step_of_ll_is_longer_where_every_rank_has_a_block) {
    Machine blackwell = hopper();
    blackwell.generation = Generation::blackwell;
    const auto step = [&](uint64_t bytes) {
        return tuned(bytes, servers(1, 8), blackwell).software.before(Tier::scale_up, 0);
    };
    EXPECT_EQ(step(128), Duration{930'000 - 450'000});
    EXPECT_EQ(step(16), Duration{(600'000 - 175'000) * 155 / 100 - 450'000});
}

TEST(tuning, ampere_reads_each_slice_of_simple_from_its_neighbour) {
    Machine ampere = hopper();
    ampere.generation = Generation::ampere;
    ampere.network(Tier::scale_up).mbps = 240'000;
    ampere.reduces = false;
    EXPECT_EQ(tuned(uint64_t{1} << 30, servers(1, 8), ampere).software.before(Tier::scale_up, 0),
              Duration{3'400'000 - 450'000 + 2'600'000});
}

TEST(tuning, sums_of_more_than_two_servers_take_longer_loops) {
    const auto loop = [](uint32_t count) {
        return tuned(64 << 20, servers(count, 8)).software.before(Tier::scale_up, 0);
    };
    EXPECT_EQ(loop(2), Duration{6'800'000});
    EXPECT_EQ(loop(4), Duration{18'000'000});
}

TEST(tuning, a_network_slower_than_the_model_leaves_the_reaction) {
    Machine slow = hopper();
    slow.network(Tier::scale_out).latency = Duration{30'000'000};
    EXPECT_EQ(tuned(1024, servers(4, 8), slow).software.before(Tier::scale_out, 0),
              slow.network(Tier::scale_out).reaction);
}

TEST(tuning, bare_messages_have_no_software) {
    CollectiveOptions options;
    options.bytes = 1 << 20;
    options.algorithm = Algorithm::automatic;
    const CollectiveOptions bare = tune(options, servers(2, 8), hopper());
    EXPECT_NE(bare.algorithm, Algorithm::automatic);
    EXPECT_EQ(bare.software.launch, Duration{});
    EXPECT_EQ(bare.software.wire_bytes(100), 100u);
}

}  // namespace
}  // namespace tulle::workload
