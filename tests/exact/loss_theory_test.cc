// Goodput over a line that loses packets by chance, against what renewal theory gives.
//
// A packet takes the time T on the line and is lost with probability p; each is independent. The
// line is otherwise idle, and the sender has no window but many round trips. Answers are short: of
// 86 bytes where packets have 4,178, they are lost 49 times less often, and left out below.
//
// Selective repeat sends each packet until it arrives, and nothing else: 1 / (1 - p) times on
// average. So N packets take  N T / (1 - p),  whatever the distance.
//
// Go-back-N: behind the lost packet W others leave before the NAK is here, all in vain. The packet
// after the lost one must be on the line whole, arrive, and the NAK must come back: after
// T + 2 delay + A, of which the sender fills each T begun, so W = ceil((T + 2 delay + A) / T). If
// the packet after it is lost too, the next one shows the gap, T later: p / (1 - p) more on
// average. The loss thus costs the packet itself and these. A receiver names a gap once (IBTA vol
// 1, 9.7.5.2.8), so that a packet which is lost again when it is resent is missed by the timer
// alone, and the timer doubles with each retry without progress: 2 S after the NAK, 4 S and so on.
// That adds p (2 S + p (4 S + ...)) = 2 p S / (1 - 2 p). So N packets take
//     N T (1 + p (1 + W + p / (1 - p) + 2 p S / T / (1 - 2 p))).
#include <cmath>

#include "lab.h"

namespace tulle::exact {
namespace {

using transport::LossPolicy;

constexpr int64_t kPacketPs = (4096 + kOverhead) * 20;  // at 400 Gb/s
constexpr int64_t kAckPs = kAckBytes * 20;
constexpr uint64_t kPackets = 300'000;
constexpr int64_t kSilence = 4;  // round trips until silence counts as loss

struct Case {
    double loss;
    int64_t round_trip;  // in packets
};

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const double loss : {1e-4, 1e-3, 1e-2})
        for (const int64_t round_trip : {10, 76, 300}) all.push_back({loss, round_trip});
    return all;
}

Lab lossy(const Case& c, LossPolicy policy) {
    Lab lab = plain("pair");
    lab.host.loss = policy;
    lab.host.ack_every = 1;
    lab.host.reorder_packets = 1 << 15;
    lab.fabric.link.delay = Duration{c.round_trip * kPacketPs / 2};
    lab.fabric.link.bit_errors = fabric::BitErrors::dropped;
    // So many bits are lost that a packet is with probability p.
    const double bits = 8.0 * (4096 + kOverhead);
    lab.fabric.link.error_rate_e18 = static_cast<uint64_t>(-std::log1p(-c.loss) / bits * 1e18);
    // The end of the message may be lost; a timeout then costs a few round trips of hundreds.
    lab.host.timeouts = {.high = Duration{kSilence * c.round_trip * kPacketPs}};
    return lab;
}

// The share of the line's rate that arrives, of the theory's.
double part_of_theory(const Case& c, LossPolicy policy, double packets_a_packet) {
    const Duration time = completion(lossy(c, policy), kPackets * 4096);
    return static_cast<double>(kPackets * kPacketPs) * packets_a_packet /
           static_cast<double>(time.ps);
}

TEST(LossTheory, selective_repeat_sends_again_what_is_lost_and_nothing_else) {
    for (const Case& c : cases()) {
        const double part = part_of_theory(c, LossPolicy::selective_repeat, 1 / (1 - c.loss));
        EXPECT_NEAR(part, 1, 0.03) << c.loss << " " << c.round_trip;
    }
}

TEST(LossTheory, go_back_n_sends_a_round_trip_again_for_each_loss) {
    for (const Case& c : cases()) {
        const double p = c.loss;
        const auto silence = static_cast<double>(kSilence * c.round_trip);
        const auto wasted = static_cast<double>(
            (kPacketPs + c.round_trip * kPacketPs + kAckPs + kPacketPs - 1) / kPacketPs);
        const double again = 2 * p * silence / (1 - 2 * p);
        const double sent = 1 + p * (1 + wasted + p / (1 - p) + again);
        EXPECT_NEAR(part_of_theory(c, LossPolicy::go_back_n, sent), 1, 0.03)
            << c.loss << " " << c.round_trip;
    }
}

// Each loss is repaired once: as many packets go again as are lost, but for a probe after a
// timeout.
TEST(LossTheory, selective_repeat_sends_as_many_packets_again_as_were_lost) {
    const Result result = [] {
        Lab lab = lossy({1e-2, 76}, LossPolicy::selective_repeat);
        lab.flows = {Flow{.source = 0, .destination = 1, .bytes = kPackets * 4096}};
        return run(lab);
    }();
    const auto lost = static_cast<double>(dropped(result, sim::Drop::corrupted));
    EXPECT_NEAR(static_cast<double>(result.totals.retransmitted), lost, 0.05 * lost);
}

}  // namespace
}  // namespace tulle::exact
