// How long one flow takes through idle switches. The sum is over the cables of the way:
//
//   store and forward  all bits of a packet come in before its first goes out. The first packet
//                      pays for every cable, those behind it for the slowest one.
//   cut through        a packet goes on when its first 64 bytes are here, unless the line out is
//                      faster and would run dry: then so late that its last bit goes as it comes.
//
// and the acknowledgement of the last packet comes back the same way.
#include "lab.h"

namespace tulle::exact {
namespace {

constexpr int64_t kDelay = 1'000'000;
constexpr int64_t kHeaderBytes = 64;
constexpr int64_t kMtu = 4096;

const std::vector<std::vector<uint64_t>> kRates = {{400, 100},
                                                   {100, 400},
                                                   {100, 400, 100},
                                                   {400, 100, 400},
                                                   {25, 50, 100, 200, 400},
                                                   {400, 200, 100, 50, 25},
                                                   {400, 25, 100, 50}};

int64_t picoseconds_of(const std::vector<uint64_t>& gbps, int64_t bytes) {
    int64_t sum = 0;
    for (const uint64_t rate : gbps) sum += bytes * ps_per_byte(rate);
    return sum;
}

// Of the way without the lines: cables and pipelines.
int64_t way(const std::vector<uint64_t>& gbps, Duration latency) {
    const auto cables = static_cast<int64_t>(gbps.size());
    return cables * kDelay + (cables - 1) * latency.ps;
}

Duration stored_and_forwarded(const std::vector<uint64_t>& gbps, int64_t packets,
                              Duration latency = {}) {
    const size_t slowest = static_cast<size_t>(
        std::find(gbps.rbegin(), gbps.rend(), *std::min_element(gbps.begin(), gbps.end())).base() -
        gbps.begin());
    const std::vector<uint64_t> up_to(gbps.begin(), gbps.begin() + static_cast<long>(slowest));
    const int64_t packet = kMtu + kOverhead;
    // The first packet has a RETH. Behind the slowest cable packets are apart, and the last, which
    // has none, counts.
    const bool alone = packets == 1;
    const int64_t data = picoseconds_of(gbps, packet) +
                         picoseconds_of(alone ? gbps : up_to, kReth) +
                         (packets - 1) * packet * ps_per_byte(gbps[slowest - 1]);
    return {data + picoseconds_of(gbps, kAckBytes) + 2 * way(gbps, latency)};
}

// One packet, cut through.
int64_t cut_through(const std::vector<uint64_t>& gbps, int64_t bytes, Duration latency) {
    int64_t start = 0;
    for (size_t i = 0; i + 1 < gbps.size(); ++i) {
        const int64_t in = ps_per_byte(gbps[i]);
        const int64_t head = start + kHeaderBytes * in;
        const int64_t tail = start + bytes * in;
        const int64_t hop = kDelay + latency.ps;
        start = hop + std::max(head, tail - bytes * ps_per_byte(gbps[i + 1]));
    }
    return start + bytes * ps_per_byte(gbps.back()) + kDelay;
}

Lab cutting(const std::vector<uint64_t>& gbps, Duration latency) {
    Lab setup = plain(chain(gbps));
    setup.fabric.node.forwarding = fabric::Forwarding::cut_through;
    setup.fabric.node.latency = latency;
    return setup;
}

TEST(Latency, of_one_packet_through_switches_that_store_and_forward) {
    for (size_t switches = 0; switches <= 5; ++switches) {
        const std::vector<uint64_t> gbps(switches + 1, 400);
        EXPECT_EQ(completion(plain(chain(gbps)), kMtu), stored_and_forwarded(gbps, 1)) << switches;
    }
}

TEST(Latency, of_many_packets_through_switches_that_store_and_forward) {
    for (size_t switches = 0; switches <= 5; ++switches)
        for (const int64_t packets : {2, 3, 100, 1000}) {
            const std::vector<uint64_t> gbps(switches + 1, 400);
            EXPECT_EQ(completion(plain(chain(gbps)), static_cast<uint64_t>(packets * kMtu)),
                      stored_and_forwarded(gbps, packets))
                << switches << " switches, " << packets << " packets";
        }
}

TEST(Latency, has_the_pipeline_of_each_switch) {
    for (size_t switches = 1; switches <= 5; ++switches)
        for (const int64_t packets : {1, 50}) {
            const std::vector<uint64_t> gbps(switches + 1, 400);
            Lab setup = plain(chain(gbps));
            setup.fabric.node.latency = 313_ns;
            EXPECT_EQ(completion(setup, static_cast<uint64_t>(packets * kMtu)),
                      stored_and_forwarded(gbps, packets, 313_ns));
        }
}

TEST(Latency, of_the_hosts_is_paid_before_the_first_bit_and_after_each_last_bit) {
    Lab setup = plain(chain({400, 400}));
    setup.host.send_latency = 398_ns;
    setup.host.receive_latency = 402_ns;
    const Duration expected = stored_and_forwarded({400, 400}, 10) + 398_ns + 2 * 402_ns;
    EXPECT_EQ(completion(setup, 10 * kMtu), expected);
}

TEST(Latency, of_slow_and_fast_cables_is_that_of_the_slowest_for_all_but_one_packet) {
    for (const auto& gbps : kRates)
        for (const int64_t packets : {1, 2, 40})
            EXPECT_EQ(completion(plain(chain(gbps)), static_cast<uint64_t>(packets * kMtu)),
                      stored_and_forwarded(gbps, packets))
                << testing::PrintToString(gbps) << " " << packets << " packets";
}

TEST(Latency, of_one_packet_through_switches_that_cut_through) {
    for (size_t switches = 1; switches <= 5; ++switches)
        for (const Duration latency : {0_ns, 130_ns}) {
            const std::vector<uint64_t> gbps(switches + 1, 400);
            const int64_t hops = static_cast<int64_t>(switches);
            const int64_t hop = kHeaderBytes * 20 + kDelay + latency.ps;
            const int64_t data = hops * hop + (kMtu + kOverhead + kReth) * 20 + kDelay;
            const int64_t ack = hops * hop + kAckBytes * 20 + kDelay;
            EXPECT_EQ(completion(cutting(gbps, latency), kMtu), Duration{data + ack});
        }
}

TEST(Latency, of_one_packet_cut_through_from_slow_to_fast_and_from_fast_to_slow) {
    for (const auto& gbps : kRates) {
        const std::vector<uint64_t> back(gbps.rbegin(), gbps.rend());
        const int64_t data = cut_through(gbps, kMtu + kOverhead + kReth, 130_ns);
        EXPECT_EQ(completion(cutting(gbps, 130_ns), kMtu),
                  Duration{data + cut_through(back, kAckBytes, 130_ns)})
            << testing::PrintToString(gbps);
    }
}

TEST(Latency, of_many_packets_cut_through_is_one_packet_and_the_line_rate) {
    for (size_t switches = 1; switches <= 5; ++switches) {
        const Lab setup = cutting(std::vector<uint64_t>(switches + 1, 400), 130_ns);
        const Duration one = completion(setup, kMtu);
        EXPECT_EQ(completion(setup, 1000 * kMtu), one + Duration{999 * (kMtu + kOverhead) * 20});
    }
}

TEST(Latency, of_a_read_is_that_of_its_request_and_the_write_that_answers) {
    Lab setup = plain(chain({400, 100}));
    setup.flows = {Flow{.source = 0, .destination = 1, .bytes = kMtu, .operation = Verb::read}};
    constexpr int64_t kAeth = 4;
    const int64_t request = kOverhead + kReth;
    const int64_t answer = kMtu + kOverhead + kAeth;
    EXPECT_EQ(run(setup).flows[0].completion,
              (Duration{(request + answer) * (20 + 80) + 4 * kDelay}));
}

TEST(Latency, of_whole_nanoseconds_is_cut_at_each_cable) {
    Lab setup = plain(chain({400, 400}));
    setup.fabric.link.whole_nanoseconds = true;
    const int64_t packet = (kMtu + kOverhead + kReth) * 20 / 1000 * 1000;
    const int64_t ack = kAckBytes * 20 / 1000 * 1000;
    EXPECT_EQ(completion(setup, kMtu), (Duration{2 * packet + 2 * ack + 4 * kDelay}));
}

// 54.5454... Gb/s: 440/3 ps a byte. A thousand packets end where the sum ends, rounded up once.
TEST(Latency, of_a_rate_that_is_no_whole_number_does_not_drift) {
    Lab setup = plain(*topology::build_spec("pair"));
    setup.fabric.link.rate = base::Rate::bits_per_second(600 * kGiga, 11);
    const int64_t bytes = 1000 * (kMtu + kOverhead) + kReth;
    const int64_t data = (bytes * 440 + 2) / 3;
    const int64_t ack = (kAckBytes * 440 + 2) / 3;
    EXPECT_EQ(completion(setup, 1000 * kMtu), (Duration{data + ack + 2 * kDelay}));
}

TEST(Latency, is_the_same_with_any_number_of_threads) {
    const Lab setup = plain(chain({400, 100, 400}));
    EXPECT_EQ(completion(setup, 100 * kMtu, 2), completion(setup, 100 * kMtu, 1));
}

}  // namespace
}  // namespace tulle::exact
