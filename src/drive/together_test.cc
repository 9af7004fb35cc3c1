#include "drive/together.h"

#include <gtest/gtest.h>

#include "topology/spec.h"

namespace tulle::drive {
namespace {

sim::Setup shift_by(uint32_t by) {
    sim::Setup setup;
    setup.graph = *topology::build_spec("star:4");
    for (uint32_t host = 0; host < 4; ++host) {
        sim::Flow flow;
        flow.source = host;
        flow.destination = (host + by) % 4;
        flow.bytes = 100'000 * by;
        setup.flows.push_back(flow);
    }
    return setup;
}

TEST(together, results_stand_in_the_order_of_the_setups) {
    const std::vector<sim::Setup> setups = {shift_by(1), shift_by(2), shift_by(3)};
    for (const uint32_t workers : {1u, 2u, 8u}) {
        TogetherOptions options;
        options.workers = workers;
        const auto results = run_together(setups, options);
        ASSERT_EQ(results.size(), 3u);
        for (size_t i = 0; i < setups.size(); ++i)
            EXPECT_EQ((*results[i])->hash, run(setups[i], {})->hash);
        EXPECT_NE((*results[0])->hash, (*results[1])->hash);
    }
}

TEST(together, after_an_interrupt_no_other_run_begins) {
    const std::vector<sim::Setup> setups = {shift_by(1), shift_by(2), shift_by(3)};
    std::atomic<bool> interrupt{false};
    TogetherOptions options;
    options.interrupt = &interrupt;
    options.on_end = [&](size_t, sim::Result*) { interrupt = true; };
    const auto results = run_together(setups, options);
    ASSERT_TRUE(results[0].has_value());
    EXPECT_EQ((*results[0])->end, sim::Result::End::done);
    EXPECT_FALSE(results[1].has_value());
    EXPECT_FALSE(results[2].has_value());
}

TEST(together, what_cannot_work_is_said_of_that_run_alone) {
    std::vector<sim::Setup> setups = {shift_by(1), shift_by(2)};
    setups[0].flows[0].destination = 0;
    const auto results = run_together(setups, {});
    EXPECT_FALSE(results[0]->ok());
    EXPECT_TRUE(results[1]->ok());
}

}  // namespace
}  // namespace tulle::drive
