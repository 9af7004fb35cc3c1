#include "drive/run.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include "drive/crew.h"
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

uint64_t hash_with(uint32_t threads) {
    Options options;
    options.threads = threads;
    return run(incast(), options)->hash;
}

TEST(run, uses_no_more_threads_than_there_are_cores_and_finds_the_same) {
    Options options;
    options.threads = 4;
    const auto result = run(incast(), options);
    EXPECT_EQ(result->hash, hash_with(1));
    EXPECT_LE(result->engine.threads, usable_cores());
}

// Threads get a stack that no machine has, so that none can be created.
class NoThreads : public testing::Test {
protected:
    void SetUp() override {
        pthread_getattr_default_np(&usual_);
        pthread_attr_t huge;
        pthread_attr_init(&huge);
        pthread_attr_setstacksize(&huge, size_t{1} << 47);
        pthread_setattr_default_np(&huge);
        pthread_attr_destroy(&huge);
    }
    void TearDown() override {
        pthread_setattr_default_np(&usual_);
        pthread_attr_destroy(&usual_);
    }

private:
    pthread_attr_t usual_{};
};

TEST_F(NoThreads, a_crew_is_this_thread_alone) {
    uint32_t calls = 0;
    EXPECT_EQ(work_together(4, [&](uint32_t, uint32_t) { ++calls; }), 1u);
    EXPECT_EQ(calls, 1u);
}

TEST_F(NoThreads, a_run_goes_on_with_the_one_that_there_is) {
    EXPECT_EQ(hash_with(4), hash_with(1));
}

TEST(crew, all_are_called_once_and_know_how_many_they_are) {
    std::atomic<uint32_t> called{0};
    const uint32_t size = work_together(8, [&](uint32_t mine, uint32_t threads) {
        EXPECT_EQ(threads, 8u);
        called.fetch_or(1u << mine);
    });
    EXPECT_EQ(size, 8u);
    EXPECT_EQ(called.load(), 0xffu);
}

}  // namespace
}  // namespace tulle::drive
