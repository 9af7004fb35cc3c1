// Whole sweeps in virtual time.
#include "control/subnet/manager/manager.h"

#include <gtest/gtest.h>

#include "control/subnet/testing.h"
#include "control/subnet/world.h"

namespace tulle::control {
namespace {

using testing::graph_of;

constexpr base::Instant seconds(int64_t count) {
    return {count * 1'000'000'000'000};
}

TEST(sweep, brings_up_every_kind_of_fabric) {
    for (const char* const fabric : {"pair", "star:3", "fat-tree:k=4", "torus:4x3,hosts=2",
                                     "dragonfly:a=4,p=2,h=2", "line:3"}) {
        World world(graph_of(fabric), {});
        world.start_manager(world.add_manager(0, {}));
        ASSERT_TRUE(world.run_until_settled(seconds(10))) << fabric;
        EXPECT_TRUE(world.all_links_are_active()) << fabric;
        const Reach reach = world.reach();
        EXPECT_TRUE(reach.is_whole()) << fabric << " " << reach.lost_host_pairs;
        EXPECT_EQ(world.manager(0).counters().repeated, 0u) << fabric;
        EXPECT_EQ(world.manager(0).counters().sweeps, 1u) << fabric;
    }
}

TEST(sweep, gives_every_port_one_lid_of_its_own) {
    const topology::Graph graph = graph_of("fat-tree:k=4");
    World world(graph, {});
    world.start_manager(world.add_manager(0, {}));
    ASSERT_TRUE(world.run_until_settled(seconds(10)));
    std::vector<bool> taken(1000);
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
        const uint16_t lid = world.agent(node).lid();
        ASSERT_GT(lid, 0);
        EXPECT_FALSE(taken[lid]);
        taken[lid] = true;
    }
}

TEST(sweep, keeps_lids_when_the_manager_starts_again) {
    const topology::Graph graph = graph_of("fat-tree:k=4");
    World world(graph, {});
    const size_t first = world.add_manager(0, {});
    world.start_manager(first);
    ASSERT_TRUE(world.run_until_settled(seconds(10)));
    std::vector<uint16_t> before;
    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
        before.push_back(world.agent(node).lid());
    const LidsByGuid lids = world.manager(first).lids();
    world.kill_manager(first);
    for (const LidsByGuid& known : {lids, LidsByGuid{}}) {  // from a file; from the ports
        const size_t again = world.add_manager(5, {}, known);
        world.start_manager(again);
        ASSERT_TRUE(world.run_until_settled({world.now().ps + seconds(10).ps}));
        for (uint32_t node = 0; node < graph.nodes.size(); ++node)
            EXPECT_EQ(world.agent(node).lid(), before[node]);
        world.kill_manager(again);
    }
}

TEST(sweep, repeats_smps_that_were_lost) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
        World world(graph_of("fat-tree:k=4"), {.loss_per_million = 10'000, .seed = seed});
        world.start_manager(world.add_manager(0, {}));
        ASSERT_TRUE(world.run_until_settled(seconds(100))) << seed;
        EXPECT_GT(world.manager(0).counters().repeated, 0u);
        EXPECT_TRUE(world.all_links_are_active()) << seed;
        EXPECT_TRUE(world.reach().is_whole()) << seed;
    }
}

TEST(sweep, runs_again_when_a_trap_tells_of_a_link) {
    const topology::Graph graph = graph_of("fat-tree:k=4");
    World world(graph, {});
    world.start_manager(world.add_manager(0, {}));
    ASSERT_TRUE(world.run_until_settled(seconds(10)));
    const uint64_t sent = world.manager(0).counters().sent;
    const auto written = world.manager(0).counters().sent_of.at(wire::kSmpLinearForwardingTable);
    world.set_cable(static_cast<uint32_t>(graph.cables.size() - 1), false);
    world.run_until({world.now().ps + seconds(5).ps});
    EXPECT_TRUE(world.manager(0).is_settled());
    EXPECT_GT(world.manager(0).counters().traps, 0u);
    EXPECT_GT(world.manager(0).counters().sent, sent);
    EXPECT_TRUE(world.reach().is_whole());
    // Few blocks change: 20 switches have one each, and most stay.
    EXPECT_LT(world.manager(0).counters().sent_of.at(wire::kSmpLinearForwardingTable) - written,
              20u);
    world.set_cable(static_cast<uint32_t>(graph.cables.size() - 1), true);
    world.run_until({world.now().ps + seconds(5).ps});
    EXPECT_TRUE(world.all_links_are_active());
    EXPECT_TRUE(world.reach().is_whole());
}

TEST(two_managers, agree_on_the_one_of_higher_priority) {
    World world(graph_of("fat-tree:k=4"), {});
    const size_t low = world.add_manager(0, {.priority = 1});
    const size_t high = world.add_manager(7, {.priority = 5});
    world.start_manager(low);
    world.start_manager(high);
    world.run_until(seconds(60));
    EXPECT_EQ(world.manager(high).state(), wire::kSmMaster);
    EXPECT_EQ(world.manager(low).state(), wire::kSmStandby);
    EXPECT_TRUE(world.all_links_are_active());
    EXPECT_TRUE(world.reach().is_whole());
}

TEST(two_managers, of_one_priority_agree_on_the_lower_guid) {
    World world(graph_of("fat-tree:k=4"), {});
    const size_t second = world.add_manager(9, {});
    const size_t first = world.add_manager(2, {});
    world.start_manager(second);
    world.start_manager(first);
    world.run_until(seconds(60));
    EXPECT_EQ(world.manager(first).state(), wire::kSmMaster);
    EXPECT_EQ(world.manager(second).state(), wire::kSmStandby);
}

TEST(two_managers, survive_the_death_of_the_master) {
    const topology::Graph graph = graph_of("fat-tree:k=4");
    World world(graph, {});
    const size_t high = world.add_manager(0, {.priority = 5});
    const size_t low = world.add_manager(7, {.priority = 1});
    world.start_manager(high);
    world.start_manager(low);
    world.run_until(seconds(30));
    ASSERT_EQ(world.manager(low).state(), wire::kSmStandby);
    std::vector<uint16_t> before;
    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
        before.push_back(world.agent(node).lid());
    world.kill_manager(high);
    world.set_cable(static_cast<uint32_t>(graph.cables.size() - 1), false);
    world.run_until(seconds(200));
    EXPECT_EQ(world.manager(low).state(), wire::kSmMaster);
    EXPECT_TRUE(world.reach().is_whole());
    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
        EXPECT_EQ(world.agent(node).lid(), before[node]);
}

TEST(sweep, ends_on_a_fabric_that_is_longer_than_a_path_can_be) {
    World world(graph_of("line:70"), {});
    world.start_manager(world.add_manager(0, {}));
    ASSERT_TRUE(world.run_until_settled(seconds(100)));
    EXPECT_LT(world.manager(0).node_count(), 140u);
}

// Nodes that answer anything at all: the manager ends its sweep, and does not fall over.
TEST(sweep, survives_any_answers) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
        auto random = testing::stream_of(seed, 5);
        Manager manager({.port_guid = 1});
        manager.start({});
        base::Instant now{};
        for (int i = 0; i < 3'000; ++i) {
            now.ps += 1'000'000;
            if (auto smp = manager.poll_transmit(now)) {
                for (std::byte& byte : smp->data()) byte = static_cast<std::byte>(random.next());
                if (smp->attribute() == wire::kSmpNodeInfo && random.chance(3, 4)) {
                    smp->data()[2] = static_cast<std::byte>(1 + random.below(2));
                    smp->data()[3] = static_cast<std::byte>(random.below(6));
                    smp->data()[11] = static_cast<std::byte>(random.below(8));
                    smp->data()[36] = static_cast<std::byte>(random.below(6));
                }
                if (random.chance(1, 10)) continue;
                smp->answer(random.chance(1, 20) ? wire::kStatusInvalidValue : wire::kStatusOk);
                manager.on_smp(now, *smp);
            } else {
                now = std::max(now, std::min(manager.next_deadline(), seconds(100'000)));
                manager.on_timer(now);
            }
        }
        EXPECT_GT(manager.counters().answered, 0u);
    }
}

// A seed makes a fabric, loses SMPs, breaks and mends cables and kills managers during sweeps. Once
// it leaves the fabric alone, every pair that can talk does.
TEST(sweep_swarm, ends_with_every_pair_joined_that_can_be) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
        auto random = testing::stream_of(seed, 4);
        const topology::Graph graph = testing::random_graph(seed);
        World world(graph, {.loss_per_million = 1'000 * random.below(20), .seed = seed});
        std::vector<size_t> managers;
        std::vector<uint32_t> hosts = graph.endpoints();
        random.shuffle(std::span(hosts));
        for (size_t i = 0; i < std::min<size_t>(2, hosts.size()); ++i) {
            managers.push_back(world.add_manager(
                hosts[i], {.priority = static_cast<uint8_t>(random.below(3)), .m_key = 77}));
            world.start_manager(managers.back());
        }
        std::vector<uint32_t> broken;
        for (int i = 0; i < 6; ++i) {
            world.run_until({world.now().ps + static_cast<int64_t>(random.below(20'000'000'000))});
            const auto cable = static_cast<uint32_t>(random.below(graph.cables.size()));
            const bool is_host = graph.nodes[graph.cables[cable].a.node].is_host() ||
                                 graph.nodes[graph.cables[cable].b.node].is_host();
            if (is_host) continue;
            world.set_cable(cable, false);
            broken.push_back(cable);
        }
        if (random.chance(1, 3) && managers.size() == 2) world.kill_manager(managers[0]);
        for (const uint32_t cable : broken) world.set_cable(cable, true);
        world.set_loss(0);
        world.run_until({world.now().ps + seconds(300).ps});
        int masters = 0;
        for (const size_t number : managers)
            masters += world.is_alive(number) && world.manager(number).state() == wire::kSmMaster;
        EXPECT_EQ(masters, 1) << "seed " << seed;
        const Reach reach = world.reach();
        EXPECT_TRUE(reach.is_whole()) << "seed " << seed << ": " << reach.lost_host_pairs;
        EXPECT_TRUE(world.all_links_are_active()) << "seed " << seed;
    }
}

}  // namespace
}  // namespace tulle::control
