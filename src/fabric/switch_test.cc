// One switch, to the picosecond. Lines run at 400 Gb/s: a packet of 1,000 bytes takes 20 ns.
#include "fabric/switch.h"

#include <gtest/gtest.h>

#include "fabric/testing.h"

namespace tulle::fabric::testing {
namespace {

using namespace base::literals;

constexpr Instant kStart{};
constexpr Duration kPacket = 20_ns;

BenchOptions lossy() {
    BenchOptions options;
    options.settings.node.lossy_dynamic_threshold = false;
    return options;
}

BenchOptions lossless(uint64_t xoff, uint32_t headroom) {
    BenchOptions options;
    options.settings.flow_control = FlowControl::pfc;
    options.settings.pfc.priorities = 1;
    options.settings.pfc.dynamic_threshold = false;
    options.settings.pfc.reserve_bytes = 0;
    options.settings.pfc.xoff_bytes = xoff;
    options.settings.pfc.xon_offset_bytes = 1000;
    options.headroom_bytes = headroom;
    return options;
}

BenchOptions with_credits(uint32_t lane_buffer) {
    BenchOptions options;
    options.settings.flow_control = FlowControl::credits;
    options.settings.credits.lane_buffer_bytes = lane_buffer;
    return options;
}

std::vector<Duration> ends(const std::vector<Transit>& sent) {
    std::vector<Duration> at;
    for (const Transit& transit : sent) at.push_back(transit.at - kStart);
    return at;
}

TEST(Switch, sends_a_packet_when_it_is_complete_and_the_line_is_free) {
    SwitchBench bench(3, lossy());
    bench.arrive(kStart + 100_ns, 0, {.destination = 2});
    bench.arrive(kStart + 105_ns, 1, {.destination = 2});
    bench.run();
    EXPECT_EQ(ends(bench.sent(2)), (std::vector{120_ns, 140_ns}));
}

TEST(Switch, takes_packets_of_one_instant_by_their_ports) {
    SwitchBench bench(4, lossy());
    for (const uint16_t port : {2, 0, 1}) bench.arrive(kStart + 1_us, port, {.destination = 3});
    bench.run();
    const auto sent = bench.sent(3);
    ASSERT_EQ(sent.size(), 3u);
    for (uint16_t i = 0; i < 3; ++i) EXPECT_EQ(sent[i].in_port, i);
}

// Somebody waits for the line and is dropped. When it falls free, a packet of that instant takes it
// first, and the next one waits for the end of that.
TEST(Switch, a_line_that_was_waited_for_in_vain_is_not_used_twice_at_a_time) {
    BenchOptions options = lossy();
    options.changes = {{kStart + 1005_ns, NodeChange::Kind::port_down, 3},
                       {kStart + 1010_ns, NodeChange::Kind::port_up, 3}};
    SwitchBench bench(4, options);
    for (const Duration at : {1_us, 1_us + kPacket})
        for (const uint16_t port : {0, 1}) bench.arrive(kStart + at, port, {.destination = 3});
    bench.run();
    EXPECT_EQ(bench.dropped(3, Drop::link_down), 1u);
    EXPECT_EQ(ends(bench.sent(3)), (std::vector{1020_ns, 1040_ns, 1060_ns}));
}

constexpr uint32_t kManagementBytes = 290;  // 5.8 ns

TEST(Switch, sends_management_packets_before_data_that_waits) {
    BenchOptions options = lossy();
    options.changes = {{kStart + 1005_ns, NodeChange::Kind::management, 3, kManagementBytes},
                       {kStart + 1006_ns, NodeChange::Kind::management, 3, kManagementBytes},
                       {kStart + 1995_ns, NodeChange::Kind::management, 3, kManagementBytes}};
    SwitchBench bench(4, options);
    for (const uint16_t port : {0, 1}) bench.arrive(kStart + 1_us, port, {.destination = 3});
    bench.arrive(kStart + 2_us, 0, {.destination = 3});
    bench.run();
    EXPECT_EQ(ends(bench.sent(3)), (std::vector{1020_ns, 1020_ns + Duration{2 * 5'800} + kPacket,
                                                1995_ns + Duration{5'800} + kPacket}));
    EXPECT_EQ(bench.port(3).wire_bytes, 3 * 1000u + 3 * kManagementBytes);
}

TEST(Switch, sends_management_packets_though_data_is_paused) {
    BenchOptions options = lossless(1 << 20, 0);
    options.changes = {{kStart + 1010_ns, NodeChange::Kind::management, 1, kManagementBytes}};
    SwitchBench bench(2, options);
    bench.pause(kStart + 1_us, 1, 1, 100);
    bench.arrive(kStart + 1005_ns, 0, {.destination = 1});
    bench.run();
    EXPECT_EQ(ends(bench.sent(1)), (std::vector{1_us + 128_ns + kPacket}));
    EXPECT_EQ(bench.port(1).wire_bytes, 1000u + kManagementBytes);
}

// Pauses: 100 quanta are 6,400 bytes of the line, 128 ns.

TEST(Switch, stops_for_the_quanta_of_a_pause) {
    SwitchBench bench(2, lossless(1 << 20, 0));
    bench.pause(kStart + 1_us, 1, 1, 100);
    bench.arrive(kStart + 1050_ns, 0, {.destination = 1});
    bench.run();
    EXPECT_EQ(ends(bench.sent(1)), (std::vector{1_us + 128_ns + kPacket}));
    bench.node().finish(kStart + 2_us);
    EXPECT_EQ(bench.cabling().wait(1, 0).held_ps, 78'000u);  // with something to send
}

TEST(Switch, finishes_the_packet_that_is_on_the_line_when_a_pause_comes) {
    SwitchBench bench(2, lossless(1 << 20, 0));
    bench.arrive(kStart + 1_us, 0, {.destination = 1});
    bench.arrive(kStart + 1_us, 0, {.destination = 1});
    bench.pause(kStart + 1001_ns, 1, 1, 100);
    bench.run();
    EXPECT_EQ(ends(bench.sent(1)), (std::vector{1020_ns, 1001_ns + 128_ns + kPacket}));
}

TEST(Switch, goes_on_when_a_pause_is_taken_back) {
    SwitchBench bench(2, lossless(1 << 20, 0));
    bench.pause(kStart + 1_us, 1, 1, 0xffff);
    bench.arrive(kStart + 1_us, 0, {.destination = 1});
    bench.resume(kStart + 3_us, 1, 1);
    bench.run();
    EXPECT_EQ(ends(bench.sent(1)), (std::vector{3_us + kPacket}));
}

TEST(Switch, counts_the_quanta_from_the_newest_pause) {
    SwitchBench bench(2, lossless(1 << 20, 0));
    bench.pause(kStart + 1_us, 1, 1, 100);
    bench.pause(kStart + 1100_ns, 1, 1, 100);
    bench.arrive(kStart + 1_us, 0, {.destination = 1});
    bench.run();
    EXPECT_EQ(ends(bench.sent(1)), (std::vector{1100_ns + 128_ns + kPacket}));
}

TEST(Switch, pauses_the_lanes_that_are_named_and_no_other) {
    BenchOptions options = lossless(1 << 20, 0);
    options.lanes = 2;
    options.settings.pfc.priorities = 0b11;
    SwitchBench bench(2, options);
    bench.pause(kStart + 1_us, 1, 0b01, 100);
    for (const uint8_t lane : {0, 1})
        bench.arrive(kStart + 1_us, 0, {.destination = 1, .lane = lane});
    bench.run();
    const auto sent = bench.sent(1);
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_EQ(sent[0].lane, 1u);
    EXPECT_EQ(ends(sent), (std::vector{1_us + kPacket, 1_us + 128_ns + kPacket}));
}

// XOFF at 3,000 bytes: the third packet reaches it. A pause frame takes 84 bytes, 1.68 ns.
TEST(Switch, tells_the_peer_to_stop_when_the_threshold_is_reached_and_to_go_on_below) {
    SwitchBench bench(2, lossless(3000, 10'000));
    bench.pause(kStart, 1, 1, 0xffff);
    for (int i = 1; i <= 3; ++i) bench.arrive(kStart + i * 1_us, 0, {.destination = 1});
    bench.resume(kStart + 10_us, 1, 1);
    bench.run();
    const auto told = bench.told(0);
    ASSERT_EQ(told.size(), 2u);
    EXPECT_EQ(told[0].at, kStart + 3_us + 1680_ps);
    EXPECT_EQ(told[0].destination, 1u);
    EXPECT_EQ(told[0].flow, 0xffffu);
    // There is room again when the first packet begins to leave.
    EXPECT_EQ(told[1].at, kStart + 10_us + 1680_ps);
    EXPECT_EQ(told[1].destination, 1u << 16);
}

// The packet from port 0 comes slowly, so the line of port 1 waits for its tail until 1,480 ns.
// That line is idle meanwhile, and a pause of 84 bytes goes: 1.68 ns.
TEST(Switch, tells_the_peer_to_stop_while_the_line_waits_for_a_tail) {
    BenchOptions options = lossless(1500, 10'000);
    options.settings.node.forwarding = Forwarding::cut_through;
    SwitchBench bench(3, options);
    bench.arrive(kStart + 1_us, 0, {.destination = 1, .tail_ps = 500'000});
    for (int i = 0; i < 3; ++i) bench.arrive(kStart + 1100_ns, 1, {.destination = 2});
    bench.pause(kStart + 1050_ns, 2, 1, 0xffff);
    bench.run(kStart + 2_us);
    EXPECT_EQ(ends(bench.told(1)), (std::vector{1100_ns + Duration{1'680}}));
    EXPECT_EQ(ends(bench.sent(1)), (std::vector{1500_ns}));
}

// 1,000 quanta are 1.28 us; half of them, and the peer hears it again.
TEST(Switch, tells_the_peer_again_before_a_pause_runs_out) {
    BenchOptions options = lossless(1000, 10'000);
    options.settings.pfc.quanta = 1000;
    SwitchBench bench(2, options);
    bench.pause(kStart, 1, 1, 0xffff);  // 83.9 us
    bench.arrive(kStart + 1_us, 0, {.destination = 1});
    bench.run(kStart + 4_us);
    std::vector<Duration> expected;
    for (int i = 0; i < 5; ++i) expected.push_back(1_us + i * 640_ns + 1680_ps);
    EXPECT_EQ(ends(bench.told(0)), expected);
}

TEST(Switch, loses_what_overruns_the_headroom) {
    SwitchBench bench(2, lossless(2000, 3000));
    bench.pause(kStart, 1, 1, 0xffff);
    for (int i = 1; i <= 7; ++i) bench.arrive(kStart + i * 1_us, 0, {.destination = 1});
    bench.run();
    EXPECT_EQ(bench.sent(1).size(), 5u);
    EXPECT_EQ(bench.dropped(1, Drop::headroom_full), 2u);
}

TEST(Switch, the_watchdog_frees_a_queue_and_ignores_pauses_for_a_while) {
    BenchOptions options = lossless(1 << 20, 0);
    options.settings.pfc.watchdog = 10_us;
    options.settings.pfc.watchdog_restore = 20_us;
    SwitchBench bench(2, options);
    bench.pause(kStart + 1_us, 1, 1, 0xffff);
    bench.arrive(kStart + 2_us, 0, {.destination = 1});
    bench.run(kStart + 11_us);
    EXPECT_EQ(bench.dropped(1, Drop::watchdog), 0u);
    bench.run(kStart + 11_us + 1_ps);
    EXPECT_EQ(bench.dropped(1, Drop::watchdog), 1u);
    EXPECT_EQ(bench.cabling().counters(1).watchdog_fired, 1u);
    bench.arrive(kStart + 12_us, 0, {.destination = 1});  // is thrown away too
    bench.pause(kStart + 13_us, 1, 1, 0xffff);            // is not heard
    bench.arrive(kStart + 31_us, 0, {.destination = 1});  // all is well again
    bench.pause(kStart + 32_us, 1, 1, 0xffff);            // and pauses are heard
    bench.arrive(kStart + 32_us, 0, {.destination = 1});
    bench.resume(kStart + 33_us, 1, 1);
    bench.run();
    EXPECT_EQ(bench.dropped(1, Drop::watchdog), 2u);
    EXPECT_EQ(ends(bench.sent(1)), (std::vector{31_us + kPacket, 33_us + kPacket}));
    EXPECT_EQ(bench.cabling().counters(1).watchdog_fired, 1u);
}

TEST(Switch, pauses_shorter_than_the_watchdog_do_not_wake_it) {
    BenchOptions options = lossless(1 << 20, 0);
    options.settings.pfc.watchdog = 10_us;
    SwitchBench bench(2, options);
    for (int i = 0; i < 10; ++i) {
        bench.pause(kStart + i * 6_us, 1, 1, 0xffff);
        bench.arrive(kStart + i * 6_us, 0, {.destination = 1});
        bench.resume(kStart + i * 6_us + 5_us, 1, 1);
    }
    bench.run();
    EXPECT_EQ(bench.sent(1).size(), 10u);
    EXPECT_EQ(bench.cabling().counters(1).watchdog_fired, 0u);
}

// Credits.

TEST(Switch, sends_what_has_credits_and_the_rest_when_more_come) {
    SwitchBench bench(2, with_credits(2048));  // 32 blocks: two packets of 16
    for (int i = 0; i < 3; ++i) bench.arrive(kStart + 1_us, 0, {.destination = 1});
    bench.grant(kStart + 5_us, 1, 0, 32 + 15);
    bench.grant(kStart + 6_us, 1, 0, 32 + 16);
    bench.run();
    EXPECT_EQ(ends(bench.sent(1)),
              (std::vector{1_us + kPacket, 1_us + 2 * kPacket, 6_us + kPacket}));
}

TEST(Switch, tells_of_room_once_4096_bytes_have_come_free) {
    SwitchBench bench(2, with_credits(64 << 10));
    for (int i = 0; i < 8; ++i) bench.arrive(kStart + 1_us, 0, {.destination = 1});
    bench.run();
    const auto told = bench.told(0);  // of 16 blocks each, the fourth and the eighth
    EXPECT_EQ(ends(told), (std::vector{1_us + 4 * kPacket + 120_ps, 1_us + 8 * kPacket + 120_ps}));
    EXPECT_EQ(told[0].destination, 1024u + 64);
    EXPECT_EQ(told[1].destination, 1024u + 128);
}

// 4,096 blocks of buffer, of which a limit can name 2,048: it moves on as packets come, though
// nothing has left.
TEST(Switch, grants_all_of_a_buffer_that_is_larger_than_a_limit_can_say) {
    SwitchBench bench(2, with_credits(256 << 10));
    for (int i = 0; i < 256; ++i) bench.arrive(kStart + 1_us + i * kPacket, 0, {.destination = 1});
    bench.cabling().out(1, 0).credits.credit_limit = 0;  // nothing leaves
    bench.run();
    constexpr CreditScale kScale(kBlockBytes);
    uint32_t granted = kScale.most_blocks();
    for (const Transit& told : bench.told(0)) granted += kScale.wrapped(told.destination - granted);
    EXPECT_EQ(granted, 4096u);
}

TEST(Switch, drops_the_head_of_a_queue_when_its_lifetime_is_over) {
    BenchOptions options = with_credits(1024);
    options.settings.credits.head_of_queue_lifetime = 10_us;
    SwitchBench bench(2, options);
    for (int i = 0; i < 3; ++i) bench.arrive(kStart + 1_us, 0, {.destination = 1});
    bench.run(kStart + 11_us);
    EXPECT_EQ(bench.sent(1).size(), 1u);
    EXPECT_EQ(bench.dropped(1, Drop::head_of_queue), 0u);
    bench.run(kStart + 11_us + 1_ps);
    EXPECT_EQ(bench.dropped(1, Drop::head_of_queue), 1u);
    bench.run(kStart + 21_us);  // the next one has its own lifetime
    EXPECT_EQ(bench.dropped(1, Drop::head_of_queue), 1u);
    bench.run(kStart + 21_us + 1_ps);
    EXPECT_EQ(bench.dropped(1, Drop::head_of_queue), 2u);
}

// Marks.

TEST(Switch, marks_by_the_queue_that_a_packet_finds) {
    BenchOptions options = lossy();
    options.settings.marking = Marking::ecn;
    options.settings.ecn = {.kmin_bytes = 2000, .kmax_bytes = 2000, .pmax_millionths = 1'000'000};
    SwitchBench bench(3, options);
    constexpr uint8_t kCapable = Transit::kData | Transit::kEcnCapable;
    for (int i = 0; i < 5; ++i)
        bench.arrive(kStart + 1_us, 0, {.destination = 2, .flags = kCapable});
    bench.arrive(kStart + 1_us, 1, {.destination = 2});  // does not speak ECN
    bench.run();
    // One on the line; the next find 0, 1,000, 2,000 and 3,000 bytes.
    const auto sent = bench.sent(2);
    ASSERT_EQ(sent.size(), 6u);
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ((sent[i].flags & Transit::kMarked) != 0, i == 4) << i;
    EXPECT_EQ(bench.cabling().counters(2).marked, 1u);
}

TEST(Switch, marks_when_a_packet_leaves_by_the_queue_behind_it) {
    BenchOptions options = lossy();
    options.settings.marking = Marking::ecn;
    options.settings.ecn = {
        .kmin_bytes = 2000, .kmax_bytes = 2000, .pmax_millionths = 1'000'000, .at_dequeue = true};
    SwitchBench bench(2, options);
    constexpr uint8_t kCapable = Transit::kData | Transit::kEcnCapable;
    for (int i = 0; i < 6; ++i)
        bench.arrive(kStart + 1_us, 0, {.destination = 1, .flags = kCapable});
    bench.run();
    const auto sent = bench.sent(1);
    // The first goes straight; behind the second lie 4,000 bytes, behind the third 3,000.
    for (size_t i = 0; i < 6; ++i)
        EXPECT_EQ((sent[i].flags & Transit::kMarked) != 0, i == 1 || i == 2) << i;
}

TEST(Switch, marks_where_congestion_has_its_root_and_not_where_credits_are_missing) {
    for (const bool is_root : {true, false}) {
        BenchOptions options = with_credits(is_root ? 64 << 10 : 1024);
        options.settings.marking = Marking::fecn;
        options.settings.fecn.threshold_bytes = 1000;
        SwitchBench bench(2, options);
        for (int i = 0; i < 8; ++i) bench.arrive(kStart + 1_us, 0, {.destination = 1});
        // By now the victim's queue is held: no credits. More come.
        for (int i = 0; i < 8; ++i) bench.arrive(kStart + 1100_ns, 0, {.destination = 1});
        bench.run(kStart + 1100_ns);
        const uint64_t before = bench.cabling().counters(1).marked;
        bench.run(kStart + 1101_ns);
        EXPECT_EQ(bench.cabling().counters(1).marked - before, is_root ? 8u : 0u);
    }
}

// Full buffers.

TEST(Switch, a_full_lossy_queue_drops_the_packet) {
    BenchOptions options = lossy();
    options.settings.node.port_buffer_bytes = 2000;
    SwitchBench bench(2, options);
    for (int i = 0; i < 5; ++i) bench.arrive(kStart + 1_us, 0, {.destination = 1});
    bench.run();
    EXPECT_EQ(bench.sent(1).size(), 3u);  // one on the line, two in the queue
    EXPECT_EQ(bench.dropped(1, Drop::buffer_full), 2u);
}

TEST(Switch, a_full_lossy_queue_cuts_the_payload_off_and_sends_the_headers_ahead) {
    BenchOptions options = lossy();
    options.lanes = 2;
    options.settings.node.port_buffer_bytes = 2000;
    options.settings.overflow = Overflow::trim;
    options.settings.qos.trimmed_lane = 1;
    options.settings.ets.strict = 0b10;
    SwitchBench bench(2, options);
    for (uint32_t i = 0; i < 5; ++i) bench.arrive(kStart + 1_us, 0, {.destination = 1, .flow = i});
    bench.run();
    const auto sent = bench.sent(1);
    ASSERT_EQ(sent.size(), 5u);
    EXPECT_EQ(sent[1].flow, 3u);  // overtakes two
    EXPECT_EQ(sent[1].lane, 1u);
    EXPECT_EQ(sent[1].wire_bytes, 100u);  // the bench's packets have 900 bytes of payload
    EXPECT_NE(sent[1].flags & Transit::kTrimmed, 0);
    EXPECT_EQ(sent[2].flow, 4u);
    EXPECT_EQ(ends(sent), (std::vector{1020_ns, 1022_ns, 1024_ns, 1044_ns, 1064_ns}));
    EXPECT_EQ(bench.cabling().counters(1).trimmed, 2u);
    EXPECT_EQ(bench.node().storage().intake().buffer().shared_used(), 0u);
}

TEST(Switch, what_has_no_payload_or_was_cut_before_is_dropped) {
    BenchOptions options = lossy();
    options.lanes = 2;
    options.settings.node.port_buffer_bytes = 1000;
    options.settings.overflow = Overflow::trim;
    options.settings.qos.trimmed_lane = 1;
    SwitchBench bench(2, options);
    for (int i = 0; i < 2; ++i) bench.arrive(kStart + 1_us, 0, {.destination = 1});
    bench.arrive(kStart + 1_us, 0, {.destination = 1, .bytes = 100, .flags = 0});
    bench.arrive(kStart + 1_us, 0, {.destination = 1, .flags = Transit::kData | Transit::kTrimmed});
    bench.run();
    EXPECT_EQ(bench.sent(1).size(), 2u);
    EXPECT_EQ(bench.dropped(1, Drop::buffer_full), 2u);
}

// Lanes.

TEST(Switch, lanes_share_a_line_by_their_weights) {
    BenchOptions options = lossy();
    options.lanes = 3;
    options.settings.ets.weight = {60, 30, 10};
    SwitchBench bench(4, options);
    for (int i = 0; i < 3000; ++i)
        for (const uint8_t lane : {0, 1, 2})
            bench.arrive(kStart + i * 1_ns, lane, {.destination = 3, .lane = lane});
    bench.run(kStart + 1000 * kPacket);
    std::array<int, 3> count{};
    for (const Transit& transit : bench.sent(3)) ++count[transit.lane];
    EXPECT_NEAR(count[0], 600, 30);  // the first packets come before all lanes have some
    EXPECT_NEAR(count[1], 300, 15);
    EXPECT_NEAR(count[2], 100, 5);
}

TEST(Switch, a_packet_that_comes_over_the_dateline_goes_on_one_lane_up) {
    BenchOptions options = with_credits(64 << 10);
    options.lanes = 2;
    SwitchBench bench(3, options);
    bench.port(0).is_behind_dateline = true;
    bench.port(0).settle();
    bench.arrive(kStart + 1_us, 0, {.destination = 2});
    bench.arrive(kStart + 2_us, 1, {.destination = 2});
    bench.run();
    const auto sent = bench.sent(2);
    EXPECT_EQ(sent[0].lane, 1u);
    EXPECT_EQ(sent[0].in_lane, 0u);  // of the buffer whose credits it gives back
    EXPECT_EQ(sent[1].lane, 0u);
}

TEST(Switch, drops_what_has_come_too_far) {
    SwitchBench bench(2, lossy());
    bench.arrive(kStart + 1_us, 0, {.destination = 1});
    const uint32_t index = bench.cabling().inbound(0).packets.head;
    bench.cabling().store[index].hops = 64;
    bench.run();
    EXPECT_EQ(bench.dropped(0, Drop::hop_limit), 1u);
}

TEST(Switch, drops_what_was_corrupted_on_the_cable) {
    SwitchBench bench(2, lossy());
    bench.arrive(kStart + 1_us, 0, {.destination = 1, .flags = Transit::kCorrupt});
    bench.run();
    EXPECT_EQ(bench.dropped(0, Drop::corrupted), 1u);
}

}  // namespace
}  // namespace tulle::fabric::testing
