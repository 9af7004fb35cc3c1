#include "control/distributed/lldp.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "control/distributed/testing.h"

namespace tulle::control {
namespace {

using namespace testing;

Instant second(int64_t number) {
    return Instant{} + number * kWholeSecond;
}

std::vector<Instant> times_of(const std::vector<ManagementSent>& frames) {
    std::vector<Instant> times;
    for (const ManagementSent& frame : frames) times.push_back(frame.at);
    std::ranges::sort(times);
    return times;
}

// Both ends send at once, three times more a second later, and then every thirty seconds.
TEST(Lldp, is_sent_often_at_first) {
    const auto graph = graph_of("pair");
    const auto all = lldp_frames(graph, {}, kMillisecond, second(0), second(34));
    std::vector<Instant> expected;
    for (const int64_t at : {0, 1, 2, 3, 33}) expected.insert(expected.end(), 2, second(at));
    EXPECT_EQ(times_of(all), expected);
    for (const ManagementSent& frame : all) EXPECT_EQ(frame.bytes, 134u);
    EXPECT_EQ(times_of(lldp_frames(graph, {}, kMillisecond, second(2), second(33))),
              std::vector({second(2), second(2), second(3), second(3)}));
}

TEST(Lldp, begins_anew_where_light_comes_back) {
    const auto graph = graph_of("pair");
    const auto frames =
        lldp_frames(graph, {{Kind::cable_down, second(5), 0}, {Kind::cable_up, second(40), 0}},
                    kMillisecond, second(4), second(42));
    const Instant back = second(40) + kMillisecond;
    EXPECT_EQ(times_of(frames),
              std::vector({back, back, back + kWholeSecond, back + kWholeSecond}));
}

TEST(Lldp, ends_with_a_switch) {
    const auto graph = graph_of("leaf-spine:leaves=1,spines=1,hosts=3");
    const uint32_t leaf = node_named(graph, "leaf0");
    EXPECT_TRUE(
        lldp_frames(graph, {{Kind::switch_down, second(5), leaf}}, {}, second(6), second(100))
            .empty());
    EXPECT_EQ(lldp_frames(graph, {}, {}, second(6), second(34)).size(), 2 * 4u);
}

}  // namespace
}  // namespace tulle::control
