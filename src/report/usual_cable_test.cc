#include "report/usual_cable.h"

#include <gtest/gtest.h>

#include "report/testing.h"

namespace tulle::report {
namespace {

using base::Rate;
using namespace base::literals;

// Two hosts at each end of a row of three switches.
testing::MadeRun row() {
    testing::MadeRun run;
    const uint32_t hosts[] = {run.add_host(), run.add_host(), run.add_host(), run.add_host()};
    const uint32_t switches[] = {run.add_switch(topology::kLeafTier),
                                 run.add_switch(topology::kLeafTier),
                                 run.add_switch(topology::kLeafTier)};
    for (const uint32_t i : {0u, 1u}) run.setup.graph.connect(hosts[i], switches[0]);
    for (const uint32_t i : {2u, 3u}) run.setup.graph.connect(hosts[i], switches[2]);
    for (const uint32_t i : {0u, 1u}) run.setup.graph.connect(switches[i], switches[i + 1]);
    return run;
}

TEST(usual_cable, of_two_in_the_middle_it_is_the_faster_and_the_shorter) {
    testing::MadeRun run = row();
    run.setup.fabric.link.rate = Rate::bits_per_second(400'000'000'000);
    run.setup.fabric.link.delay = 1_us;
    run.setup.graph.cables[5].rate_bps = 100'000'000'000;
    run.setup.graph.cables[5].delay = 9_us;
    const auto usual = usual_cables(run.setup);
    EXPECT_EQ(usual[false]->rate, run.setup.fabric.link.rate);
    EXPECT_EQ(usual[false]->delay, 1_us);
}

TEST(usual_cable, those_at_hosts_are_a_kind_of_their_own) {
    testing::MadeRun run = row();
    for (uint32_t i = 0; i < 4; ++i) run.setup.graph.cables[i].rate_bps = 200'000'000'000;
    const auto usual = usual_cables(run.setup);
    EXPECT_EQ(usual[true]->rate, Rate::bits_per_second(200'000'000'000));
    EXPECT_EQ(usual[false]->rate, run.setup.fabric.link.rate);
    EXPECT_TRUE(is_at_host(run.setup.graph, run.setup.graph.cables[0]));
    EXPECT_FALSE(is_at_host(run.setup.graph, run.setup.graph.cables[4]));
}

TEST(usual_cable, there_is_none_where_there_is_no_cable) {
    const testing::MadeRun empty;
    EXPECT_FALSE(usual_cables(empty.setup)[true]);
}

}  // namespace
}  // namespace tulle::report
