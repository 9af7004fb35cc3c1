#include "drive/run.h"

#include <gtest/gtest.h>

#include "topology/spec.h"

namespace tulle::drive {
namespace {

sim::Setup incast() {
    sim::Setup setup;
    setup.graph = *topology::build_spec("star:4");
    for (uint32_t host = 1; host < 4; ++host) {
        sim::Flow flow;
        flow.source = host;
        flow.destination = 0;
        flow.bytes = 100'000;
        setup.flows.push_back(flow);
    }
    return setup;
}

struct Counted {
    sim::Result result;
    uint32_t passes = 0;
};

Counted run_counted(const sim::Setup& setup, bool explains) {
    Counted counted;
    Options options;
    options.explains = explains;
    options.on_begin = [&] { ++counted.passes; };
    counted.result = *run(setup, options);
    return counted;
}

TEST(run, goes_through_once_where_nobody_asks_why) {
    const Counted counted = run_counted(incast(), false);
    EXPECT_EQ(counted.passes, 1u);
    EXPECT_TRUE(counted.result.account.shares.empty());
}

TEST(run, goes_through_twice_to_know_why_and_finds_the_same) {
    const Counted once = run_counted(incast(), false);
    const Counted twice = run_counted(incast(), true);
    EXPECT_EQ(twice.passes, 2u);
    EXPECT_EQ(twice.result.hash, once.result.hash);
    EXPECT_EQ(twice.result.links.size(), once.result.links.size());
    EXPECT_EQ(twice.result.account.chain, once.result.account.chain);
    EXPECT_EQ(base::Instant{} + twice.result.account.total(), twice.result.account.end);
}

}  // namespace
}  // namespace tulle::drive
