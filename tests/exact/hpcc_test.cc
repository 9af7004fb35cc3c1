// HPCC at work. With packets paced at W / T and no queue, the fixed point of its law is
// W = eta x B x T / N + W_AI for each of N flows: see the head of transport/congestion/hpcc.h.
#include <algorithm>

#include "lab.h"

namespace tulle::exact {
namespace {

constexpr uint32_t kHpccStep = 1'000;
constexpr int64_t kInt = 42;           // bytes of telemetry in each packet
constexpr double kHpccLine = 12.5e-3;  // bytes a picosecond, of 100 Gb/s
constexpr double kHpccRoundTrip = 10e6;

Lab hpcc_star(const char* spec = "star:hosts=3") {
    Lab setup = plain(spec);
    setup.fabric.link.rate = base::Rate::bits_per_second(100 * kGiga);
    setup.fabric.link.delay = 1_us;
    setup.host.congestion = transport::Algorithm::hpcc;
    setup.host.ack_every = 1;
    setup.host.algorithms.hpcc.base_rtt = 10_us;
    setup.host.algorithms.hpcc.additive_bytes = kHpccStep;
    setup.host.algorithms.hpcc.set_line(setup.fabric.link.rate);
    setup.fabric.telemetry = sim::wants_telemetry(setup);
    return setup;
}

double hpcc_rate(uint32_t flows) {
    return 0.95 * kHpccLine / flows + kHpccStep / kHpccRoundTrip;
}

double hpcc_bytes(uint64_t bytes) {
    return static_cast<double>(bytes) * (4096.0 + kOverhead + kInt) / 4096;
}

TEST(Hpcc, a_lone_flow_goes_at_eta_of_the_line_and_the_step) {
    Lab setup = hpcc_star();
    const Duration took = completion(setup, 100'000'000);
    EXPECT_NEAR(static_cast<double>(took.ps) * hpcc_rate(1) / hpcc_bytes(100'000'000), 1, 0.002);
}

// Without a queue but that of the first round trip, in which all begin at the line's rate.
TEST(Hpcc, flows_share_a_line_fairly_and_its_queue_drains) {
    Lab setup = hpcc_star("star:hosts=5");
    setup.trace = true;
    constexpr uint64_t kBytes = 60'000'000;
    for (uint32_t source = 0; source < 4; ++source)
        setup.flows.push_back({.source = source,
                               .destination = 4,
                               .bytes = kBytes,
                               .start = Instant{} + int64_t{source} * 200_us});
    const Result result = run(setup);
    ASSERT_EQ(result.flows.size(), 4u);
    const double alone = hpcc_bytes(kBytes) / hpcc_rate(4);
    for (const sim::FlowResult& flow : result.flows) {
        ASSERT_TRUE(flow.finished);
        EXPECT_NEAR(static_cast<double>(flow.completion.ps) / alone, 1, 0.06);
    }
    uint64_t latest = 0;
    for (const sim::TraceSample& event : result.trace)
        if (event.kind == sim::TraceSample::Kind::queue_bytes && event.port == 4 &&
            event.at > Instant{} + 2_ms && event.at < Instant{} + 10_ms)
            latest = std::max(latest, event.value);
    EXPECT_LT(latest, 6u * 4'500) << "no more than packets that come at one instant";
    EXPECT_EQ(result.totals.retransmitted, 0u);
}

TEST(Hpcc, telemetry_crosses_partitions_and_takes_room_on_the_wire) {
    Lab setup = hpcc_star("leaf-spine:leaves=2,spines=2,hosts=4");
    for (uint32_t source = 0; source < 7; ++source)
        setup.flows.push_back({.source = source, .destination = 7, .bytes = 1'000'000});
    const Result one = run(setup);
    const Result three = run(setup, 3);
    ASSERT_EQ(one.flows.size(), three.flows.size());
    for (size_t i = 0; i < one.flows.size(); ++i)
        EXPECT_EQ(one.flows[i].completion, three.flows[i].completion);
    Lab silent = hpcc_star();
    silent.host.congestion = transport::Algorithm::none;
    silent.fabric.telemetry = false;
    Lab telling = silent;
    telling.fabric.telemetry = true;
    const Duration more = completion(telling, 1'000'000) - completion(silent, 1'000'000);
    // 245 packets, two lines for the last one; and the answer, with them too.
    EXPECT_EQ(more.ps, (245 + 1 + 2) * kInt * ps_per_byte(100));
}

}  // namespace
}  // namespace tulle::exact
