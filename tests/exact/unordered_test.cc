// Unordered reliable transport: what lines, windows and headers say, to the picosecond.
#include "profiles.h"

namespace tulle::exact {
namespace {

using transport::Delivery;
using transport::PathPolicy;

Lab spread(Lab lab, Delivery delivery = Delivery::unordered,
           PathPolicy policy = PathPolicy::oblivious) {
    lab.host.loss = transport::LossPolicy::selective_repeat;
    lab.host.delivery = delivery;
    lab.host.paths = {policy, 64};
    lab.host.reorder_tolerance = 4096;
    lab.host.ack_every = 4;
    return lab;
}

// Alone on its line a flow takes what its packets take, however they are delivered: the last
// packet is behind all others on the one cable that they share.
TEST(Unordered, a_flow_alone_takes_what_its_packets_and_their_way_take) {
    for (const Delivery delivery : {Delivery::placed, Delivery::unordered})
        for (const PathPolicy policy : {PathPolicy::one, PathPolicy::oblivious, PathPolicy::bitmap,
                                        PathPolicy::reps, PathPolicy::round_trip}) {
            const Lab lab = spread(plain("pair"), delivery, policy);
            const Duration more = completion(lab, 2'000 * 4096) - completion(lab, 1'000 * 4096);
            EXPECT_EQ(more, (Duration{1'000 * (4096 + kOverhead) * 20}));
        }
}

// Each data packet has so many bytes of headers: UET's RUD with a standard SES header. The figures
// are those of 4096 / (4096 + 126) and so on of 400 Gb/s.
TEST(Unordered, goodput_is_the_closed_form_of_its_headers) {
    for (const uint32_t mtu : {1024u, 2048u, 4096u, 8192u}) {
        Lab lab = spread(plain("pair"));
        lab.fabric.framing.fixed_header_bytes = 106;
        lab.fabric.framing.fixed_ack_bytes = 82;
        lab.host.mtu = mtu;
        const Duration more =
            completion(lab, uint64_t{2'000} * mtu) - completion(lab, uint64_t{1'000} * mtu);
        EXPECT_EQ(more, (Duration{int64_t{1'000} * (mtu + 126) * 20})) << mtu;
    }
}

// A window of w packets over a round trip r that is longer than w packets: the line is idle for the
// rest. Each packet is acknowledged, and an acknowledgement lets one packet go.
TEST(Unordered, a_window_below_the_round_trip_sends_a_window_a_round_trip) {
    Lab lab = spread(plain("pair"));
    lab.fabric.link.delay = 10_us;
    lab.host.window_packets = 8;
    lab.host.ack_every = 1;
    constexpr int64_t kPacket = (4096 + kOverhead) * 20;
    // Data whole, cable, the acknowledgement with what it tells, cable.
    constexpr int64_t kRoundTrip = kPacket + 10'000'000 + (kAckBytes + 12) * 20 + 10'000'000;
    const Duration more = completion(lab, 1'600 * 4096) - completion(lab, 800 * 4096);
    EXPECT_EQ(more, (Duration{100 * kRoundTrip}));
}

// Eight lines meet at one whose queue is short, and nobody slows down: nothing waits for a timeout.
TEST(Unordered, an_incast_with_trimming_ends_without_a_timeout) {
    Lab lab = spread(plain("star:9"));
    lab.fabric.overflow = fabric::Overflow::trim;
    lab.fabric.node.port_buffer_bytes = 100'000;
    lab.fabric.ets.strict = 1 << 7;
    lab.host.ack_timeout = 14;
    lab.host.window_packets = 64;
    for (uint32_t i = 1; i <= 8; ++i)
        lab.flows.push_back({.source = i, .destination = 0, .bytes = 1'000'000});
    const Result result = run(lab);
    EXPECT_GT(result.totals.retransmitted, 0u);
    Duration last{};
    for (const sim::FlowResult& flow : result.flows) {
        EXPECT_TRUE(flow.finished);
        last = std::max(last, flow.completion);
    }
    const int64_t packets = 8 * ((1'000'000 + 4095) / 4096);
    const int64_t line = (8'000'000 + packets * kOverhead) * 20;
    EXPECT_GE(last.ps, line);
    // The headers of trimmed packets take some of the line; and a round trip at the end.
    const auto headers = static_cast<int64_t>(result.totals.trimmed) * (kOverhead + kReth) * 20;
    EXPECT_LE(last.ps, line + headers + 10'000'000);
}

// More queue pairs than packets that a port holds, so even one packet of each is too much. What is
// trimmed must not go again faster than it is told of, or headers fill the line: of WRITEs after a
// timeout, of READs at any time.
TEST(Unordered, many_queue_pairs_into_one_port_leave_its_line_to_data) {
    for (const auto& [profile, operation] : {std::pair{"uec-400g", Verb::write},
                                             {"uec-400g", Verb::read},
                                             {"uec-400g-rccc", Verb::read}}) {
        Lab lab = lab_of(profile, "leaf-spine:leaves=8,spines=8,hosts=8");
        lab.stop = Instant{} + 4_ms;
        constexpr uint64_t kBytes = 128'000;
        for (uint32_t i = 0; i < 504; ++i) {
            Flow flow{.source = 1 + i % 63, .destination = 0, .bytes = kBytes};
            flow.operation = operation;
            if (operation == Verb::read) std::swap(flow.source, flow.destination);
            lab.flows.push_back(flow);
        }
        const Result result = run(lab);
        for (const sim::FlowResult& flow : result.flows) EXPECT_TRUE(flow.finished) << profile;
        const auto line = static_cast<int64_t>(504 * kBytes) * 20;
        EXPECT_LE(result.time.ps, line * 3) << profile;
    }
}

// A permutation over all paths of a non-blocking tree, by the sender.
TEST(Unordered, a_sprayed_permutation_reaches_nine_tenths_of_the_limit) {
    for (const PathPolicy policy : {PathPolicy::oblivious, PathPolicy::reps}) {
        Lab lab =
            spread(plain("leaf-spine:leaves=8,spines=8,hosts=8"), Delivery::unordered, policy);
        lab.fabric.link.delay = 100_ns;
        lab.fabric.node.buffer_bytes = 256 << 20;
        lab.host.paths.count = 1024;  // so that hashes give each path nearly the same
        constexpr uint64_t kBytes = 8'000'000;
        for (uint32_t i = 0; i < 64; ++i)
            lab.flows.push_back({.source = i, .destination = (i + 35) % 64, .bytes = kBytes});
        const Result result = run(lab);
        Duration last{};
        for (const sim::FlowResult& flow : result.flows) last = std::max(last, flow.completion);
        const int64_t packets = (kBytes + 4095) / 4096;
        const int64_t limit = (int64_t{kBytes} + packets * kOverhead) * 20;
        EXPECT_LE(last.ps, limit * 100 / 90);
        EXPECT_EQ(result.totals.retransmitted, 0u);
        EXPECT_EQ(run(lab, 3).flows[5].completion, result.flows[5].completion);
    }
}

}  // namespace
}  // namespace tulle::exact
