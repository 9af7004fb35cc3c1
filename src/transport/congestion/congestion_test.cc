#include "transport/congestion/congestion.h"

#include <gtest/gtest.h>

namespace tulle::transport {
namespace {

TEST(Congestion, without_control_the_next_packet_may_go_at_once) {
    CongestionControl control;
    EXPECT_EQ(on_sent(control, base::Instant{77}, 4096), base::Instant{77});
}

TEST(Congestion, a_fixed_rate_carries_what_is_less_than_a_picosecond) {
    CongestionControl control;
    control.algorithm = Algorithm::fixed_rate;
    control.fixed_rate = {440, 3, 0};
    base::Instant now{};
    for (int i = 0; i < 3000; ++i) now = on_sent(control, now, 1);
    EXPECT_EQ(now.ps, 440 * 1000);
}

TEST(Congestion, a_fixed_rate_does_not_heed_signals) {
    CongestionControl control;
    control.algorithm = Algorithm::fixed_rate;
    control.fixed_rate = {80, 1, 0};
    on_signal(control, base::Instant{}, {.kind = Signal::Kind::cnp});
    EXPECT_EQ(on_sent(control, base::Instant{}, 10).ps, 800);
}

}  // namespace
}  // namespace tulle::transport
