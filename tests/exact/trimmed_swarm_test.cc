// Random incasts into switches that trim: whatever is trimmed, and however often, a run comes to
// its end, and each flow ends well or says why not.
#include "base/random.h"
#include "lab.h"

namespace tulle::exact {
namespace {

class Draw {
public:
    explicit Draw(uint64_t seed) : stream_({seed, 0x7472'696d, 0}) {}
    uint32_t between(uint32_t least, uint32_t most) {
        return least + static_cast<uint32_t>(stream_.next() % (most - least + 1));
    }
    template <class T>
    T pick(std::initializer_list<T> choices) {
        return choices.begin()[between(0, static_cast<uint32_t>(choices.size()) - 1)];
    }

private:
    base::RandomStream stream_;
};

Lab trimming(uint64_t seed) {
    Draw draw(seed);
    const uint32_t hosts = draw.between(3, 8);
    Lab lab = plain(("star:" + std::to_string(hosts)).c_str());
    lab.seed = seed;
    lab.fabric.overflow = fabric::Overflow::trim;
    lab.fabric.qos.trimmed_lane = static_cast<uint8_t>(draw.between(0, 1));
    lab.fabric.ets.strict = 0b10;
    lab.fabric.node.port_buffer_bytes = draw.between(8, 128) << 10;
    lab.host.loss =
        draw.pick({transport::LossPolicy::go_back_n, transport::LossPolicy::selective_repeat});
    lab.host.ack_every = draw.pick({1u, 4u, 16u});
    lab.host.coalesce_acks = draw.between(0, 1) == 0;
    lab.host.window_packets = draw.pick({0u, 0u, 20u, 200u});
    lab.host.reorder_packets = draw.pick({16u, 256u, 4096u});
    lab.host.reorder_tolerance = draw.pick({0u, 0u, 3u});
    lab.host.ack_timeout = static_cast<uint8_t>(draw.between(5, 9));
    if (draw.between(0, 2) == 0)
        lab.host.timeouts = {.high = Duration{draw.between(50, 400) * int64_t{1'000'000}},
                             .low = Duration{draw.between(20, 50) * int64_t{1'000'000}}};
    const auto operation = draw.pick({Verb::write, Verb::send, Verb::read});
    for (uint32_t i = draw.between(2, 12); i != 0; --i) {
        Flow flow{.source = draw.between(1, hosts - 1), .destination = 0, .bytes = 1};
        flow.bytes = draw.between(1, 400'000);
        flow.operation = operation;
        if (operation == Verb::read) std::swap(flow.source, flow.destination);
        lab.flows.push_back(flow);
    }
    lab.host.algorithms.nscc.set_line(lab.fabric.link.rate);
    if (draw.between(0, 2) == 0) lab.host.congestion = transport::Algorithm::nscc;
    return lab;
}

TEST(TrimmedSwarm, no_run_ends_stuck) {
    uint64_t trimmed = 0;
    uint64_t failed = 0;
    for (uint64_t seed = 1; seed <= 150; ++seed) {
        const Result result = run(trimming(seed));
        EXPECT_EQ(result.end, Result::End::done) << seed << " " << result.stuck_reason;
        for (const sim::FlowResult& flow : result.flows) {
            EXPECT_TRUE(flow.finished || flow.status != transport::Status::success) << seed;
            failed += flow.finished ? 0 : 1;
        }
        trimmed += result.totals.trimmed;
    }
    EXPECT_GT(trimmed, 10'000u);
    EXPECT_EQ(failed, 0u);
}

}  // namespace
}  // namespace tulle::exact
