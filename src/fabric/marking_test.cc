#include "fabric/marking.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tulle::fabric {
namespace {

constexpr int kDraws = 200'000;

double share_marked(const EcnSettings& ecn, uint64_t queue) {
    base::RandomStream random({5, 0, queue});
    int marked = 0;
    for (int i = 0; i < kDraws; ++i) marked += ecn_marks(ecn, queue, random) ? 1 : 0;
    return static_cast<double>(marked) / kDraws;
}

TEST(Ecn, marks_nothing_up_to_kmin_and_all_behind_kmax) {
    const EcnSettings ecn{.kmin_bytes = 1000, .kmax_bytes = 2000, .pmax_millionths = 100'000};
    EXPECT_EQ(share_marked(ecn, 0), 0.0);
    EXPECT_EQ(share_marked(ecn, 1000), 0.0);
    EXPECT_EQ(share_marked(ecn, 2001), 1.0);
}

TEST(Ecn, marks_a_share_that_rises_to_pmax) {
    const EcnSettings ecn{.kmin_bytes = 1000, .kmax_bytes = 2000, .pmax_millionths = 100'000};
    for (const uint64_t queue : {1100u, 1500u, 2000u}) {
        const double p = 0.1 * static_cast<double>(queue - 1000) / 1000;
        const double deviation = std::sqrt(p * (1 - p) / kDraws);
        EXPECT_NEAR(share_marked(ecn, queue), p, 5 * deviation) << queue;
    }
}

TEST(Ecn, with_one_threshold_is_a_step) {
    const EcnSettings ecn{.kmin_bytes = 1000, .kmax_bytes = 1000, .pmax_millionths = 1'000'000};
    EXPECT_EQ(share_marked(ecn, 1000), 0.0);
    EXPECT_EQ(share_marked(ecn, 1001), 1.0);
}

TEST(Fecn, marks_at_the_root_and_not_at_a_victim) {
    FecnSettings fecn{.threshold_bytes = 1000};
    LaneWait lane;
    EXPECT_FALSE(fecn_marks(fecn, 1000, lane, false, 500));
    EXPECT_TRUE(fecn_marks(fecn, 1001, lane, false, 500));
    EXPECT_FALSE(fecn_marks(fecn, 1001, lane, true, 500));
    fecn.victims = true;
    EXPECT_TRUE(fecn_marks(fecn, 1001, lane, true, 500));
}

TEST(Fecn, lets_the_marking_rate_go_by_between_two_marks) {
    const FecnSettings fecn{.threshold_bytes = 0, .marking_rate = 3, .minimum_bytes = 100};
    LaneWait lane;
    for (int i = 0; i < 40; ++i) {
        EXPECT_FALSE(fecn_marks(fecn, 1, lane, false, 99));  // too small, and not counted
        EXPECT_EQ(fecn_marks(fecn, 1, lane, false, 100), i % 4 == 3) << i;
    }
}

TEST(Marks, become_headers_at_the_end_point) {
    Transit transit;
    transit.lane = 5;
    wire::Packet packet;
    packet.payload_length = 100;
    apply_marks(transit, Marking::ecn, packet);
    EXPECT_EQ(packet.virtual_lane, 5u);
    EXPECT_EQ(packet.traffic_class, 0u);
    EXPECT_EQ(packet.payload_length, 100u);
    transit.flags = Transit::kMarked;
    apply_marks(transit, Marking::fecn, packet);
    EXPECT_TRUE(packet.fecn);
    EXPECT_EQ(packet.traffic_class, 0u);
    apply_marks(transit, Marking::ecn, packet);
    EXPECT_EQ(packet.traffic_class & 3, 3u);
    transit.flags = Transit::kTrimmed;
    apply_marks(transit, Marking::ecn, packet);
    EXPECT_TRUE(packet.trimmed);
    EXPECT_EQ(packet.payload_length, 0u);
}

}  // namespace
}  // namespace tulle::fabric
