#include "transport/paths/path_chooser.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "transport/paths/flight_log.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using base::Instant;

constexpr uint16_t kBase = 0xfff0;  // values wrap

PathChooser chooser(PathPolicy policy, uint32_t count = 16) {
    return PathChooser({policy, count}, kBase, {1, 2, 3});
}

std::map<uint16_t, int> drawn(PathChooser& paths, int packets) {
    std::map<uint16_t, int> counts;
    for (int i = 0; i < packets; ++i) ++counts[paths.next({})];
    return counts;
}

TEST(paths, one_is_always_the_same) {
    PathChooser paths = chooser(PathPolicy::one);
    EXPECT_EQ(drawn(paths, 20), (std::map<uint16_t, int>{{kBase, 20}}));
}

TEST(paths, oblivious_gives_each_value_once_a_round_in_another_order) {
    PathChooser paths = chooser(PathPolicy::oblivious);
    std::set<std::vector<uint16_t>> orders;
    for (int round = 0; round < 8; ++round) {
        std::vector<uint16_t> order;
        for (int i = 0; i < 16; ++i) order.push_back(paths.next({}));
        EXPECT_EQ(std::set(order.begin(), order.end()).size(), 16u);
        orders.insert(order);
    }
    EXPECT_GT(orders.size(), 2u);
}

TEST(paths, bitmap_skips_a_value_as_often_as_its_penalty_says) {
    PathChooser paths = chooser(PathPolicy::bitmap);
    paths.on_arrived(kBase, true, {});
    paths.on_trimmed(kBase);
    EXPECT_EQ(paths.penalty_of(kBase), 5u);
    drawn(paths, 5 * 15);
    EXPECT_EQ(paths.penalty_of(kBase), 0u);
    EXPECT_GE(drawn(paths, 17)[kBase], 1);
}

TEST(paths, bitmap_still_sends_where_all_values_have_penalties) {
    PathChooser paths = chooser(PathPolicy::bitmap, 2);
    for (const uint16_t entropy : {kBase, static_cast<uint16_t>(kBase + 1)})
        paths.on_lost({}, entropy);
    EXPECT_EQ(drawn(paths, 10).size(), 2u);
}

TEST(paths, reps_sends_again_what_came_back_unmarked_and_nothing_that_was_marked) {
    PathChooser paths = chooser(PathPolicy::reps, 4096);
    paths.on_arrived(static_cast<uint16_t>(kBase + 5), false, {});
    paths.on_arrived(static_cast<uint16_t>(kBase + 6), true, {});
    paths.on_arrived(static_cast<uint16_t>(kBase + 7), false, {});
    EXPECT_EQ(paths.next({}), static_cast<uint16_t>(kBase + 5));
    EXPECT_EQ(paths.next({}), static_cast<uint16_t>(kBase + 7));
    EXPECT_GT(drawn(paths, 100).size(), 50u);  // then it looks for others
}

TEST(paths, reps_uses_only_values_that_came_back_while_it_is_frozen) {
    PathChooser paths = chooser(PathPolicy::reps, 4096);
    for (const int place : {1, 2, 3})
        paths.on_arrived(static_cast<uint16_t>(kBase + place), false, {});
    paths.on_lost({}, static_cast<uint16_t>(kBase + 9));
    EXPECT_EQ(drawn(paths, 30).size(), 3u);
    EXPECT_NE(paths.next(Instant{} + 11_ms), paths.next(Instant{} + 11_ms));
}

TEST(paths, by_round_trip_the_slow_path_gets_least) {
    PathChooser paths = chooser(PathPolicy::round_trip, 8);
    for (int i = 0; i < 200; ++i)
        for (int place = 0; place < 8; ++place)
            paths.on_arrived(static_cast<uint16_t>(kBase + place), false,
                             place == 3 ? 30_us : 10_us);
    auto counts = drawn(paths, 8'000);
    // Only where both draws are this one: one in 64.
    EXPECT_LT(counts[static_cast<uint16_t>(kBase + 3)], 8'000 / 40);
    EXPECT_GT(counts[kBase], 8'000 / 10);
}

TEST(flights, an_answer_gives_a_round_trip_once_and_not_that_of_another_copy) {
    FlightLog log;
    const wire::Psn psn{0xff'fffe};
    log.note(psn, psn, Instant{} + 1_us, 7);
    EXPECT_EQ(log.arrived(psn, 8, Instant{} + 9_us), std::nullopt);
    EXPECT_EQ(log.arrived(psn, 7, Instant{} + 9_us), 8_us);
    EXPECT_EQ(log.arrived(psn, 7, Instant{} + 9_us), std::nullopt);
    const wire::Psn other{1};
    log.note(other, psn, Instant{} + 1_us, 7);
    log.note(other, psn, Instant{} + 5_us, 7);  // again, over the same path
    EXPECT_EQ(log.arrived(other, 7, Instant{} + 9_us), base::Duration{});
}

TEST(flights, are_remembered_as_the_window_grows) {
    FlightLog log;
    const wire::Psn first{100};
    for (uint32_t i = 0; i < 300; ++i)
        log.note(wire::psn_plus(first, i), first, Instant{}, static_cast<uint16_t>(i));
    for (uint32_t i = 0; i < 300; ++i)
        EXPECT_EQ(log.entropy_of(wire::psn_plus(first, i)), static_cast<uint16_t>(i));
}

}  // namespace
}  // namespace tulle::transport
