#include "fabric/buffer.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace tulle::fabric {
namespace {

Settings fixed(uint64_t xoff, uint64_t reserve, uint64_t xon_offset) {
    Settings settings;
    settings.pfc.dynamic_threshold = false;
    settings.pfc.xoff_bytes = xoff;
    settings.pfc.reserve_bytes = reserve;
    settings.pfc.xon_offset_bytes = xon_offset;
    return settings;
}

TEST(Buffer, a_reserve_takes_nothing_from_the_shared_part) {
    Buffer buffer(fixed(5000, 4000, 1000), 100'000);
    LaneIn lane;
    EXPECT_TRUE(buffer.admit_lossless(lane, 4000, 0));
    EXPECT_EQ(buffer.shared_used(), 0u);
    EXPECT_FALSE(buffer.wants_pause(lane));
    EXPECT_TRUE(buffer.admit_lossless(lane, 1000, 0));
    EXPECT_EQ(buffer.shared_used(), 1000u);
}

TEST(Buffer, a_fixed_threshold_pauses_when_it_is_reached_and_resumes_below) {
    Buffer buffer(fixed(5000, 4000, 1000), 100'000);
    LaneIn lane;
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(buffer.admit_lossless(lane, 1000, 0));
    EXPECT_FALSE(buffer.wants_pause(lane));
    ASSERT_TRUE(buffer.admit_lossless(lane, 1000, 0));  // 9,000: reserve and threshold
    EXPECT_TRUE(buffer.wants_pause(lane));
    EXPECT_FALSE(buffer.wants_resume(lane));
    buffer.release_lossless(lane, 1000);
    EXPECT_TRUE(buffer.wants_resume(lane));  // 1,000 below
}

TEST(Buffer, what_comes_behind_the_threshold_goes_to_headroom_and_no_further) {
    Buffer buffer(fixed(5000, 4000, 1000), 100'000);
    LaneIn lane;
    for (int i = 0; i < 9; ++i) ASSERT_TRUE(buffer.admit_lossless(lane, 1000, 2500));
    EXPECT_TRUE(buffer.admit_lossless(lane, 1000, 2500));
    EXPECT_TRUE(buffer.admit_lossless(lane, 1000, 2500));
    EXPECT_FALSE(buffer.admit_lossless(lane, 1000, 2500));
    EXPECT_EQ(lane.headroom_bytes, 2000u);
    EXPECT_EQ(buffer.shared_used(), 5000u);
    buffer.release_lossless(lane, 1000);
    EXPECT_FALSE(buffer.wants_resume(lane));  // while headroom is in use, nothing else counts
    EXPECT_EQ(lane.headroom_bytes, 1000u);
}

TEST(Buffer, what_finds_room_below_the_threshold_is_not_put_into_headroom) {
    Settings settings;
    settings.pfc.reserve_bytes = 0;
    Buffer buffer(settings, 90'000);
    LaneIn first;
    LaneIn second;
    while (first.headroom_bytes == 0) ASSERT_TRUE(buffer.admit_lossless(first, 1000, 1 << 20));
    // Another lane is emptied, and with it the threshold rises above what the first one holds.
    ASSERT_TRUE(buffer.admit_lossless(second, 8000, 1 << 20));
    while (first.headroom_bytes < 3000) ASSERT_TRUE(buffer.admit_lossless(first, 1000, 1 << 20));
    buffer.release_lossless(second, 8000);
    const uint32_t used = first.used_bytes;
    buffer.release_lossless(first, 3500);
    ASSERT_TRUE(buffer.admit_lossless(first, 100, 1 << 20));
    EXPECT_EQ(first.headroom_bytes, 0u);
    EXPECT_EQ(first.used_bytes, used - 400);
    // The threshold moves while headroom is in use: the next packet goes where there is room.
    ASSERT_TRUE(buffer.admit_lossless(first, 5000, 1 << 20));
    EXPECT_EQ(first.headroom_bytes, 5000u);
    ASSERT_TRUE(buffer.admit_lossless(first, 100, 1 << 20));
    EXPECT_EQ(first.headroom_bytes, 5000u);
}

TEST(Buffer, a_faster_input_may_have_twice_the_threshold) {
    Settings settings;
    settings.pfc.reserve_bytes = 0;
    Buffer once(settings, 90'000);
    Buffer twice(settings, 90'000);
    LaneIn slow;
    LaneIn fast;
    while (slow.headroom_bytes == 0) ASSERT_TRUE(once.admit_lossless(slow, 10, 1 << 20));
    while (fast.headroom_bytes == 0) ASSERT_TRUE(twice.admit_lossless(fast, 10, 1 << 20, 1));
    EXPECT_EQ(slow.used_bytes, 10'000u);  // x = (B - x) / 8
    EXPECT_EQ(fast.used_bytes, 18'000u);  // x = (B - x) / 4
}

// alpha of what is free (Choudhury and Hahne): with B shared bytes and alpha 1/8 one lane alone may
// hold x = (B - x) / 8, which is B / 9.
TEST(Buffer, a_dynamic_threshold_lets_one_lane_take_a_ninth_with_alpha_one_eighth) {
    Settings settings;
    settings.pfc.reserve_bytes = 0;
    Buffer buffer(settings, 90'000);
    LaneIn lane;
    while (lane.headroom_bytes == 0) ASSERT_TRUE(buffer.admit_lossless(lane, 10, 1 << 20));
    EXPECT_EQ(lane.used_bytes, 10'000u);
    EXPECT_TRUE(buffer.wants_pause(lane));
}

// n lanes hold x each: x = (B - n x) / 8.
TEST(Buffer, a_dynamic_threshold_shares_among_all_that_are_full) {
    Settings settings;
    settings.pfc.reserve_bytes = 0;
    Buffer buffer(settings, 160'000);
    std::array<LaneIn, 8> lanes{};
    for (int round = 0; round < 2000; ++round)
        for (LaneIn& lane : lanes) {
            if (lane.headroom_bytes != 0) continue;
            ASSERT_TRUE(buffer.admit_lossless(lane, 10, 1 << 20));
        }
    for (const LaneIn& lane : lanes) EXPECT_NEAR(lane.used_bytes, 10'000, 10);
}

TEST(Buffer, a_lossy_queue_is_bounded_by_its_limit_its_share_and_what_is_there) {
    Settings settings;
    settings.node.lossy_dynamic_threshold = false;
    settings.node.port_buffer_bytes = 3000;
    Buffer limited(settings, 10'000);
    EXPECT_TRUE(limited.admit_lossy(2000, 1000));
    EXPECT_FALSE(limited.admit_lossy(2001, 1000));

    settings.node.port_buffer_bytes = 0;
    Buffer whole(settings, 10'000);
    EXPECT_TRUE(whole.admit_lossy(9000, 10'000));
    EXPECT_FALSE(whole.admit_lossy(0, 1));
    whole.release_lossy(1);
    EXPECT_TRUE(whole.admit_lossy(0, 1));

    settings.node.lossy_dynamic_threshold = true;  // alpha is 1/8
    Buffer shared(settings, 8000);
    EXPECT_TRUE(shared.admit_lossy(0, 1000));
    EXPECT_FALSE(shared.admit_lossy(0, 876));  // an eighth of 7,000 is 875
    EXPECT_TRUE(shared.admit_lossy(0, 875));
}

// Whatever comes and goes: nothing is lost or counted twice.
TEST(Buffer, counts_to_zero_again) {
    for (const bool dynamic : {false, true}) {
        Settings settings = fixed(8000, 3000, 1000);
        settings.pfc.dynamic_threshold = dynamic;
        Buffer buffer(settings, 50'000);
        constexpr uint32_t kHeadroom = 6000;
        struct Stored {
            size_t lane;
            uint32_t bytes;
        };
        std::array<LaneIn, 6> lanes{};
        std::vector<Stored> stored;
        base::RandomStream random({3, dynamic, 0});
        for (int i = 0; i < 50'000; ++i) {
            if (random.below(100) < 55) {
                const Stored s{random.below(lanes.size()),
                               64 + static_cast<uint32_t>(random.below(4000))};
                if (buffer.admit_lossless(lanes[s.lane], s.bytes, kHeadroom)) stored.push_back(s);
            } else if (!stored.empty()) {
                std::swap(stored[random.below(stored.size())], stored.back());
                buffer.release_lossless(lanes[stored.back().lane], stored.back().bytes);
                stored.pop_back();
            }
            uint64_t used = 0;
            uint64_t shared = 0;
            for (const LaneIn& lane : lanes) {
                ASSERT_LE(lane.headroom_bytes, kHeadroom);
                ASSERT_FALSE(buffer.wants_pause(lane) && buffer.wants_resume(lane));
                used += lane.used_bytes + lane.headroom_bytes;
                shared += lane.used_bytes > 3000 ? lane.used_bytes - 3000 : 0;
            }
            uint64_t sum = 0;
            for (const Stored& s : stored) sum += s.bytes;
            ASSERT_EQ(used, sum);
            ASSERT_EQ(buffer.shared_used(), shared);
            ASSERT_LE(shared, buffer.shared_bytes());
        }
        for (const Stored& s : stored) buffer.release_lossless(lanes[s.lane], s.bytes);
        EXPECT_EQ(buffer.shared_used(), 0u);
    }
}

}  // namespace
}  // namespace tulle::fabric
