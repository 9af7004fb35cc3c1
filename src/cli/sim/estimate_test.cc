#include "cli/sim/estimate.h"

#include <gtest/gtest.h>

#include "topology/spec.h"

namespace tulle::cli {
namespace {

// A star with one flow of this many packets.
sim::Setup flow_of(uint64_t packets) {
    sim::Setup setup;
    setup.graph = *topology::build_spec("star:4");
    setup.host.mtu = 4096;
    sim::Flow flow;
    flow.destination = 1;
    flow.bytes = packets * 4096;
    setup.flows = {flow};
    return setup;
}

TEST(Estimate, counts_the_links_of_data_and_acknowledgements) {
    const sim::Setup setup = flow_of(1000);
    EXPECT_EQ(estimate({&setup, 1}, {1, 1, 1}).hops, 2u * 2 * 1000);
}

TEST(Estimate, several_runs_share_the_workers) {
    const std::vector<sim::Setup> setups(4, flow_of(100'000'000));
    const Estimate alone = estimate(setups, {1, 1, 1});
    const Estimate together = estimate(setups, {1, 2, 1});
    EXPECT_EQ(together.hops, alone.hops);
    EXPECT_EQ(together.seconds, alone.seconds / 2);
    EXPECT_EQ(together.memory_bytes, 2 * alone.memory_bytes);
}

TEST(Estimate, a_second_pass_takes_as_long_as_the_first) {
    const sim::Setup setup = flow_of(100'000'000);
    EXPECT_EQ(estimate({&setup, 1}, {1, 1, 2}).hops, 2 * estimate({&setup, 1}, {1, 1, 1}).hops);
    EXPECT_GE(estimate({&setup, 1}, {1, 1, 2}).seconds,
              2 * estimate({&setup, 1}, {1, 1, 1}).seconds);
}

TEST(Estimate, a_short_run_is_not_worth_a_word) {
    EXPECT_FALSE(warning({1'000'000, 3, 1 << 20}, 1 << 30));
}

TEST(Estimate, a_long_run_is_announced) {
    EXPECT_EQ(warning({123'000'000, 600, 64 << 20}, uint64_t{1} << 30).value(),
              "this will take about 10 min, 123 million hops, and 64 MiB of memory");
}

TEST(Estimate, so_is_one_that_does_not_fit_into_memory) {
    EXPECT_EQ(warning({1'000'000, 1, uint64_t{8} << 30}, uint64_t{2} << 30).value(),
              "this will take about 1 s, 1 million hops, and 8 GiB of memory, of which 2 GiB is "
              "free; fewer hosts or smaller messages need less");
}

}  // namespace
}  // namespace tulle::cli
