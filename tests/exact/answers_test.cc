// Answers go before data: an acknowledgement waits for the packet that is on the line, and for no
// other, however many queue pairs of its adapter have data to send.
#include "lab.h"

namespace tulle::exact {
namespace {

constexpr int64_t kMiddlePs = (4096 + kOverhead) * 20;         // at 400 Gb/s
constexpr int64_t kFirstPs = (4096 + kOverhead + kReth) * 20;  // also of a WRITE of one packet
constexpr int64_t kAckPs = kAckBytes * 20;

// Host 2 writes one packet to host 0, beside long messages that host 0 has to send from time 0 on.
Duration answered(Instant start, uint32_t long_messages) {
    Lab lab = plain("star:5");
    lab.flows = {Flow{.source = 2, .destination = 0, .bytes = 4096, .start = start}};
    for (uint32_t i = 0; i < long_messages; ++i)
        lab.flows.push_back({.source = 0, .destination = i == 0 ? 1 : 2 + i, .bytes = 4'096'000});
    return run(lab).flows[0].completion;
}

TEST(Answers, wait_for_the_packet_on_the_line_and_for_no_other) {
    for (const int64_t start_ns : {1'000, 2'017, 3'050, 7'777}) {
        const Instant start = Instant{} + Duration{start_ns * 1'000};
        const Duration alone = answered(start, 0);
        // There and back are alike but for the size of the packet.
        const int64_t way = (alone.ps - 2 * kFirstPs - 2 * kAckPs) / 2;
        const int64_t arrives = start.ps + 2 * kFirstPs + way;
        const int64_t since = arrives - kFirstPs;
        const int64_t wait = (kMiddlePs - since % kMiddlePs) % kMiddlePs;
        EXPECT_EQ(answered(start, 1), alone + Duration{wait}) << start_ns;
    }
}

TEST(Answers, do_not_wait_for_each_queue_pair_that_has_data) {
    const Instant start = Instant{} + 2_us;
    EXPECT_LE(answered(start, 3), answered(start, 0) + Duration{kFirstPs});
}

}  // namespace
}  // namespace tulle::exact
