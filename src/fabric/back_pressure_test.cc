// Words from the switch of a host to those who fill its port. Lines run at 400 Gb/s.
#include "fabric/back_pressure.h"

#include <gtest/gtest.h>

#include "fabric/testing.h"

namespace tulle::fabric::testing {
namespace {

using namespace base::literals;

constexpr Instant kFirst{};

BenchOptions holding_up(uint64_t above) {
    BenchOptions options;
    options.lanes = 2;
    options.settings.back_pressure.above_bytes = above;
    options.settings.back_pressure.lane = 1;
    options.settings.node.lossy_dynamic_threshold = false;
    options.ports_to_hosts = {0, 1, 2, 3};
    return options;
}

// So many packets of 1,000 bytes from each of the hosts to host 0, as fast as lines bring them.
void fill(SwitchBench& bench, uint32_t packets, std::initializer_list<uint16_t> hosts) {
    for (uint32_t i = 0; i < packets; ++i)
        for (const uint16_t host : hosts)
            bench.arrive(kFirst + (i + 1) * 20_ns, host,
                         {.destination = 0, .source = host, .psn = i});
}

std::vector<uint32_t> words(SwitchBench& bench, uint16_t host) {
    std::vector<uint32_t> sharers;
    for (const wire::Packet& packet : bench.sent_packets(host))
        if (packet.kind == wire::PacketKind::back_pressure) {
            EXPECT_EQ(packet.source, 0u);
            EXPECT_EQ(packet.destination, host);
            sharers.push_back(packet.extended.send.immediate_or_rkey);
        }
    return sharers;
}

TEST(BackPressure, tells_each_source_of_a_long_queue_how_many_share_it) {
    SwitchBench bench(4, holding_up(20'000));
    fill(bench, 60, {1, 2});
    bench.run();
    EXPECT_EQ(words(bench, 1), (std::vector<uint32_t>{2}));
    EXPECT_EQ(words(bench, 2), (std::vector<uint32_t>{2}));
    EXPECT_TRUE(words(bench, 3).empty());
    EXPECT_EQ(bench.cabling().counters(0).words, 2u);
    EXPECT_EQ(bench.sent(0).size(), 120u);
    EXPECT_EQ(bench.node().storage().intake().buffer().shared_used(), 0u);
}

TEST(BackPressure, says_nothing_of_short_queues_or_of_ports_to_switches) {
    SwitchBench bench(4, holding_up(20'000));
    fill(bench, 15, {1, 2});
    bench.run();
    EXPECT_TRUE(words(bench, 1).empty());
    BenchOptions options = holding_up(20'000);
    options.ports_to_hosts = {1, 2, 3};
    SwitchBench between(4, options);
    fill(between, 60, {1, 2});
    between.run();
    EXPECT_TRUE(words(between, 1).empty());
}

TEST(BackPressure, words_that_find_no_room_are_counted_apart_from_packets) {
    BenchOptions options = holding_up(20'000);
    options.settings.node.port_buffer_bytes = 10;  // of a lossy lane
    options.settings.flow_control = FlowControl::pfc;
    options.settings.pfc.priorities = 1;
    options.settings.node.buffer_bytes = 1'000'000;
    SwitchBench bench(4, options);
    // The lines to the sources are busy, so a word has to wait there.
    for (uint32_t i = 0; i < 60; ++i)
        for (const uint16_t to : {1, 2})
            bench.arrive(kFirst + (i + 1) * 20_ns, 3, {.destination = to, .source = 3, .psn = i});
    fill(bench, 60, {1, 2});
    bench.run();
    EXPECT_EQ(bench.cabling().counters(0).words, 2u);
    uint64_t lost = 0;
    for (const uint16_t port : {0, 1, 2, 3}) {
        EXPECT_EQ(bench.dropped(port, Drop::buffer_full),
                  bench.cabling().counters(port).lost_words);
        lost += bench.cabling().counters(port).lost_words;
    }
    EXPECT_EQ(lost, 2u);
}

TEST(BackPressure, repeats_itself_after_the_interval) {
    SwitchBench bench(4, holding_up(20'000));
    fill(bench, 400, {1, 2});  // 8 us
    bench.run();
    EXPECT_EQ(words(bench, 1).size(), 4u);  // every 2 us, as long as packets come
}

TEST(BackPressure, forgets_who_has_not_sent_for_long) {
    BackPressureSettings settings;
    settings.above_bytes = 1'000;
    BackPressure book(settings, 1);
    Instant now = kFirst + 1_us;
    for (uint32_t source = 0; source < 8; ++source) EXPECT_FALSE(book.note(now, 0, source, 1'000));
    EXPECT_EQ(book.note(now, 0, 0, 2'000), 8u);
    now += settings.forget_after + 1_us;
    EXPECT_EQ(book.note(now, 0, 0, 2'000), 1u);
}

}  // namespace
}  // namespace tulle::fabric::testing
