#include "transport/congestion/congestion.h"

#include <gtest/gtest.h>

namespace tulle::transport {
namespace {

TEST(Congestion, without_control_the_next_packet_may_go_at_once) {
    CongestionControl control;
    EXPECT_EQ(on_sent(control, base::Instant{77}, 4096), base::Instant{77});
}

TEST(Congestion, a_fixed_rate_carries_what_is_less_than_a_picosecond) {
    CongestionControl control(FixedRate(base::Rate::bits_per_second(600'000'000'000, 11)));
    base::Instant now{};
    for (int i = 0; i < 3000; ++i) now = on_sent(control, now, 1);
    EXPECT_EQ(now.ps, 440 * 1000);
}

TEST(Congestion, a_fixed_rate_does_not_heed_signals) {
    CongestionControl control(FixedRate(base::Rate::bits_per_second(100'000'000'000)));
    on_signal(control, base::Instant{}, {.kind = Signal::Kind::cnp});
    EXPECT_EQ(on_sent(control, base::Instant{}, 10).ps, 800);
}

TEST(Congestion, each_algorithm_is_made_of_its_settings_by_its_name) {
    AlgorithmSettings settings;
    settings.fixed_rate.rate_bps = 100'000'000'000;
    settings.ib_cc.table = {0, 1};
    settings.plugin.source = "./mine.so";
    for_each_algorithm([&](std::string_view name, Algorithm algorithm, auto member, auto) {
        EXPECT_EQ((settings.*member).set_line(base::Rate::bits_per_second(100'000'000'000)), "");
        EXPECT_EQ((settings.*member).wrong(), "") << name;
        const CongestionControl control(algorithm, settings);
        EXPECT_EQ(control.algorithm, algorithm);
        EXPECT_EQ(name_of(algorithm), name);
    });
}

}  // namespace
}  // namespace tulle::transport
