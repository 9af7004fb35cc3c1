// DCTCP at work: two senders share a line, and the queue before it stays near the threshold of
// marking.
#include <algorithm>

#include "lab.h"

namespace tulle::exact {
namespace {

constexpr uint64_t kThreshold = 100'000;
constexpr uint32_t kReceiver = 2;

Lab marked_star() {
    Lab setup = plain("star:hosts=3");
    setup.fabric.link.rate = base::Rate::bits_per_second(100 * kGiga);
    setup.fabric.link.delay = 1_us;
    setup.fabric.marking = fabric::Marking::ecn;
    setup.fabric.ecn.kmin_bytes = setup.fabric.ecn.kmax_bytes = kThreshold;
    setup.fabric.ecn.pmax_millionths = 1'000'000;
    // Marked as they come, of two packets that come at one instant it would always be the second:
    // nothing but the order of ports would give one sender a tenth more.
    setup.fabric.ecn.at_dequeue = true;
    setup.host.congestion = transport::Algorithm::dctcp;
    setup.host.notifications.way = transport::NotificationSettings::Way::answer;
    setup.host.loss = transport::LossPolicy::selective_repeat;
    setup.host.ack_every = 2;
    setup.host.ack_timeout = 14;
    return setup;
}

Flow of(uint32_t source, uint64_t bytes, Instant start = {}) {
    return {.source = source, .destination = kReceiver, .bytes = bytes, .start = start};
}

struct Queue {
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
};

// Before the receiver, once the senders have found their rates.
Queue queue_of(const Result& result) {
    Queue queue;
    for (const sim::TraceSample& event : result.trace) {
        if (event.kind != sim::TraceSample::Kind::queue_bytes || event.port != kReceiver) continue;
        if (event.at < Instant{} + 1_ms || event.at > Instant{} + 4_ms) continue;
        queue.least = std::min(queue.least, event.value);
        queue.most = std::max(queue.most, event.value);
    }
    return queue;
}

// Two times 30 MB in five milliseconds. With an answer to every packet a mark is told exactly; with
// one to every second a mark counts for both, and who is first keeps some of what it had longer.
TEST(Dctcp, two_senders_share_a_line_and_the_queue_stays_near_the_threshold) {
    for (const auto& [ack_every, apart] : {std::pair(1u, 0.04), std::pair(2u, 0.13)})
        for (const Duration later : {0_us, 1_us, 3_us, 10_us, 30_us, 100_us}) {
            Lab setup = marked_star();
            setup.trace = true;
            setup.host.ack_every = ack_every;
            setup.flows = {of(0, 30'000'000), of(1, 30'000'000, Instant{} + later)};
            const Result result = run(setup);
            ASSERT_TRUE(result.flows[0].finished && result.flows[1].finished);
            EXPECT_EQ(result.totals.retransmitted, 0u);
            const auto first = static_cast<double>(result.flows[0].completion.ps);
            const auto second = static_cast<double>(result.flows[1].completion.ps);
            EXPECT_NEAR(first / second, 1, apart) << ack_every << " " << later.ps;
            // The line is hardly ever idle.
            const double whole = 60'000'000 * (4096.0 + kOverhead) / 4096 * 80;
            const double end = std::max(first, second + static_cast<double>(later.ps));
            EXPECT_LT(end, whole * 1.03) << ack_every << " " << later.ps;
            const Queue queue = queue_of(result);
            EXPECT_LT(queue.most, 2 * kThreshold);
            EXPECT_GT(queue.most, kThreshold);
            EXPECT_LT(queue.least, kThreshold);
        }
}

// Ten packets, then twenty, then forty: what the window allows, and then the line.
TEST(Dctcp, a_flow_begins_slowly) {
    Lab setup = marked_star();
    Lab open = setup;
    open.host.congestion = transport::Algorithm::none;
    setup.flows = open.flows = {of(0, 10 * 4096)};
    EXPECT_EQ(run(setup).flows[0].completion, run(open).flows[0].completion);
    setup.flows = open.flows = {of(0, 40 * 4096)};
    EXPECT_GT(run(setup).flows[0].completion, run(open).flows[0].completion + 1_us);
}

TEST(Dctcp, a_lone_flow_fills_the_line_or_pays_the_toll) {
    for (const uint64_t toll : {0u, 40u}) {
        Lab setup = marked_star();
        if (toll != 0) {
            setup.host.receive_toll.rate = base::Rate::bits_per_second(toll * kGiga);
            setup.host.receive_buffer_bytes = 64 << 20;
            setup.host.window_packets = 1024;
        }
        constexpr uint64_t kBytes = 50'000'000;
        setup.flows = {of(0, kBytes)};
        const Result result = run(setup);
        ASSERT_TRUE(result.flows[0].finished);
        const double line = kBytes * (4096.0 + kOverhead) / 4096 * 80;
        const double expected = toll != 0 ? kBytes * 8000.0 / static_cast<double>(toll) : line;
        EXPECT_NEAR(static_cast<double>(result.flows[0].completion.ps) / expected, 1, 0.02);
        EXPECT_EQ(result.totals.retransmitted, 0u);
    }
}

}  // namespace
}  // namespace tulle::exact
