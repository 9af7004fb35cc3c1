// A switch that computes. Lines run at 400 Gb/s: a packet of 1,000 bytes takes 20 ns.
#include "fabric/groups.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fabric/testing.h"

namespace tulle::fabric::testing {
namespace {

using namespace base::literals;

constexpr Instant kStart{};
constexpr uint32_t kSum = kGroupBit;      // of hosts 0, 1 and 2, for host 1
constexpr uint32_t kAll = kGroupBit | 1;  // hosts 0, 1 and 2
constexpr uint32_t kNobody = kGroupBit | 2;
constexpr uint32_t kPacketBlocks = 16;  // of 1,000 bytes

BenchOptions with_groups(FlowControl flow_control, wire::Psn first_psn = {}) {
    BenchOptions options;
    options.settings.flow_control = flow_control;
    options.settings.pfc.priorities = 1;
    options.headroom_bytes = 10'000;
    Group sum;
    sum.members = {{1, {77}, {}}};
    sum.contributors = {0, 1, 2};
    sum.first_psn = first_psn;
    Group all;
    all.members = {{0, {10}, {}}, {1, {11}, {}}, {2, {12}, {}}};
    options.groups = {sum, all, Group{}};
    return options;
}

// Each host hangs on the port of its number.
void contribute(SwitchBench& bench, Instant at, uint16_t host, uint32_t psn) {
    bench.arrive(at, host, {.destination = kSum, .source = host, .psn = psn});
}

std::vector<uint32_t> psns(const std::vector<wire::Packet>& packets) {
    std::vector<uint32_t> numbers;
    for (const wire::Packet& packet : packets) numbers.push_back(packet.psn().value);
    return numbers;
}

TEST(Groups, a_sum_goes_on_with_its_last_contribution_and_the_others_end) {
    SwitchBench bench(4, with_groups(FlowControl::none));
    contribute(bench, kStart + 100_ns, 0, 0);
    contribute(bench, kStart + 300_ns, 1, 0);
    contribute(bench, kStart + 200_ns, 2, 0);
    bench.run();
    EXPECT_EQ(bench.cabling().counters(0).reduced, 1u);
    EXPECT_EQ(bench.cabling().counters(1).reduced, 0u);
    EXPECT_EQ(bench.cabling().counters(2).reduced, 1u);
    EXPECT_EQ(bench.cabling().store.live(), 1u);
    ASSERT_FALSE(bench.cabling().inbound(4 + 1).packets.empty());
    const uint32_t index = bench.cabling().inbound(4 + 1).packets.head;
    EXPECT_EQ(bench.cabling().store[index].at, kStart + 320_ns);
    EXPECT_EQ(bench.cabling().store[index].destination, 1u);
    const wire::Packet sum = bench.sent_packets(1).front();
    EXPECT_EQ(sum.destination, 1u);
    EXPECT_EQ(sum.dest_qp(), wire::Qpn{77});
    EXPECT_EQ(sum.source, kSum);
}

// A switch between hosts 0 and 1 and the root of a tree, which is behind port 3.
TEST(Groups, what_a_switch_has_added_up_goes_to_the_next_one_in_its_name) {
    BenchOptions options = with_groups(FlowControl::credits);
    options.groups[0].contributors = {0, 1};
    options.groups[0].members = {{kGroupBit | 9, {}, {}, 3}};
    options.groups[0].source = kGroupBit | 1234;
    SwitchBench bench(4, options);
    contribute(bench, kStart + 100_ns, 0, 0);
    contribute(bench, kStart + 200_ns, 1, 0);
    bench.run();
    const auto sent = bench.sent_packets(3);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].source, kGroupBit | 1234);
    EXPECT_EQ(sent[0].destination, kGroupBit | 9);
    EXPECT_EQ(bench.cabling().store.live(), 0u);
}

// Host 0 hangs on the root, and another switch sends what it has added up, through port 3.
TEST(Groups, a_sum_for_several_goes_to_each_of_them) {
    BenchOptions options = with_groups(FlowControl::credits);
    options.groups[0].contributors = {0, kGroupBit | 1234};
    options.groups[0].members = {{0, {10}, {}}, {kGroupBit | 5, {}, {}, 3}};
    SwitchBench bench(4, options);
    contribute(bench, kStart + 100_ns, 0, 0);
    EXPECT_TRUE(bench.sent(0).empty());
    bench.arrive(kStart + 200_ns, 3, {.destination = kSum, .source = kGroupBit | 1234, .psn = 0});
    bench.run();
    const auto here = bench.sent_packets(0);
    const auto there = bench.sent_packets(3);
    ASSERT_EQ(here.size(), 1u);
    ASSERT_EQ(there.size(), 1u);
    EXPECT_EQ(here[0].dest_qp(), wire::Qpn{10});
    EXPECT_EQ(here[0].source, kSum);
    EXPECT_EQ(there[0].destination, kGroupBit | 5);
    for (const uint16_t port : {0, 3})
        EXPECT_EQ(bench.cabling().in(port, 0).credits.used_blocks, 0u) << port;
}

TEST(Groups, a_contribution_takes_its_mark_with_it_and_each_copy_has_that_of_its_packet) {
    SwitchBench bench(4, with_groups(FlowControl::none));
    for (const bool is_last_marked : {false, true}) {
        const auto flags = [&](uint16_t host) {
            const bool is_marked = (host == 2) == is_last_marked;
            return static_cast<uint8_t>(is_marked ? Transit::kData | Transit::kMarked
                                                  : Transit::kData);
        };
        const uint32_t psn = is_last_marked ? 1 : 0;
        for (const uint16_t host : {0, 1, 2})
            bench.arrive(kStart + 1_us * (psn * 10 + host), host,
                         {.destination = kSum, .flags = flags(host), .source = host, .psn = psn});
    }
    bench.run();
    const auto sums = bench.sent(1);
    ASSERT_EQ(sums.size(), 2u);
    EXPECT_EQ(sums[0].flags & Transit::kMarked, 0);
    EXPECT_NE(sums[1].flags & Transit::kMarked, 0);

    SwitchBench copies(4, with_groups(FlowControl::none));
    copies.arrive(kStart, 0, {.destination = kAll, .flags = Transit::kData | Transit::kMarked});
    copies.run();
    for (const uint16_t host : {0, 1, 2})
        EXPECT_NE(copies.sent(host).at(0).flags & Transit::kMarked, 0) << host;
}

TEST(Groups, a_contributor_may_be_ahead_by_any_number_of_packets) {
    SwitchBench bench(4, with_groups(FlowControl::none));
    constexpr uint32_t kMany = 5'000;
    for (uint32_t psn = 0; psn < kMany; ++psn) {
        contribute(bench, kStart + 1_us * psn, 0, psn);
        contribute(bench, kStart + 1_us * psn, 1, psn);
    }
    bench.run();
    EXPECT_TRUE(bench.sent(1).empty());
    for (uint32_t psn = 0; psn < 3; ++psn) contribute(bench, kStart + 1_s, 2, psn);
    bench.run();
    EXPECT_EQ(psns(bench.sent_packets(1)), (std::vector<uint32_t>{0, 1, 2}));
    EXPECT_EQ(bench.cabling().store.live(), 0u);
}

TEST(Groups, sums_go_on_where_packet_numbers_wrap) {
    SwitchBench bench(4, with_groups(FlowControl::none, {0xff'fffe}));
    for (const uint16_t host : {0, 2, 1})
        for (const uint32_t psn : {0xff'fffeu, 0xff'ffffu, 0u, 1u})
            contribute(bench, kStart + 1_us * host, host, psn);
    bench.run();
    EXPECT_EQ(psns(bench.sent_packets(1)), (std::vector<uint32_t>{0xff'fffe, 0xff'ffff, 0, 1}));
}

TEST(Groups, no_sum_is_made_without_a_contribution_that_was_lost) {
    for (const uint16_t late : {0, 2}) {
        SwitchBench bench(4, with_groups(FlowControl::none));
        for (uint32_t psn = 0; psn < 4; ++psn) {
            if (psn != 1) contribute(bench, kStart + (late == 0 ? 9_us : 1_us), 0, psn);
            contribute(bench, kStart + 2_us, 1, psn);
            contribute(bench, kStart + 3_us, 2, psn);
        }
        bench.run();
        const std::vector<uint32_t> made = psns(bench.sent_packets(1));
        EXPECT_EQ(std::ranges::count(made, 1u), 0) << late;
        EXPECT_EQ(std::ranges::count(made, 2u), 1) << late;
        EXPECT_EQ(std::ranges::count(made, 3u), 1) << late;
    }
}

TEST(Groups, packets_to_groups_that_are_not_there_are_dropped) {
    for (const FlowControl flow_control : {FlowControl::none, FlowControl::credits}) {
        SwitchBench bench(4, with_groups(flow_control));
        contribute(bench, kStart, 3, 0);  // takes no part
        bench.arrive(kStart + 1_us, 3, {.destination = kNobody});
        bench.arrive(kStart + 2_us, 3, {.destination = kGroupBit | 3});
        bench.run();
        EXPECT_EQ(bench.dropped(3, Drop::no_route), 3u);
        EXPECT_EQ(bench.cabling().in(3, 0).credits.used_blocks, 0u);
    }
}

TEST(Groups, a_multicast_packet_goes_to_each_member_and_back_to_its_sender) {
    SwitchBench bench(4, with_groups(FlowControl::none));
    bench.arrive(kStart + 1_us, 1, {.destination = kAll, .source = 1, .psn = 5});
    bench.run();
    EXPECT_EQ(bench.cabling().counters(1).replicated, 2u);
    for (const uint16_t member : {0, 1, 2}) {
        const auto packets = bench.sent_packets(member);
        ASSERT_EQ(packets.size(), 1u);
        EXPECT_EQ(packets[0].source, kAll);
        EXPECT_EQ(packets[0].destination, member);
        EXPECT_EQ(packets[0].dest_qp(), wire::Qpn{10u + member});
        EXPECT_EQ(packets[0].psn().value, 5u);
    }
    EXPECT_TRUE(bench.sent(3).empty());
    EXPECT_EQ(bench.cabling().store.live(), 0u);
}

TEST(Groups, room_of_a_contribution_that_ends_is_given_back_at_once) {
    SwitchBench bench(4, with_groups(FlowControl::credits));
    bench.cabling().out(1, 0).credits.credit_limit = 0;  // nothing reaches the owner
    for (const uint16_t host : {0, 1, 2}) contribute(bench, kStart + 1_us * host, host, 0);
    bench.run(kStart + 10_us);
    EXPECT_EQ(bench.cabling().in(0, 0).credits.used_blocks, 0u);
    EXPECT_EQ(bench.cabling().in(1, 0).credits.used_blocks, 0u);
    EXPECT_EQ(bench.cabling().in(2, 0).credits.used_blocks, kPacketBlocks);
}

TEST(Groups, copies_take_their_sender_s_room_once_until_the_last_has_left) {
    SwitchBench bench(4, with_groups(FlowControl::credits));
    bench.cabling().out(2, 0).credits.credit_limit = 0;  // member 2 takes nothing
    bench.arrive(kStart + 1_us, 3, {.destination = kAll, .source = 3});
    bench.arrive(kStart + 2_us, 3, {.destination = kAll, .source = 3, .psn = 1});
    bench.run(kStart + 10_us);
    EXPECT_EQ(bench.sent(0).size(), 2u);
    EXPECT_EQ(bench.sent(1).size(), 2u);
    EXPECT_EQ(bench.cabling().in(3, 0).credits.used_blocks, 2 * kPacketBlocks);
    bench.grant(kStart + 11_us, 2, 0, kPacketBlocks);
    bench.run(kStart + 20_us);
    EXPECT_EQ(bench.cabling().in(3, 0).credits.used_blocks, kPacketBlocks);
    bench.grant(kStart + 21_us, 2, 0, 2 * kPacketBlocks);
    bench.run(kStart + 30_us);
    EXPECT_EQ(bench.cabling().in(3, 0).credits.used_blocks, 0u);
    EXPECT_EQ(psns(bench.sent_packets(2)), (std::vector<uint32_t>{0, 1}));
    EXPECT_EQ(bench.cabling().store.live(), 0u);
}

TEST(Groups, a_copy_that_is_dropped_gives_its_part_of_the_room_back) {
    BenchOptions options = with_groups(FlowControl::credits);
    options.changes = {{kStart + 3_us, NodeChange::Kind::port_down, 2}};
    SwitchBench bench(4, options);
    bench.cabling().out(2, 0).credits.credit_limit = 0;
    bench.arrive(kStart + 1_us, 3, {.destination = kAll});  // waits at port 2 until that goes down
    bench.arrive(kStart + 5_us, 3, {.destination = kAll});  // finds it down
    bench.run();
    EXPECT_EQ(bench.dropped(2, Drop::link_down), 2u);
    EXPECT_EQ(bench.cabling().in(3, 0).credits.used_blocks, 0u);
    EXPECT_EQ(bench.sent(0).size(), 2u);
    EXPECT_EQ(bench.sent(1).size(), 2u);
}

TEST(Groups, copies_of_a_lossless_priority_take_its_room_once_too) {
    SwitchBench bench(4, with_groups(FlowControl::pfc));
    bench.pause(kStart, 1, 1, 0xffff);
    bench.pause(kStart, 2, 1, 0xffff);
    bench.arrive(kStart + 1_us, 3, {.destination = kAll});
    bench.run(kStart + 2_us);
    EXPECT_EQ(bench.sent(0).size(), 1u);
    EXPECT_EQ(bench.cabling().in(3, 0).used_bytes, 1'000u);
    bench.resume(kStart + 3_us, 1, 1);
    bench.run(kStart + 4_us);
    EXPECT_EQ(bench.cabling().in(3, 0).used_bytes, 1'000u);
    bench.resume(kStart + 5_us, 2, 1);
    bench.run(kStart + 6_us);
    EXPECT_EQ(bench.cabling().in(3, 0).used_bytes, 0u);
    EXPECT_EQ(bench.sent(1).size() + bench.sent(2).size(), 2u);
}

TEST(Groups, copies_that_may_be_lost_find_room_each_or_do_not) {
    BenchOptions options = with_groups(FlowControl::none);
    options.settings.node.lossy_dynamic_threshold = false;
    options.settings.node.port_buffer_bytes = 1'000;
    SwitchBench bench(4, options);
    bench.arrive(kStart + 1_us, 0, {.destination = 2});  // on the line of port 2
    bench.arrive(kStart + 1_us, 1, {.destination = 2});  // fills its queue
    bench.arrive(kStart + 1_us, 3, {.destination = kAll});
    bench.run();
    EXPECT_EQ(bench.dropped(2, Drop::buffer_full), 1u);
    EXPECT_EQ(bench.sent(0).size(), 1u);
    EXPECT_EQ(bench.sent(1).size(), 1u);
    EXPECT_EQ(bench.sent(2).size(), 2u);
    EXPECT_EQ(bench.node().storage().intake().buffer().shared_used(), 0u);
    EXPECT_EQ(bench.cabling().store.live(), 0u);
}

TEST(Groups, sums_and_copies_that_go_on_wait_their_turn_like_other_packets) {
    SwitchBench bench(4, with_groups(FlowControl::none));
    bench.arrive(kStart + 1_us, 3, {.destination = 1});
    bench.arrive(kStart + 1_us, 0, {.destination = kAll, .source = 0});
    bench.run();
    const auto sent = bench.sent(1);
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_EQ(sent[0].at, kStart + 1_us + 20_ns);
    EXPECT_EQ(sent[1].at, kStart + 1_us + 40_ns);
}

}  // namespace
}  // namespace tulle::fabric::testing
