#include "transport/congestion/pcc_rtt.h"

#include <gtest/gtest.h>

namespace tulle::transport {
namespace {

using namespace base::literals;
using base::Duration;
using base::Instant;

constexpr uint64_t kPccLine = 400'000'000'000;

struct Told {
    PccRtt control;
    Instant now{};
    // One round trip later.
    void hear(Duration round_trip) {
        now = now + round_trip;
        control.on_signal(now, {.acknowledged_packets = 1, .round_trip = round_trip});
    }
    double part() const { return static_cast<double>(control.rate_bps()) / kPccLine; }
};

Told told_by_default() {
    static const PccRttSettings settings;
    return {PccRtt(settings)};
}

TEST(pcc_rtt, begins_with_the_line_and_keeps_it_while_the_network_is_idle) {
    Told told = told_by_default();
    told.hear(12_us);
    EXPECT_EQ(told.control.rate_bps(), kPccLine);
}

TEST(pcc_rtt, falls_by_a_step_above_the_base_and_rises_by_a_part_of_the_line_below) {
    Told told = told_by_default();
    told.hear(14_us);
    EXPECT_NEAR(told.part(), 0.9, 1e-5);
    told.hear(14_us);
    EXPECT_NEAR(told.part(), 0.81, 1e-5);
    told.hear(13_us);
    EXPECT_NEAR(told.part(), 0.86, 1e-5);
}

TEST(pcc_rtt, looks_once_a_round_trip) {
    Told told = told_by_default();
    told.hear(14_us);
    for (int i = 0; i < 5; ++i)
        told.control.on_signal(told.now + 1_us, {.acknowledged_packets = 1, .round_trip = 14_us});
    EXPECT_NEAR(told.part(), 0.9, 1e-5);
}

TEST(pcc_rtt, a_notification_takes_two_steps_and_a_loss_with_a_long_round_trip_five) {
    Told told = told_by_default();
    told.control.on_signal({}, {.kind = Signal::Kind::cnp});
    told.hear(12_us);
    EXPECT_NEAR(told.part(), 0.8, 1e-5);
    told.control.on_signal(told.now, {.kind = Signal::Kind::loss});
    told.hear(151_us);
    EXPECT_NEAR(told.part(), 0.4, 1e-5);
}

TEST(pcc_rtt, never_falls_below_its_floor) {
    Told told = told_by_default();
    for (int i = 0; i < 300; ++i) told.hear(200_us);
    EXPECT_NEAR(told.part(), 1.0 / 16384, 1e-6);
}

}  // namespace
}  // namespace tulle::transport
