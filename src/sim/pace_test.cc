#include "sim/pace.h"

#include <gtest/gtest.h>

namespace tulle::sim {
namespace {

using base::Duration;
using base::Instant;

PaceHistory steady(int64_t periods, int64_t ps) {
    PaceHistory history;
    for (int64_t i = 1; i <= periods; ++i) history.add(Instant{i * ps});
    return history;
}

TEST(Pace, of_equal_periods_is_their_length_however_many_there_were) {
    for (const int64_t periods : {12, 15, 16, 17, 31, 32, 33, 100, 1000}) {
        Pace pace;
        pace.add(steady(periods, 500));
        EXPECT_EQ(pace.mean(), Duration{500}) << periods;
        EXPECT_TRUE(pace.has_settled());
    }
}

TEST(Pace, is_not_known_after_a_few_periods) {
    EXPECT_FALSE(steady(11, 500).is_long_enough());
    EXPECT_TRUE(steady(12, 500).is_long_enough());
}

TEST(Pace, that_still_changes_has_not_settled) {
    PaceHistory history;
    Instant at{};
    for (int64_t i = 0; i < 64; ++i) history.add(at += Duration{1000 + 10 * i});
    Pace pace;
    pace.add(history);
    EXPECT_FALSE(pace.has_settled());
}

TEST(Pace, has_not_settled_while_one_stream_is_slower_than_the_others) {
    Pace pace;
    for (int i = 0; i < 1000; ++i) pace.add(steady(64, 1000));
    EXPECT_TRUE(pace.has_settled());
    pace.add(steady(64, 1100));
    EXPECT_FALSE(pace.has_settled());
}

TEST(Pace, settles_though_delays_travel_from_stream_to_stream) {
    Pace pace;
    for (int64_t stream = 0; stream < 16; ++stream) {
        PaceHistory history;
        Instant at{};
        for (int64_t i = 0; i < 256; ++i)
            history.add(at += Duration{(i + stream) % 8 == 0 ? 5000 : 1000});
        pace.add(history);
    }
    EXPECT_EQ(pace.mean(), Duration{1500});
    EXPECT_TRUE(pace.has_settled());
}

TEST(PaceGroups, have_a_pace_each) {
    const PaceHistory slow = steady(64, 1500);
    const PaceHistory fast = steady(64, 1000);
    const PaceHistory nearly_as_fast = steady(64, 1005);
    PaceGroups groups;
    for (const PaceHistory* history : {&fast, &slow, &nearly_as_fast, &slow}) groups.add(*history);
    EXPECT_TRUE(PaceGroups::are_alike(fast, nearly_as_fast));
    EXPECT_FALSE(PaceGroups::are_alike(fast, slow));
    groups.join(2, 0);
    groups.join(3, 1);
    groups.add_up();
    ASSERT_EQ(groups.paces().size(), 2u);
    EXPECT_EQ(groups.of(0), groups.of(2));
    EXPECT_EQ(groups.of(1), groups.of(3));
    EXPECT_EQ(groups.period(groups.of(1)), Duration{1500});
    EXPECT_EQ(groups.period(groups.of(0)), Duration{1002});
    EXPECT_TRUE(groups.paces()[groups.of(0)].is_one_group());
}

TEST(PaceGroups, that_were_joined_by_mistake_are_no_group) {
    const PaceHistory slow = steady(64, 1500);
    const PaceHistory fast = steady(64, 1000);
    PaceGroups groups;
    groups.add(slow);
    groups.add(fast);
    groups.join_all();
    groups.add_up();
    ASSERT_EQ(groups.paces().size(), 1u);
    EXPECT_FALSE(groups.paces()[0].is_one_group());
}

}  // namespace
}  // namespace tulle::sim
