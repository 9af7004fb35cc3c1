// Whole sweeps in virtual time.
#include "control/subnet/manager/manager.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "control/subnet/check/credit_loops.h"
#include "control/subnet/check/spread.h"
#include "control/subnet/testing.h"
#include "control/subnet/world.h"

namespace tulle::control {
namespace {

using testing::graph_of;

constexpr base::Instant seconds(int64_t count) {
    return {count * 1'000'000'000'000};
}

uint32_t switch_named(const topology::Graph& graph, std::string_view name) {
    uint32_t node = 0;
    while (graph.nodes[node].name != name) ++node;
    return node;
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

// Nodes repeat their traps every 100 ms. Here the nodes are so slow that discovery takes longer,
// and some traps arrive only once routes are back.
TEST(sweep, ends_though_it_takes_longer_than_traps_wait) {
    const topology::Graph graph = graph_of("leaf-spine:leaves=6,spines=3,hosts=2");
    for (const char* const spine : {"spine0", "spine1", "spine2"}) {
        World world(graph, {.relay = base::Duration{1'000'000'000}});
        world.start_manager(world.add_manager(graph.endpoints()[0], {.window = 8}));
        ASSERT_TRUE(world.run_until_at_rest(seconds(10)));
        ASSERT_GT(world.now(), base::Instant{300'000'000'000});
        const uint64_t sweeps = world.manager(0).counters().sweeps;
        world.set_switch(switch_named(graph, spine), false);
        EXPECT_TRUE(world.run_until_at_rest(world.now() + base::Duration{seconds(5).ps})) << spine;
        EXPECT_LE(world.manager(0).counters().sweeps - sweeps, 4u) << spine;
        EXPECT_EQ(world.manager(0).counters().repeated, 0u) << spine;
        EXPECT_TRUE(world.reach().is_whole()) << spine;
    }
}

// A window of requests by way of the dead switch is waited for once, and not to the last retry.
TEST(sweep, begins_anew_when_a_switch_dies_amid_it) {
    const topology::Graph graph = graph_of("fat-tree:k=8");
    for (const char* const spine : {"spine0", "spine5", "core0", "core5"}) {
        World world(graph, {});
        world.start_manager(world.add_manager(graph.endpoints()[0], {}));
        ASSERT_TRUE(world.run_until_at_rest(seconds(10)));
        const uint64_t sweeps = world.manager(0).counters().sweeps;
        world.set_cable(static_cast<uint32_t>(graph.cables.size() - 1), false);
        world.run_until(world.now() + base::Duration{5'000'000'000});
        ASSERT_FALSE(world.manager(0).is_at_rest());
        world.set_switch(switch_named(graph, spine), false);
        const base::Instant death = world.now();
        while (!world.reach().is_whole() && world.now() < death + base::Duration{seconds(9).ps})
            world.run_until(world.now() + base::Duration{10'000'000'000});
        EXPECT_LT((world.now() - death).ps, 400'000'000'000) << spine;
        EXPECT_TRUE(world.run_until_at_rest(world.now() + base::Duration{seconds(5).ps})) << spine;
        EXPECT_LE(world.manager(0).counters().sweeps - sweeps, 5u) << spine;
    }
}

// OpenSM looks every 10 s. Here every seventh look is a full sweep.
TEST(sweep, looks_at_switches_alone_while_nothing_changes) {
    const topology::Graph graph = graph_of("leaf-spine:leaves=3,spines=2,hosts=2");
    World world(graph, {});
    const size_t number = world.add_manager(graph.endpoints()[0], {});
    world.start_manager(number);
    ASSERT_TRUE(world.run_until_settled(seconds(5)));
    const auto counters = [&] { return world.manager(number).counters(); };
    const ManagerCounters before = counters();
    world.run_until(seconds(55));
    EXPECT_EQ(counters().sweeps, before.sweeps);
    EXPECT_EQ(counters().sent - before.sent, 5u * 5) << "one SwitchInfo of each switch a look";
    EXPECT_EQ(counters().sent_of.at(wire::kSmpSwitchInfo) - before.sent_of.at(wire::kSmpSwitchInfo),
              counters().sent - before.sent);
    world.run_until(seconds(75));
    EXPECT_EQ(counters().sweeps, before.sweeps + 1);
}

// A world in which no MAD leaves a node, though its cables have light.
World world_without_answers_of(const topology::Graph& graph, uint32_t node) {
    constexpr uint64_t kAll = 1'000'000'000'000;
    WorldSettings settings;
    for (const topology::Cable& cable : graph.cables)
        settings.losses.push_back(
            {cable.a.node == node ? kAll : 0, cable.b.node == node ? kAll : 0});
    return World(graph, settings);
}

// OpenSM gives up a node after some retries, configures all others, and asks it again at each look.
TEST(silent_node, is_left_out_and_asked_again_at_each_look) {
    const topology::Graph graph = graph_of("leaf-spine:leaves=3,spines=2,hosts=2");
    for (const uint32_t silent : {graph.endpoints().back(), switch_named(graph, "spine1")}) {
        const std::string& name = graph.nodes[silent].name;
        World world = world_without_answers_of(graph, silent);
        world.start_manager(world.add_manager(graph.endpoints()[0], {}));
        ASSERT_TRUE(world.run_until_at_rest(seconds(5))) << name;
        EXPECT_EQ(world.reach().lost_host_pairs, 0u) << name;
        const ManagerCounters before = world.manager(0).counters();
        EXPECT_EQ(before.sweeps, 1u) << name;
        EXPECT_EQ(world.manager(0).fabric().size(), graph.nodes.size() - 1) << name;
        const uint64_t links = graph.nodes[silent].is_host() ? 1 : 3;
        const uint64_t tries = 4 * links;
        EXPECT_EQ(before.given_up, links) << name;
        world.run_until(seconds(55));
        const ManagerCounters& after = world.manager(0).counters();
        EXPECT_EQ(after.sweeps, before.sweeps) << name;
        const uint64_t switches = graph.nodes[silent].is_host() ? 5 : 4;
        EXPECT_EQ(after.sent - before.sent, 5 * (switches + tries)) << name;
    }
}

// Sets the M_Key of a port. `key` opens the lock that is there.
void set_key(World& world, uint32_t node, uint64_t key, uint64_t new_key, uint8_t level) {
    wire::DirectedSmp smp;
    smp.header.management_class.value = wire::kClassSubnetDirectedRoute;
    smp.header.method.value = wire::kMethodSet;
    smp.header.attribute_id.value = wire::kSmpPortInfo;
    smp.header.attribute_modifier.value = world.agent(node).is_switch() ? 0 : 1;
    smp.header.hop_pointer = smp.header.hop_count = 1;
    smp.route.m_key.value = key;
    MadBytes bytes;
    wire::write(smp, bytes.bytes());
    wire::PortInfo wanted = world.agent(node).port(world.agent(node).is_switch() ? 0 : 1);
    wanted.port_state = wire::kPortNoChange;
    wanted.m_key.value = new_key;
    wanted.m_key_protect_bits = level;
    wire::write(wanted, bytes.data());
    world.inject(node, 1, kManagementLane, bytes);
}

// At level 2 the node answers nothing, at level 0 it can be read and not be set.
TEST(silent_node, is_brought_in_once_it_answers) {
    const topology::Graph graph = graph_of("leaf-spine:leaves=3,spines=2,hosts=2");
    for (const uint8_t level : {uint8_t{2}, uint8_t{0}})
        for (const uint32_t locked : {graph.endpoints().back(), switch_named(graph, "spine1")}) {
            const std::string name = graph.nodes[locked].name + " " + std::to_string(level);
            World world(graph, {});
            set_key(world, locked, 0, 99, level);
            world.start_manager(world.add_manager(graph.endpoints()[0], {}));
            ASSERT_TRUE(world.run_until_at_rest(seconds(9))) << name;
            world.run_until(seconds(55));
            EXPECT_LE(world.manager(0).counters().sweeps, level == 2 ? 1u : 5u + 5u) << name;
            EXPECT_FALSE(world.all_links_are_active()) << name;
            set_key(world, locked, 99, 0, 0);
            world.run_until(seconds(66));
            ASSERT_TRUE(world.run_until_at_rest(seconds(70))) << name;
            EXPECT_TRUE(world.all_links_are_active()) << name;
            EXPECT_TRUE(world.reach().is_whole()) << name;
            EXPECT_EQ(world.reach().host_pairs, 30u) << name;
            const uint64_t sweeps = world.manager(0).counters().sweeps;
            world.run_until(seconds(100));
            EXPECT_EQ(world.manager(0).counters().sweeps, sweeps) << name;
        }
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

// The master of low priority hands over to the one of high priority. At each instant of that one of
// them dies, or both at once while a third one waits, or the second a little after the first.
TEST(two_managers, may_die_at_any_instant_of_a_hand_over) {
    enum class Death : uint8_t { of_the_old, of_the_new, of_both, one_after_the_other };
    const topology::Graph graph = graph_of("leaf-spine:leaves=3,spines=2,hosts=2");
    const std::vector<uint32_t> hosts = graph.endpoints();
    for (const Death death :
         {Death::of_the_old, Death::of_the_new, Death::of_both, Death::one_after_the_other})
        for (int64_t step = 0; step < 40; ++step) {
            World world(graph, {});
            const size_t low = world.add_manager(hosts[0], {.priority = 1});
            world.start_manager(low);
            ASSERT_TRUE(world.run_until_settled({seconds(10).ps}));
            const size_t third = world.add_manager(hosts[3], {.priority = 0});
            world.start_manager(third);
            ASSERT_TRUE(world.run_until_at_rest({seconds(20).ps}));
            const size_t high = world.add_manager(hosts[5], {.priority = 2});
            world.start_manager(high);
            world.run_until({world.now().ps + step * 500'000'000});
            if (death != Death::of_the_new) world.kill_manager(low);
            if (death == Death::one_after_the_other)
                world.run_until({world.now().ps + 1'000'000'000});
            if (death != Death::of_the_old) world.kill_manager(high);
            world.set_cable(static_cast<uint32_t>(graph.cables.size() - 1), false);
            world.run_until({world.now().ps + seconds(200).ps});
            int masters = 0;
            for (const size_t number : {low, third, high})
                masters +=
                    world.is_alive(number) && world.manager(number).state() == wire::kSmMaster;
            EXPECT_EQ(masters, 1) << static_cast<int>(death) << " at step " << step;
            EXPECT_TRUE(world.reach().is_whole()) << static_cast<int>(death) << " at " << step;
        }
}

TEST(sweep, ends_on_a_fabric_that_is_longer_than_a_path_can_be) {
    World world(graph_of("line:70"), {});
    world.start_manager(world.add_manager(0, {}));
    ASSERT_TRUE(world.run_until_settled(seconds(100)));
    EXPECT_LT(world.manager(0).fabric().size(), 140u);
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
            if (auto out = manager.poll_transmit(now)) {
                MadBytes* const smp = &out->mad;
                for (std::byte& byte : smp->data()) byte = static_cast<std::byte>(random.next());
                if (smp->attribute() == wire::kSmpNodeInfo && random.chance(3, 4)) {
                    smp->data()[2] = static_cast<std::byte>(1 + random.below(2));
                    smp->data()[3] = static_cast<std::byte>(random.below(6));
                    smp->data()[11] = static_cast<std::byte>(random.below(8));
                    smp->data()[36] = static_cast<std::byte>(random.below(6));
                }
                if (random.chance(1, 10)) continue;
                smp->answer(random.chance(1, 20) ? wire::kStatusInvalidValue : wire::kStatusOk);
                manager.on_mad(now, *smp);
            } else {
                now = std::max(now, std::min(manager.next_deadline(), seconds(100'000)));
                manager.on_timer(now);
            }
        }
        EXPECT_GT(manager.counters().answered, 0u);
    }
}

uint64_t sent_of(World& world, uint32_t attribute) {
    const auto& sent = world.manager(0).counters().sent_of;
    const auto found = sent.find(attribute);
    return found == sent.end() ? 0 : found->second;
}

// The lane that each hop of each packet takes is the one that the routing asks for.
void expect_lanes(World& world) {
    const SubnetPlan& plan = world.manager(0).plan();
    const Subnet& subnet = plan.subnet();
    for (uint32_t s = 0; s < subnet.switch_count(); ++s) {
        const uint64_t guid = world.manager(0).fabric()[plan.switch_nodes()[s]].guid();
        uint32_t node = 0;
        while (world.agent(node).node().guid != guid) ++node;
        for (uint8_t in = 0; in <= subnet.port_count(s); ++in)
            for (uint8_t out = 1; out <= subnet.port_count(s); ++out)
                for (uint8_t level = 0; level < plan.routing().lanes.count; ++level)
                    ASSERT_EQ(world.agent(node).tables().lane(in, out, level),
                              plan.routing().lanes.rule.lane(subnet.port_index(s, in),
                                                             subnet.port_index(s, out), level));
    }
}

// A fabric whose paths share one lane needs a second one when a cable breaks. What switches are
// told then is one map each, and after the next broken cable nothing: nothing changed.
TEST(lanes, are_written_only_where_they_changed) {
    const topology::Graph graph = graph_of("fat-tree:k=8");
    World world(graph, {});
    world.start_manager(world.add_manager(0, {}));
    ASSERT_TRUE(world.run_until_settled(seconds(10)));
    EXPECT_EQ(sent_of(world, wire::kSmpSlToVlMappingTable), 0u);
    const auto last = static_cast<uint32_t>(graph.cables.size() - 1);
    world.set_cable(last, false);
    world.run_until_at_rest(world.now() + base::Duration{seconds(60).ps});
    ASSERT_GT(world.manager(0).plan().routing().lanes.count, 1);
    const uint64_t first = sent_of(world, wire::kSmpSlToVlMappingTable);
    EXPECT_EQ(first, graph.switch_count());
    expect_lanes(world);
    world.set_cable(last - 9, false);
    world.run_until_at_rest(world.now() + base::Duration{seconds(60).ps});
    EXPECT_EQ(sent_of(world, wire::kSmpSlToVlMappingTable), first);
    EXPECT_TRUE(world.reach().is_whole());
}

TEST(lanes, that_depend_on_ports_are_written_by_few_smps) {
    const topology::Graph graph = graph_of("dragonfly:a=4,p=2,h=2");
    World world(graph, {});
    world.start_manager(world.add_manager(0, {}));
    ASSERT_TRUE(world.run_until_settled(seconds(10)));
    EXPECT_EQ(world.manager(0).plan().engine_name(), "dragonfly");
    expect_lanes(world);
    const uint64_t maps = graph.switch_count() * (7 + 1) * 7;  // a port each of in and out
    EXPECT_LT(sent_of(world, wire::kSmpSlToVlMappingTable), maps / 2);
}

TEST(lmc, gives_hosts_several_lids_and_each_its_own_path) {
    const topology::Graph graph = graph_of("fat-tree:k=4");
    World world(graph, {});
    world.start_manager(world.add_manager(0, {.lmc = 2}));
    ASSERT_TRUE(world.run_until_settled(seconds(10)));
    EXPECT_TRUE(world.reach().is_whole());
    const auto hosts = graph.endpoints();
    std::vector<bool> taken(1000);
    for (const uint32_t host : hosts) {
        const uint16_t lid = world.agent(host).lid();
        EXPECT_EQ(lid % 4, 0);
        EXPECT_EQ(world.agent(host).port(1).lmc, 2);
        for (uint16_t i = 0; i < 4; ++i) {
            EXPECT_FALSE(taken[lid + i]);
            taken[lid + i] = true;
        }
    }
    // A leaf of two ways up sends to a far host by both.
    const topology::Ports ports(graph);
    const uint32_t leaf = ports.at({hosts.front(), 0}).peer.node;
    const uint16_t far = world.agent(hosts.back()).lid();
    EXPECT_NE(world.agent(leaf).route(far), world.agent(leaf).route(far + 1));
    // The first LIDs of all hosts are spread as if there were no others.
    const SubnetPlan& plan = world.manager(0).plan();
    EXPECT_EQ(measure_shifts(plan.subnet(), plan.routing().tables, 1'000).most_flows, 1u);
}

TEST(qos, writes_lanes_and_arbitration_of_a_policy) {
    auto options = parse_manager_options(
        "qos TRUE\nqos_max_vls 4\nqos_high_limit 3\n"
        "qos_vlarb_high 1:192\nqos_vlarb_low 0:1,2:64,9:1\n"
        "qos_sl2vl 0,1,2,3,0,1,2,3,0,0,0,0,0,0,0,15\n",
        "o");
    ASSERT_TRUE(options.ok());
    const topology::Graph graph = graph_of("leaf-spine:leaves=2,spines=2,hosts=2");
    World world(graph, {});
    world.start_manager(world.add_manager(0, {.qos = std::make_shared<QosPolicy>(*options->qos)}));
    ASSERT_TRUE(world.run_until_settled(seconds(10)));
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
        const Agent& agent = world.agent(node);
        EXPECT_EQ(agent.port(1).operational_vls, wire::kVl0To3);
        EXPECT_EQ(agent.port(1).vl_high_limit, 3);
        EXPECT_EQ(agent.tables().lane(1, 1, 6), 2);
        EXPECT_EQ(agent.tables().lane(1, 1, 15), 15);
    }
    // One map for a switch, one for a host; two blocks of arbitration for each port with a link.
    EXPECT_EQ(sent_of(world, wire::kSmpSlToVlMappingTable), graph.nodes.size());
    EXPECT_EQ(sent_of(world, wire::kSmpVlArbitrationTable), 2 * 2 * graph.cables.size());
}

TEST(congestion_control, is_set_up_at_switches_and_adapters) {
    auto options = parse_manager_options(
        "congestion_control TRUE\ncc_key 7\n"
        "cc_sw_cong_setting_threshold 15\n"
        "cc_ca_cong_setting_ccti_increase 0 3\ncc_cct 1 2 3\n",
        "o");
    ASSERT_TRUE(options.ok());
    const topology::Graph graph = graph_of("leaf-spine:leaves=2,spines=2,hosts=2");
    World world(graph, {});
    world.start_manager(world.add_manager(
        0, {.congestion = std::make_shared<CongestionPolicy>(*options->congestion)}));
    ASSERT_TRUE(world.run_until_settled(seconds(10)));
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
        if (graph.nodes[node].is_host())
            EXPECT_EQ(world.gmps().congestion(node).adapter_setting().entries[0].ccti_increase, 3);
        else
            EXPECT_EQ(world.gmps().congestion(node).switch_setting().threshold, 15);
    }
}

TEST(m_key, of_a_manager_keeps_strangers_out) {
    const topology::Graph graph = graph_of("star:3");
    World world(graph, {});
    world.start_manager(
        world.add_manager(0, {.m_key = 77, .m_key_lease_period = 60, .m_key_protection_level = 2}));
    ASSERT_TRUE(world.run_until_settled(seconds(10)));
    wire::DirectedSmp smp;
    smp.header.management_class.value = wire::kClassSubnetDirectedRoute;
    smp.header.method.value = wire::kMethodGet;
    smp.header.attribute_id.value = wire::kSmpPortInfo;
    smp.header.hop_pointer = smp.header.hop_count = 1;
    smp.route.m_key.value = 78;
    MadBytes bytes;
    wire::write(smp, bytes.bytes());
    const uint32_t victim = graph.endpoints()[1];
    const uint64_t answered = world.agent(victim).counters().answered;
    world.inject(victim, 1, kManagementLane, bytes);
    world.inject(victim, 1, 0, bytes);
    world.run_until_at_rest(world.now() + base::Duration{seconds(5).ps});
    EXPECT_EQ(world.agent(victim).counters().answered, answered);
    EXPECT_EQ(world.agent(victim).counters().bad_m_key, 1u);
    EXPECT_EQ(world.agent(victim).counters().wrong_lane, 1u);
    EXPECT_EQ(world.manager(0).counters().bad_key_traps, 1u);
    EXPECT_EQ(world.manager(0).counters().sweeps, 1u);  // nothing in the fabric changed
}

// A Set(SMInfo) as an adapter would send it to the manager at its own node's neighbour.
MadBytes manager_control(uint32_t request, uint64_t sm_key) {
    wire::DirectedSmp smp;
    smp.header.management_class.value = wire::kClassSubnetDirectedRoute;
    smp.header.method.value = wire::kMethodSet;
    smp.header.attribute_id.value = wire::kSmpSmInfo;
    smp.header.attribute_modifier.value = request;
    smp.header.hop_pointer = smp.header.hop_count = 1;
    MadBytes bytes;
    wire::write(smp, bytes.bytes());
    wire::SmInfo info;
    info.sm_key.value = sm_key;
    wire::write(info, bytes.data());
    return bytes;
}

TEST(sm_key, is_asked_of_who_would_direct_a_manager) {
    const topology::Graph graph = graph_of("star:4");
    World world(graph, {});
    const uint32_t master_node = graph.endpoints()[0];
    const uint32_t standby_node = graph.endpoints()[1];
    const size_t master = world.add_manager(master_node, {.priority = 5, .sm_key = 77});
    const size_t standby = world.add_manager(standby_node, {.priority = 1, .sm_key = 77});
    world.start_manager(master);
    world.start_manager(standby);
    world.run_until(seconds(30));
    ASSERT_EQ(world.manager(standby).state(), wire::kSmStandby);
    const auto send = [&](uint32_t node, uint32_t request, uint64_t key) {
        world.inject(node, 1, kManagementLane, manager_control(request, key));
        world.run_until(world.now() + base::Duration{1'000'000'000});
    };
    send(standby_node, wire::kSmHandover, 78);
    send(standby_node, wire::kSmDisable, 78);
    EXPECT_EQ(world.manager(standby).state(), wire::kSmStandby);
    EXPECT_EQ(world.manager(standby).counters().bad_sm_key, 2u);
    send(master_node, wire::kSmDisable, 77);  // a master does not obey
    EXPECT_EQ(world.manager(master).state(), wire::kSmMaster);
    send(standby_node, wire::kSmDisable, 77);
    EXPECT_EQ(world.manager(standby).state(), wire::kSmNotActive);
    send(standby_node, wire::kSmStandbyRequest, 77);
    EXPECT_EQ(world.manager(standby).state(), wire::kSmStandby);
    // Nobody is shown the key.
    EXPECT_EQ(world.manager(master).info().sm_key.value, 0u);
}

// A seed makes a fabric, loses MADs, breaks, mends and flaps cables and switches, kills and starts
// managers during sweeps, and locks nodes with keys that managers do not know. Once it leaves the
// fabric alone, every pair that can talk does.
class SweepSwarm {
public:
    explicit SweepSwarm(uint64_t seed)
        : seed_(seed),
          random_(testing::stream_of(seed, 4)),
          graph_(testing::random_graph(seed)),
          hosts_(graph_.endpoints()),
          world_(graph_, {.loss_per_million = 1'000 * random_.below(20), .seed = seed}),
          settings_({.m_key = 77,
                     .m_key_protection_level = static_cast<uint8_t>(random_.below(3)),
                     .lmc = static_cast<uint8_t>(random_.chance(1, 4) ? random_.below(3) : 0)}) {
        random_.shuffle(std::span(hosts_));
        for (size_t i = 0; i < std::min<size_t>(2, hosts_.size()); ++i) start(hosts_[i]);
    }

    void run() {
        for (int i = 0; i < 8; ++i) {
            pause(20'000'000'000);
            disturb();
        }
        for (const uint32_t cable : broken_) world_.set_cable(cable, true);
        for (const uint32_t node : dark_) world_.set_switch(node, true);
        for (const uint32_t node : locked_) lock(node, 0, 0);
        if (living().empty()) start(hosts_[0]);  // somebody starts one again
        if (random_.chance(1, 2)) break_for_good();
        world_.set_loss(0);
        world_.run_until({world_.now().ps + seconds(300).ps});
        world_.run_until_at_rest({world_.now().ps + seconds(5).ps});  // it may look just now
        judge();
    }

private:
    void start(uint32_t host) {
        ManagerSettings settings = settings_;
        settings.priority = static_cast<uint8_t>(random_.below(4));
        managers_.push_back(world_.add_manager(host, settings));
        world_.start_manager(managers_.back());
    }

    std::vector<size_t> living() const {
        std::vector<size_t> living;
        for (const size_t number : managers_)
            if (world_.is_alive(number)) living.push_back(number);
        return living;
    }

    void kill_one() {
        const std::vector<size_t> all = living();
        if (!all.empty()) world_.kill_manager(all[random_.below(all.size())]);
    }

    void pause(uint64_t most_ps) {
        world_.run_until({world_.now().ps + static_cast<int64_t>(random_.below(most_ps))});
    }

    void lock(uint32_t node, uint64_t key, uint8_t level) {
        const uint8_t port = world_.agent(node).is_switch() ? 0 : 1;
        set_key(world_, node, world_.agent(node).port(port).m_key.value, key, level);
        world_.run_until(world_.now());
    }

    // True: it is in the set now.
    static bool toggle(std::set<uint32_t>& set, uint32_t number) {
        return set.erase(number) == 0 && set.insert(number).second;
    }

    bool is_between_switches(uint32_t cable) const {
        return !graph_.nodes[graph_.cables[cable].a.node].is_host() &&
               !graph_.nodes[graph_.cables[cable].b.node].is_host();
    }

    void disturb() {
        const auto cable = static_cast<uint32_t>(random_.below(graph_.cables.size()));
        switch (random_.below(8)) {
            case 7: {  // somebody takes a node away from the manager
                const auto node = static_cast<uint32_t>(random_.below(graph_.nodes.size()));
                lock(node, 99, static_cast<uint8_t>(random_.below(3)));
                locked_.insert(node);
                break;
            }
            case 0:
            case 1:
            case 2:  // a cable breaks, or is mended
                if (is_between_switches(cable)) world_.set_cable(cable, !toggle(broken_, cable));
                break;
            case 3: {  // a switch goes, with all that it knew, or comes back
                const uint32_t node = graph_.cables[cable].a.node;
                if (!graph_.nodes[node].is_host()) world_.set_switch(node, !toggle(dark_, node));
                break;
            }
            case 6:  // a cable flaps faster than the manager sweeps
                if (!is_between_switches(cable) || broken_.contains(cable)) break;
                for (uint64_t i = 0; i <= random_.below(4); ++i) {
                    world_.set_cable(cable, false);
                    pause(1'000'000'000);
                    world_.set_cable(cable, true);
                    pause(1'000'000'000);
                }
                break;
            case 4:  // a manager dies amid its work, perhaps with another one, or just before it
                kill_one();
                if (random_.chance(1, 3)) pause(2'000'000'000);
                if (random_.chance(1, 2)) kill_one();
                break;
            default:  // one more begins, and perhaps somebody dies amid the hand-over to it
                if (managers_.size() >= 6 || managers_.size() >= hosts_.size()) break;
                start(hosts_[managers_.size()]);
                if (random_.chance(1, 2)) break;
                pause(20'000'000'000);
                kill_one();
        }
    }

    // Some cables stay broken: the fabric may be in pieces, and only the master's counts.
    void break_for_good() {
        for (uint32_t cable = 0; cable < graph_.cables.size(); ++cable)
            if (is_between_switches(cable) && random_.chance(1, 10)) world_.set_cable(cable, false);
    }

    void judge() {
        // A piece of the fabric has one master, and some have no manager at all.
        int masters = 0;
        for (const size_t number : managers_)
            masters += world_.is_alive(number) && world_.manager(number).state() == wire::kSmMaster;
        EXPECT_GE(masters, 1) << "seed " << seed_;
        for (const size_t number : managers_) {
            if (!world_.is_alive(number) || world_.manager(number).state() != wire::kSmMaster)
                continue;
            const Manager& manager = world_.manager(number);
            EXPECT_TRUE(manager.is_at_rest()) << "seed " << seed_;
            const Reach reach = world_.reach_from(manager.settings().port_guid);
            EXPECT_TRUE(reach.is_whole())
                << "seed " << seed_ << ": " << reach.lost_host_pairs << " of " << reach.host_pairs;
            const auto loop =
                find_credit_loop(manager.plan().subnet(), manager.plan().routing().tables,
                                 manager.plan().routing().lanes);
            EXPECT_FALSE(loop) << "seed " << seed_;
        }
    }

    uint64_t seed_;
    base::RandomStream random_;
    topology::Graph graph_;
    std::vector<uint32_t> hosts_;
    World world_;
    ManagerSettings settings_;
    std::vector<size_t> managers_;
    std::set<uint32_t> broken_;  // cables
    std::set<uint32_t> dark_;    // switches
    std::set<uint32_t> locked_;  // nodes with an M_Key that no manager knows
};

// The test control.sweep_swarm_long sets TULLE_SEEDS.
TEST(sweep_swarm, ends_with_every_pair_joined_that_can_be) {
    for (const uint64_t seed : testing::seeds_to_try(150)) SweepSwarm(seed).run();
}

}  // namespace
}  // namespace tulle::control
