// Which way packets go: a leaf of two with hosts 0 to 3 on ports 0 to 3, four spines behind ports 4
// to 7, and hosts 4 to 7 on the other leaf.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "fabric/spray.h"
#include "fabric/switch.h"
#include "fabric/testing.h"

namespace tulle::fabric::testing {
namespace {

using namespace base::literals;

constexpr Instant kStart{};
constexpr uint16_t kUplinks[] = {4, 5, 6, 7};

class Leaf : public SwitchBench {
public:
    explicit Leaf(BenchOptions options)
        : SwitchBench(*topology::build_spec("leaf-spine:leaves=2,spines=4,hosts=4"), 8,
                      std::move(options)) {}

    // How many packets of each flow left by each of the ways up, since it was asked last.
    std::map<uint32_t, std::array<int, 4>> taken() {
        std::map<uint32_t, std::array<int, 4>> ways;
        for (size_t i = 0; i < 4; ++i)
            for (const Transit& transit : sent(kUplinks[i])) ++ways[transit.flow][i];
        return ways;
    }
};

BenchOptions choosing(PathChoice choice) {
    BenchOptions options;
    options.settings.node.lossy_dynamic_threshold = false;
    options.settings.route.choice = choice;
    options.settings.route.flowlet_gap = 1_us;
    return options;
}

NodeChange change(Instant at, NodeChange::Kind kind, uint16_t port) {
    return {.at = at, .kind = kind, .port = port};
}

TEST(Paths, ecmp_spreads_flows_evenly_and_keeps_each_on_one_way) {
    Leaf leaf(choosing(PathChoice::ecmp));
    constexpr int kFlows = 4000;
    for (uint32_t round = 0; round < 3; ++round)
        for (uint32_t flow = 0; flow < kFlows; ++flow)
            leaf.arrive(kStart + round * 1_ms + flow * 20_ns, 0, {.destination = 5, .flow = flow});
    leaf.run();
    std::array<int, 4> flows{};
    const auto ways = leaf.taken();
    ASSERT_EQ(ways.size(), size_t{kFlows});
    for (const auto& [flow, counts] : ways) {
        const auto way = std::ranges::find(counts, 3);
        ASSERT_NE(way, counts.end()) << flow;
        ++flows[static_cast<size_t>(way - counts.begin())];
    }
    const double deviation = std::sqrt(kFlows * 0.25 * 0.75);
    for (const int count : flows) EXPECT_NEAR(count, kFlows / 4, 4 * deviation);
}

// So many packets of a flow, one a microsecond from its first PSN on.
void send_flow(Leaf& leaf, uint32_t flow, uint32_t packets, uint32_t first_psn = 0) {
    for (uint32_t i = 0; i < packets; ++i)
        leaf.arrive(kStart + i * 1_us, 0, {.destination = 5, .flow = flow, .psn = first_psn + i});
}

TEST(Paths, spray_spreads_each_flow_evenly_by_itself) {
    Leaf leaf(choosing(PathChoice::spray));
    for (uint32_t flow = 0; flow < 20; ++flow) {
        send_flow(leaf, flow, 400, 1000 * flow);
        leaf.run();
        const auto taken = leaf.taken();
        for (const int count : taken.at(flow)) EXPECT_NEAR(count, 100, 4) << flow;
    }
}

TEST(Paths, spray_is_not_disturbed_by_acknowledgements_and_other_flows) {
    Leaf alone(choosing(PathChoice::spray));
    send_flow(alone, 1, 400);
    alone.run();
    Leaf crowded(choosing(PathChoice::spray));
    for (uint32_t i = 0; i < 400; ++i) {
        const Instant before = kStart + i * 1_us;
        crowded.arrive(before, 1, {.destination = 6, .bytes = 110, .flow = 2, .flags = 0});
        crowded.arrive(before, 2, {.destination = 7, .flow = 3, .psn = i});
    }
    send_flow(crowded, 1, 400);
    crowded.run();
    EXPECT_EQ(crowded.taken()[1], alone.taken()[1]);
}

TEST(Paths, a_second_tier_spreads_evenly_what_one_port_of_the_first_sent_it) {
    for (size_t ways = 2; ways <= 16; ways += 2) {
        std::vector<std::vector<int>> count(ways, std::vector<int>(ways));
        constexpr uint32_t kPackets = 20'000;
        for (uint32_t psn = 0; psn < kPackets; ++psn) {
            const size_t first = spray_place(psn, 0x1234'5678'9abc'def0, 1, ways);
            ++count[first][spray_place(psn, 0xfedc'ba98'7654'3210 * first, 2, ways)];
        }
        const auto fair = static_cast<double>(kPackets / ways / ways);
        for (const auto& row : count)
            for (const int packets : row) EXPECT_NEAR(packets, fair, 10) << ways;
    }
}

// Three ways are stopped; their queues grow until each is as long as the fourth, which moves.
void expect_equal_queues(Leaf& leaf) {
    for (const uint16_t port : {4, 5, 7}) leaf.pause(kStart, port, 1, 0xffff);
    for (int i = 0; i < 40; ++i) leaf.arrive(kStart + 1_us, 0, {.destination = 5, .flow = 1});
    leaf.run(kStart + 1_us + 1_ps);
    for (const uint16_t port : kUplinks) {
        const uint32_t on_the_line = leaf.port(port).busy_until > kStart + 1_us ? 1000 : 0;
        EXPECT_EQ(leaf.port(port).queued_bytes + on_the_line, 10'000u);
    }
}

TEST(Paths, adaptive_takes_the_shortest_queue) {
    BenchOptions options = choosing(PathChoice::adaptive);
    options.settings.flow_control = FlowControl::pfc;
    options.settings.pfc.priorities = 1;
    Leaf leaf(options);
    expect_equal_queues(leaf);
    // From now on each packet that leaves makes room for one.
    for (int i = 0; i < 100; ++i)
        leaf.arrive(kStart + 2_us + i * 21_ns, 0, {.destination = 5, .flow = 2});
    leaf.run(kStart + 5_us);
    EXPECT_EQ(leaf.taken()[2], (std::array{0, 0, 100, 0}));
}

// At 600/11 Gb/s a byte takes 146 2/3 ps.
TEST(Paths, adaptive_sees_queues_of_lines_whose_bytes_take_no_whole_picoseconds) {
    BenchOptions options = choosing(PathChoice::adaptive);
    options.settings.link.rate = Rate::bits_per_second(600'000'000'000, 11);
    options.settings.flow_control = FlowControl::pfc;
    options.settings.pfc.priorities = 1;
    Leaf leaf(options);
    expect_equal_queues(leaf);
}

// Two ways with short queues and two with long ones, so far apart that a coarse grade tells.
TEST(Paths, adaptive_with_grades_takes_queues_of_one_grade_for_equal) {
    BenchOptions options = choosing(PathChoice::adaptive);
    options.settings.flow_control = FlowControl::pfc;
    options.settings.pfc.priorities = 1;
    options.settings.route.load_step_bytes = 8'000;
    Leaf leaf(options);
    for (const uint16_t port : kUplinks) leaf.pause(kStart, port, 1, 0xffff);
    for (uint32_t i = 0; i < 40; ++i)
        leaf.arrive(kStart + 1_us, 0, {.destination = 5, .flow = 1, .psn = i});
    leaf.run(kStart + 1_us + 1_ps);
    // Each grade is filled before the next one begins, at random within.
    std::set<uint32_t> lengths;
    for (const uint16_t port : kUplinks) {
        lengths.insert(leaf.port(port).queued_bytes);
        EXPECT_GE(leaf.port(port).queued_bytes, 8'000u);
        EXPECT_LE(leaf.port(port).queued_bytes, 16'000u);
    }
    EXPECT_GT(lengths.size(), 1u) << "as even as with exact loads";
}

TEST(Paths, adaptive_with_a_period_sees_loads_as_they_were) {
    BenchOptions options = choosing(PathChoice::adaptive);
    options.settings.flow_control = FlowControl::pfc;
    options.settings.pfc.priorities = 1;
    options.settings.route.load_period = 1_us;
    Leaf leaf(options);
    for (const uint16_t port : kUplinks) leaf.pause(kStart, port, 1, 0xffff);
    // All of one period find the ports empty, and draw.
    for (uint32_t i = 0; i < 10; ++i)
        leaf.arrive(kStart + 1_us + i * 1_ns, 0, {.destination = 5, .flow = 1, .psn = i});
    leaf.run(kStart + 1_us + 10_ns);
    uint16_t fullest = kUplinks[0];
    for (const uint16_t port : kUplinks)
        if (leaf.port(port).queued_bytes > leaf.port(fullest).queued_bytes) fullest = port;
    const uint32_t before = leaf.port(fullest).queued_bytes;
    EXPECT_GE(before, 3'000u);
    // In the next one they are seen.
    for (uint32_t i = 0; i < 10; ++i)
        leaf.arrive(kStart + 2_us + i * 1_ns, 0, {.destination = 5, .flow = 1, .psn = 10 + i});
    leaf.run(kStart + 2_us + 10_ns);
    EXPECT_EQ(leaf.port(fullest).queued_bytes, before);
}

BenchOptions warning(uint64_t above) {
    BenchOptions options = choosing(PathChoice::adaptive);
    options.settings.route.warn_above_bytes = above;
    // By the names of the graph: hosts 0 to 7, leaves 8 and 9, spines 10 to 13.
    options.neighbours = {0, 1, 2, 3, 10, 11, 12, 13};
    options.ports_to_hosts = {0, 1, 2, 3};
    return options;
}

TEST(Paths, a_way_whose_next_switch_is_full_there_is_left_alone_until_it_says_otherwise) {
    Leaf leaf(warning(50'000));
    // The port of the first two spines to the other leaf, which is their second.
    for (const uint16_t port : {4, 5}) leaf.warn(kStart, port, 1, true);
    send_flow(leaf, 1, 400);
    leaf.run();
    auto taken = leaf.taken()[1];
    EXPECT_EQ(taken[0] + taken[1], 0);
    leaf.warn(kStart + 1_ms, 4, 1, false);
    for (uint32_t i = 0; i < 400; ++i)
        leaf.arrive(kStart + 2_ms + i * 1_us, 0, {.destination = 5, .flow = 1, .psn = i});
    leaf.run();
    taken = leaf.taken()[1];
    EXPECT_NEAR(taken[0], 133, 50);
    EXPECT_EQ(taken[1], 0);
}

TEST(Paths, where_all_ways_are_full_the_shortest_queue_decides_again) {
    Leaf leaf(warning(50'000));
    for (const uint16_t port : kUplinks) leaf.warn(kStart, port, 1, true);
    send_flow(leaf, 1, 400);
    leaf.run();
    const auto taken = leaf.taken();
    for (const int count : taken.at(1)) EXPECT_NEAR(count, 100, 40);
}

// Of a full port to a host the neighbours hear once, and once that it is free.
TEST(Paths, a_switch_warns_its_neighbours_of_a_full_port_and_takes_it_back) {
    Leaf leaf(warning(50'000));
    for (uint32_t i = 0; i < 100; ++i)
        leaf.arrive(kStart + 1_us, static_cast<uint16_t>(1 + i % 3), {.destination = 0, .psn = i});
    leaf.run();
    for (const uint16_t port : kUplinks) {
        const auto told = leaf.told(port);
        ASSERT_EQ(told.size(), 2u) << port;
        EXPECT_EQ(told[0].destination, 0u);
        EXPECT_EQ(told[0].flow, 1u);
        EXPECT_EQ(told[1].flow, 0u);
        EXPECT_LT(told[0].at, told[1].at);
    }
    EXPECT_TRUE(leaf.told(1).empty()) << "hosts hear nothing";
}

TEST(Paths, a_flowlet_stays_on_its_way_within_the_gap_and_may_leave_behind_it) {
    Leaf leaf(choosing(PathChoice::flowlet));
    // Never more than the gap apart: one way, though the others are empty.
    for (int i = 0; i < 50; ++i)
        leaf.arrive(kStart + 1_us + i * 1_us, 0,
                    {.destination = 5, .flow = 1, .psn = static_cast<uint32_t>(i)});
    leaf.run();
    auto counts = leaf.taken()[1];
    EXPECT_EQ(*std::ranges::max_element(counts), 50);
    // Further apart: each packet is a flowlet of its own.
    for (int i = 0; i < 400; ++i)
        leaf.arrive(kStart + 1_ms + i * 1001_ns, 0,
                    {.destination = 5, .flow = 1, .psn = static_cast<uint32_t>(i)});
    leaf.run();
    counts = leaf.taken()[1];
    for (const int count : counts) EXPECT_NEAR(count, 100, 40);
}

TEST(Paths, all_but_tables_leave_a_port_that_is_down_at_once) {
    for (const PathChoice choice : {PathChoice::adaptive, PathChoice::flowlet, PathChoice::spray}) {
        BenchOptions options = choosing(choice);
        for (const uint16_t port : {4, 5, 6})
            options.changes.push_back(change(kStart + 10_us, NodeChange::Kind::port_down, port));
        Leaf leaf(options);
        for (int i = 0; i < 40; ++i)
            leaf.arrive(kStart + 1_us + i * 500_ns, 0,
                        {.destination = 5, .flow = 1, .psn = static_cast<uint32_t>(i)});
        leaf.run();
        uint64_t lost = 0;
        for (const uint16_t port : kUplinks) lost += leaf.dropped(port, Drop::link_down);
        EXPECT_EQ(lost, 0u);
    }
}

TEST(Paths, ecmp_loses_what_goes_to_a_port_that_is_down_until_the_tables_know) {
    const topology::Graph graph = *topology::build_spec("leaf-spine:leaves=2,spines=4,hosts=4");
    // Cables: eight of hosts, then those of the first leaf.
    std::vector<bool> down(graph.cables.size());
    const topology::Ports ports(graph);
    down[ports.at({8, 4}).cable] = true;
    const Routes without = Routes::compute(graph, RouteKind::shortest, down);
    BenchOptions options = choosing(PathChoice::ecmp);
    options.changes = {
        change(kStart + 10_us, NodeChange::Kind::port_down, 4),
        {.at = kStart + 20_us, .kind = NodeChange::Kind::routes, .routes = &without}};
    Leaf leaf(options);
    for (uint32_t i = 0; i < 400; ++i)
        leaf.arrive(kStart + 11_us + i * 20_ns, 0, {.destination = 5, .flow = i});
    leaf.run(kStart + 20_us);
    const uint64_t lost = leaf.dropped(4, Drop::link_down);
    EXPECT_NEAR(static_cast<double>(lost), 100, 40);
    for (uint32_t i = 0; i < 400; ++i)
        leaf.arrive(kStart + 21_us + i * 20_ns, 0, {.destination = 5, .flow = i});
    leaf.run();
    EXPECT_EQ(leaf.dropped(4, Drop::link_down), lost);
    EXPECT_EQ(leaf.sent(4).size(), 0u);
}

TEST(Paths, a_port_that_goes_down_loses_its_queue_and_serves_again_when_it_is_back) {
    BenchOptions options = choosing(PathChoice::ecmp);
    options.changes = {change(kStart + 10_us, NodeChange::Kind::port_down, 1),
                       change(kStart + 30_us, NodeChange::Kind::port_up, 1)};
    Leaf leaf(options);
    for (int i = 0; i < 5; ++i) leaf.arrive(kStart + 10_us - 10_ns, 0, {.destination = 1});
    leaf.arrive(kStart + 20_us, 0, {.destination = 1});
    leaf.arrive(kStart + 20_us, 1, {.destination = 2});
    leaf.arrive(kStart + 30_us, 0, {.destination = 1});
    leaf.run();
    EXPECT_EQ(leaf.sent(2).size(), 0u);  // what comes through it is lost too
    EXPECT_EQ(leaf.dropped(1, Drop::link_down), 4u + 1 + 1);
    const auto sent = leaf.sent(1);
    ASSERT_EQ(sent.size(), 2u);  // the one that was on the line, and the last
    EXPECT_EQ(sent[1].at, kStart + 30_us + 20_ns);
    EXPECT_EQ(leaf.node().storage().intake().buffer().shared_used(), 0u);
}

TEST(Paths, a_fixed_path_is_taken_hop_by_hop_and_ends_where_it_ends) {
    Leaf leaf(choosing(PathChoice::ecmp));
    leaf.paths_ = {{6}, {}};
    constexpr uint8_t kFixed = Transit::kData | Transit::kFixedPath;
    leaf.arrive(kStart + 1_us, 0, {.destination = 5, .flow = 0, .flags = kFixed});
    leaf.arrive(kStart + 2_us, 0, {.destination = 5, .flow = 1, .flags = kFixed});
    leaf.run();
    EXPECT_EQ(leaf.sent(6).size(), 1u);
    EXPECT_EQ(leaf.dropped(0, Drop::no_route), 1u);
}

}  // namespace
}  // namespace tulle::fabric::testing
