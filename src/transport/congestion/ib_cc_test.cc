#include "transport/congestion/ib_cc.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace tulle::transport {
namespace {

using base::Duration;
using base::Instant;
using namespace base::literals;

IbCcSettings sample() {
    IbCcSettings settings;
    settings.increase = 4;
    settings.timer = 10;  // 10.24 us
    settings.table.resize(128);
    for (uint16_t i = 0; i < 128; ++i) settings.table[i] = cct_entry(2, i);
    return settings;
}

TEST(IbCc, a_timer_that_ticks_comes_to_the_same_index) {
    IbCcSettings settings = sample();
    settings.minimum = 3;
    settings.trigger_threshold = 50;
    base::RandomStream random({42, 8, 0});
    IbCc lazy(settings);
    const Duration period{10'240'000};
    Instant tick = Instant{} + period;
    uint16_t index = settings.minimum;
    uint32_t events = 0;
    Instant now{};
    for (int i = 0; i < 100'000; ++i) {
        now += Duration{
            static_cast<int64_t>(random.below(random.chance(1, 50) ? 500 : 8) * 1'024'000)};
        for (; tick <= now; tick += period)
            if (index > settings.minimum) --index;
        if (random.chance(1, 4)) {
            const auto raised = std::min<uint16_t>(static_cast<uint16_t>(index + 4), 127);
            if (index < 50 && raised >= 50) ++events;
            index = raised;
            lazy.on_notification(now);
        } else {
            // At 100 Gb/s a byte takes 80 ps, and an entry is a quarter of its index.
            const int64_t packet = 1000 * 80;
            ASSERT_EQ((lazy.on_sent(now, 1000) - now).ps, packet + packet * index / 4) << i;
        }
        ASSERT_EQ(lazy.at(now).value, index) << i;
        ASSERT_EQ(lazy.at(now).events, events) << i;
    }
}

TEST(IbCc, the_delay_is_a_part_of_the_packets_own_time) {
    IbCcSettings settings = sample();
    settings.table = {0, cct_entry(1, 3)};
    settings.increase = 1;
    IbCc control(settings);
    EXPECT_EQ(control.on_sent(Instant{}, 1000), Instant{});
    control.on_notification(Instant{});
    EXPECT_EQ(control.on_sent(Instant{}, 1000), Instant{} + 200_ns);  // 80 ns and 80 ns * 3 / 2
}

TEST(IbCc, the_index_stops_at_the_end_of_the_table) {
    const IbCcSettings settings = sample();
    IbCc control(settings);
    for (int i = 0; i < 100; ++i) control.on_notification(Instant{});
    EXPECT_EQ(control.at(Instant{}).value, 127);
}

TEST(IbCc, without_a_table_nothing_is_delayed) {
    const IbCcSettings settings;
    IbCc control(settings);
    control.on_notification(Instant{});
    EXPECT_EQ(control.on_sent(Instant{}, 1000), Instant{});
}

TEST(IbCc, queue_pairs_of_a_service_level_may_share_the_index) {
    const IbCcSettings settings = sample();
    IbCcIndex shared;
    IbCc one(settings, &shared);
    IbCc other(settings, &shared);
    one.on_notification(Instant{});
    EXPECT_EQ(other.on_sent(Instant{}, 1000), Instant{} + 160_ns);
}

}  // namespace
}  // namespace tulle::transport
