// What a lane's buffer lets through a cable: no more than the buffer can be on its way to be
// granted again, so the rate is the smaller of the line's and
//
//     packets that the buffer grants / (the round trip of a block: out, through, and its update)
#include "lab.h"

namespace tulle::exact {
namespace {

constexpr int64_t kPacketBytes = 4096 + 26;
constexpr int64_t kPacketBlocks = 65;
constexpr int64_t kUpdateBytes = 6;
constexpr int64_t kPs = 20;  // a byte at 400 Gb/s

Lab infiniband(uint32_t lane_buffer, Duration delay) {
    Lab lab = plain("pair");
    lab.fabric.framing.encapsulation = wire::Encapsulation::infiniband_local;
    lab.fabric.framing.envelope_bytes = 14;
    lab.fabric.framing.minimum_bytes = 0;
    lab.fabric.link.gap_bytes = 0;
    lab.fabric.link.delay = delay;
    lab.fabric.flow_control = fabric::FlowControl::credits;
    lab.fabric.credits.lane_buffer_bytes = lane_buffer;
    return lab;
}

// Between two packets that use the same credits: serialised, carried, received, granted, carried
// back.
int64_t round_trip(Duration delay) {
    return kPacketBytes * kPs + delay.ps + kUpdateBytes * kPs + delay.ps;
}

Duration of_packets(const Lab& lab, uint64_t packets) {
    return completion(lab, 2 * packets * 4096) - completion(lab, packets * 4096);
}

TEST(CreditLaw, a_cable_longer_than_the_buffer_carries_a_buffer_each_round_trip) {
    for (const uint32_t packets : {2u, 5u, 10u, 31u})
        for (const Duration delay : {1_us, 10_us, 50_us}) {
            const Lab lab = infiniband(packets * 65 * 64, delay);
            const uint64_t rounds = 40;
            const int64_t line = static_cast<int64_t>(rounds * packets) * kPacketBytes * kPs;
            const int64_t law = static_cast<int64_t>(rounds) * round_trip(delay);
            EXPECT_EQ(of_packets(lab, rounds * packets).ps, std::max(line, law))
                << packets << " packets, " << delay.ps;
        }
}

TEST(CreditLaw, a_buffer_of_a_round_trip_fills_the_line) {
    constexpr Duration kDelay = 1_us;
    const int64_t needed = (round_trip(kDelay) + kPacketBytes * kPs - 1) / (kPacketBytes * kPs);
    const auto buffer = [&](int64_t packets) {
        return static_cast<uint32_t>(packets * kPacketBlocks * 64);
    };
    const int64_t line = 10'000 * kPacketBytes * kPs;
    EXPECT_EQ(of_packets(infiniband(buffer(needed), kDelay), 10'000).ps, line);
    EXPECT_GT(of_packets(infiniband(buffer(needed - 1), kDelay), 10'000).ps, line);
}

// FCCL counts 2,048 blocks ahead at most: 31 packets of 65 blocks.
TEST(CreditLaw, a_buffer_above_128_kib_gives_nothing_more) {
    constexpr Duration kDelay = 50_us;
    constexpr uint64_t kPackets = 31 * 40;
    const Duration at_128 = of_packets(infiniband(128 << 10, kDelay), kPackets);
    EXPECT_EQ(at_128.ps, 40 * round_trip(kDelay));
    for (const uint32_t buffer : {132u << 10, 256u << 10, 1u << 20})
        EXPECT_EQ(of_packets(infiniband(buffer, kDelay), kPackets), at_128) << buffer;
    EXPECT_GT(of_packets(infiniband(124 << 10, kDelay), kPackets), at_128);
}

// The line of the sender is idle for the rest of each round trip, and its port is held meanwhile.
TEST(CreditLaw, counts_how_long_a_host_waits_for_credits) {
    constexpr int64_t kPackets = 5;
    constexpr int64_t kRounds = 40;
    Lab lab = infiniband(kPackets * 65 * 64, 10_us);
    lab.flows = {Flow{.source = 0, .destination = 1, .bytes = kRounds * kPackets * 4096}};
    const int64_t held = round_trip(10_us) - kPackets * kPacketBytes * kPs;
    EXPECT_EQ(link(run(lab), 0).paused.ps, (kRounds - 1) * held);
}

// The same law between switches, where the buffer is free once the packet has gone on.
TEST(CreditLaw, holds_between_switches) {
    Lab lab = infiniband(10 * 65 * 64, 1_us);
    lab.graph = chain({400, 400, 400});
    lab.graph.cables[1].delay = 50_us;
    // Of the long cable's far end: in, stored, out on the next line, then granted.
    const int64_t loop = round_trip(50_us) + kPacketBytes * kPs;
    EXPECT_EQ(of_packets(lab, 10 * 40).ps, 40 * loop);
}

TEST(CreditLaw, loses_nothing_and_counts_what_it_waited) {
    Lab lab = infiniband(64 << 10, 25_ns);
    lab.graph = *topology::build_spec("star:5");
    for (uint32_t i = 0; i < 4; ++i)
        lab.flows.push_back({.source = i, .destination = 4, .bytes = 1'000'000});
    const Result result = run(lab);
    EXPECT_EQ(result.totals.retransmitted, 0u);
    for (const uint64_t count : result.totals.dropped) EXPECT_EQ(count, 0u);
    EXPECT_GT(result.totals.credit_packets, 0u);
    EXPECT_FALSE(result.blames.empty());
}

}  // namespace
}  // namespace tulle::exact
