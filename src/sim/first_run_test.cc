// What a second run takes from the first saves it work, and changes nothing of what it finds.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "sim/testing.h"
#include "topology/spec.h"

namespace tulle::sim {
namespace {

using namespace base::literals;

// Two leaves with few credits on the cable between them, and an incast at the far end.
Setup crowded() {
    Setup setup;
    setup.graph = *topology::build_spec("leaf-spine:leaves=2,spines=1,hosts=4");
    fabric::Settings& f = setup.fabric;
    f.framing.encapsulation = wire::Encapsulation::infiniband_local;
    f.framing.envelope_bytes = 14;
    f.framing.minimum_bytes = 0;
    f.link.gap_bytes = 0;
    f.link.delay = 200_ns;
    f.flow_control = fabric::FlowControl::credits;
    f.credits.lane_buffer_bytes = 64 << 10;
    for (uint32_t i = 0; i < 3; ++i)
        setup.flows.push_back({.source = i, .destination = 4, .bytes = 500'000 + i * 1000});
    setup.flows.push_back({.source = 7, .destination = 3, .bytes = 100'000});
    return setup;
}

auto shares_of(const Result& result) {
    std::vector<std::tuple<fabric::ShareKind, fabric::Place, int64_t>> shares;
    for (const TimeShare& share : result.account.shares)
        shares.emplace_back(share.kind, share.place, share.time.ps);
    return shares;
}

TEST(first_run, says_which_ports_ever_lacked_credits) {
    const auto setup = crowded();
    const FirstRun first = FirstRun::of(setup, testing::run(setup));
    const auto& was_held = first.networks[0].was_held;
    ASSERT_EQ(was_held.size(), 2 * setup.graph.cables.size());
    const auto held = std::ranges::count(was_held, true);
    EXPECT_GT(held, 1) << "three hosts share one cable";
    EXPECT_LT(held, std::ssize(was_held) / 2) << "nobody waits on the way back";
}

TEST(first_run, saves_credits_that_nobody_lacks_and_finds_the_same) {
    const auto setup = crowded();
    const FirstRun first = FirstRun::of(setup, testing::run(setup));
    FirstRun told = first;
    told.networks[0].was_held.clear();
    told.networks[0].has_marked.clear();
    const auto shares = shares_of(testing::run(setup, 1, told));
    ASSERT_GT(shares.size(), 3u);
    EXPECT_EQ(shares_of(testing::run(setup, 1, first)), shares);
    EXPECT_EQ(shares_of(testing::run(setup, 3, first)), shares);
}

// DCQCN, with marks at one of three switches.
Setup marking() {
    Setup setup;
    setup.graph = *topology::build_spec("leaf-spine:leaves=2,spines=1,hosts=3");
    setup.fabric.marking = fabric::Marking::ecn;
    setup.fabric.ecn = {.kmin_bytes = 20'000, .kmax_bytes = 80'000, .pmax_millionths = 200'000};
    setup.host.congestion = transport::Algorithm::dcqcn;
    setup.host.algorithms.dcqcn = transport::DcqcnSettings::of_adapter(400'000'000'000);
    for (const uint32_t source : {1u, 2u})
        setup.flows.push_back({.source = source, .destination = 0, .bytes = 2'000'000});
    return setup;
}

TEST(first_run, says_which_switches_marked_and_finds_the_same) {
    const auto setup = marking();
    const FirstRun first = FirstRun::of(setup, testing::run(setup));
    ASSERT_EQ(std::ranges::count(first.networks[0].has_marked, true), 1);
    FirstRun told = first;
    told.networks[0].has_marked.clear();
    EXPECT_EQ(shares_of(testing::run(setup, 1, first)), shares_of(testing::run(setup, 1, told)));
}

}  // namespace
}  // namespace tulle::sim
