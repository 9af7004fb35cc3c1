#include "fabric/arbitration.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tulle::fabric {
namespace {

constexpr uint16_t kAllFilled = 0xffff;

// Lanes that are always full of packets of one size each; bytes that each has sent.
struct Sent {
    std::array<uint64_t, kLanes> bytes{};
    std::vector<uint32_t> order;
    uint64_t all() const { return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}); }
};

Sent run_ets(const EtsSettings& ets, uint16_t lanes, const std::array<uint16_t, kLanes>& sizes,
             int packets) {
    Port port(Rate::bits_per_second(400'000'000'000));
    port.filled = kAllFilled & lanes;
    std::array<LaneWait, kLanes> waits{};
    Sent sent;
    for (int i = 0; i < packets; ++i) {
        const uint32_t lane = pick_ets(ets, port, waits, lanes, sizes);
        sent.bytes[lane] += sizes[lane];
        sent.order.push_back(lane);
    }
    return sent;
}

Sent run_vl(const VlArbitration& tables, uint16_t lanes, uint16_t bytes, int packets) {
    std::array<uint16_t, kLanes> sizes;
    sizes.fill(bytes);
    VlRound round;
    Sent sent;
    for (int i = 0; i < packets; ++i) {
        const uint32_t lane = pick_vl(tables, round, lanes, sizes);
        sent.bytes[lane] += bytes;
        sent.order.push_back(lane);
    }
    return sent;
}

VlArbitration tables(std::vector<VlArbitration::Entry> high, std::vector<VlArbitration::Entry> low,
                     uint8_t limit) {
    VlArbitration made;
    std::ranges::copy(high, made.high.begin());
    std::ranges::copy(low, made.low.begin());
    made.high_count = static_cast<uint8_t>(high.size());
    made.low_count = static_cast<uint8_t>(low.size());
    made.high_limit = limit;
    return made;
}

TEST(Ets, shares_by_weight_and_not_by_packet_whatever_sizes_lanes_send) {
    EtsSettings ets;
    ets.weight[0] = 50;
    ets.weight[3] = 30;
    ets.weight[5] = 20;
    std::array<uint16_t, kLanes> sizes{};
    sizes[0] = 300;
    sizes[3] = 4178;
    sizes[5] = 1106;
    const Sent sent = run_ets(ets, 0b101001, sizes, 200'000);
    const double all = static_cast<double>(sent.all());
    // No lane is further from its share than what it may send in a round, and a packet.
    for (const size_t lane : {0u, 3u, 5u}) {
        const double round = 4178 * ets.weight[lane] / 20.0 + 4178;
        EXPECT_NEAR(static_cast<double>(sent.bytes[lane]), all * ets.weight[lane] / 100, round);
    }
}

// Weights are shares and not sizes: 50 and 50 take turns as 1 and 1 do.
TEST(Ets, lanes_of_one_weight_take_turns_by_single_packets) {
    for (const uint8_t weight : {1, 50, 255}) {
        EtsSettings ets;
        ets.weight.fill(weight);
        std::array<uint16_t, kLanes> sizes;
        sizes.fill(4178);
        const Sent sent = run_ets(ets, 0b11, sizes, 1000);
        const int64_t apart =
            static_cast<int64_t>(sent.bytes[0]) - static_cast<int64_t>(sent.bytes[1]);
        EXPECT_LE(std::abs(apart), 4178);
        uint32_t longest = 1;
        for (size_t i = 1, run = 1; i < sent.order.size(); ++i) {
            run = sent.order[i] == sent.order[i - 1] ? run + 1 : 1;
            longest = std::max(longest, static_cast<uint32_t>(run));
        }
        EXPECT_LE(longest, 2u);
    }
}

TEST(Ets, the_highest_strict_lane_goes_before_all) {
    EtsSettings ets;
    ets.strict = 1 << 6 | 1 << 7;
    Port port(Rate::bits_per_second(1'000'000'000));
    std::array<LaneWait, kLanes> waits{};
    std::array<uint16_t, kLanes> sizes;
    sizes.fill(1000);
    EXPECT_EQ(pick_ets(ets, port, waits, 0b1100'0001, sizes), 7u);
    EXPECT_EQ(pick_ets(ets, port, waits, 0b0100'0001, sizes), 6u);
    EXPECT_EQ(pick_ets(ets, port, waits, 0b0000'0001, sizes), 0u);
}

TEST(Ets, a_lane_that_was_empty_has_saved_nothing) {
    EtsSettings ets;
    Port port(Rate::bits_per_second(1'000'000'000));
    std::array<LaneWait, kLanes> waits{};
    waits[1].deficit = 1'000'000;
    std::array<uint16_t, kLanes> sizes;
    sizes.fill(4000);
    port.filled = 0b101;
    for (int i = 0; i < 10; ++i) pick_ets(ets, port, waits, 0b101, sizes);
    EXPECT_EQ(waits[1].deficit, 0);
}

TEST(VlTables, a_table_shares_by_its_weights) {
    // 16, 32 and 64 blocks: one, two and four packets of 1,024 bytes.
    const Sent sent = run_vl(tables({}, {{1, 16}, {2, 32}, {3, 64}}, 0), 0b1110, 1024, 7000);
    EXPECT_EQ(sent.bytes[1], 1000u * 1024);
    EXPECT_EQ(sent.bytes[2], 2000u * 1024);
    EXPECT_EQ(sent.bytes[3], 4000u * 1024);
}

TEST(VlTables, a_packet_that_begins_is_sent_whole) {
    // Four blocks are less than a packet: an entry sends one.
    const Sent sent = run_vl(tables({}, {{0, 4}, {1, 4}, {0, 4}}, 0), 0b11, 4122, 3000);
    EXPECT_EQ(sent.bytes[0], 2 * sent.bytes[1]);
}

TEST(VlTables, an_entry_of_no_weight_is_passed_over) {
    const Sent sent = run_vl(tables({}, {{0, 0}, {1, 4}, {2, 4}}, 0), 0b111, 1000, 1000);
    EXPECT_EQ(sent.bytes[0], 0u);
    EXPECT_EQ(sent.bytes[1], sent.bytes[2]);
}

TEST(VlTables, the_high_table_without_limit_starves_the_low_one) {
    const Sent sent = run_vl(tables({{0, 4}}, {{1, 4}}, 255), 0b11, 1000, 1000);
    EXPECT_EQ(sent.bytes[1], 0u);
}

TEST(VlTables, a_limit_of_zero_is_one_packet_of_the_high_table) {
    const Sent sent = run_vl(tables({{0, 4}}, {{1, 4}}, 0), 0b11, 1000, 1000);
    for (size_t i = 0; i < sent.order.size(); ++i) ASSERT_EQ(sent.order[i], i % 2);
}

TEST(VlTables, a_limit_counts_4096_bytes_of_the_high_table_each) {
    for (const uint8_t limit : {1, 2, 10}) {
        const Sent sent = run_vl(tables({{0, 255}}, {{1, 4}}, limit), 0b11, 1024, 1 + 41 * 100);
        // So many packets of 1,024 bytes, then one of the low table.
        const uint32_t period = 4u * limit + 1;
        for (size_t i = 0; i < sent.order.size(); ++i)
            ASSERT_EQ(sent.order[i], i % period == period - 1 ? 1u : 0u) << +limit << " " << i;
    }
}

TEST(VlTables, management_goes_before_all_and_lanes_in_no_table_after_all) {
    const VlArbitration both = tables({{0, 4}}, {{1, 4}}, 255);
    EXPECT_EQ(run_vl(both, 1 << kManagementLane | 0b111, 256, 1).order[0], kManagementLane);
    EXPECT_EQ(run_vl(both, 0b110, 256, 1).order[0], 1u);
    EXPECT_EQ(run_vl(both, 0b100, 256, 1).order[0], 2u);
}

}  // namespace
}  // namespace tulle::fabric
