#include "transport/congestion/dcqcn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/int128.h"
#include "base/random.h"
#include "transport/congestion/testing.h"

namespace tulle::transport {
namespace {

using base::Duration;
using base::Instant;
using namespace base::literals;
using Decrease = DcqcnSettings::Decrease;
using Alpha = DcqcnSettings::Alpha;
using Stage = DcqcnSettings::Stage;

constexpr uint64_t kLine = 100'000'000'000;

// The same with timers that tick: what the lazy one has to come to.
class Ticking {
public:
    explicit Ticking(const DcqcnSettings& settings)
        : s(settings), rate(s.line_rate_bps), target(s.line_rate_bps) {}

    void run_until(Instant now) {
        for (;;) {
            const Instant next = std::min({alpha_at, check_at, increase_at});
            if (next > now) return;
            tick(next);
        }
    }

    void notify(Instant now) {
        run_until(now);
        const bool first = alpha_at == Instant::never();
        if (first) {
            alpha = s.initial_alpha;
            alpha_at = now + s.alpha_interval;
            if (s.first_rate_bps != 0) rate = target = s.first_rate_bps;
        }
        if (s.decrease == Decrease::at_check) {
            if (first) check_at = now + s.decrease_interval + s.check_delay;
            came = true;
        } else if (first && s.first_rate_bps != 0) {
            start_increase(now);
            allowed_at = now + s.decrease_interval;
        } else if (now >= allowed_at) {
            lower(now);
            allowed_at = now + s.decrease_interval;
        }
        if (s.alpha == Alpha::at_tick) {
            came_for_alpha = !first;
        } else if (!first || s.decrease == Decrease::at_once) {
            alpha = alpha - part(alpha) + s.gain * (kAlphaOne / kGainOne);
            alpha_at = now + s.alpha_interval;
        }
    }

    int64_t send(Instant now, uint32_t bytes) {
        run_until(now);
        if (counts_bytes && (sent += bytes) >= s.increase_bytes) {
            sent = 0;
            step(byte_stage);
        }
        const auto distance = static_cast<int64_t>(bytes * 8'000'000'000'000u / rate);
        if (s.repace && now + Duration{distance} > increase_at) return through_ticks(now, bytes);
        return distance / s.pacing_tick.ps * s.pacing_tick.ps;
    }

    // From tick to tick, each at its own rate.
    int64_t through_ticks(Instant now, uint32_t bytes) const {
        Ticking later = *this;
        base::uint128_t left = base::uint128_t{bytes} * 8'000'000'000'000u;
        for (Instant at = now;;) {
            const Instant tick = std::min(later.check_at, later.increase_at);
            const auto passed = base::uint128_t{static_cast<uint64_t>((tick - at).ps)} * later.rate;
            if (passed >= left || later.rate == s.line_rate_bps)
                return (at - now).ps + static_cast<int64_t>(left / later.rate);
            left -= passed;
            at = tick;
            later.run_until(at);
        }
    }

    DcqcnSettings s;
    uint64_t rate;
    uint64_t target;
    uint32_t alpha = 0;

private:
    // Alpha before the rest; of the others that with the longer period.
    void tick(Instant now) {
        if (alpha_at == now) {
            alpha = alpha - part(alpha) + (came_for_alpha ? s.gain * (kAlphaOne / kGainOne) : 0);
            came_for_alpha = false;
            alpha_at += s.alpha_interval;
        }
        const bool increase_first = s.increase_interval > s.decrease_interval;
        if (increase_at == now && increase_first) increase(now);
        if (check_at == now) {
            check_at += s.decrease_interval;
            if (came) lower(now);
        }
        if (increase_at == now) increase(now);
    }

    // Rounded up, so that alpha comes down to zero.
    uint32_t part(uint32_t of) const {
        return static_cast<uint32_t>((uint64_t{of} * s.gain + kGainOne - 1) / kGainOne);
    }

    void lower(Instant now) {
        if (s.clamp_target || (s.clamp_target_after_increase && time_stage > 0)) target = rate;
        const auto by = base::uint128_t{rate} * alpha;
        const auto whole = static_cast<uint64_t>((by + 2 * kAlphaOne - 1) / (2 * kAlphaOne));
        rate = std::max(rate - whole, s.min_rate_bps);
        start_increase(now);
        came = false;
    }

    void start_increase(Instant now) {
        time_stage = byte_stage = 0;
        sent = 0;
        counts_bytes = s.increase_bytes != 0;
        if (s.increase_interval.ps != 0) increase_at = now + s.increase_interval;
    }

    void increase(Instant now) {
        increase_at = now + s.increase_interval;
        step(time_stage);
    }

    void step(int& stage) {
        if (s.stage == Stage::after_count) ++stage;
        const int a = s.increase_interval.ps != 0 ? time_stage : byte_stage;
        const int b = s.increase_bytes != 0 ? byte_stage : time_stage;
        if (std::max(a, b) >= s.fast_recovery_steps) {
            target += std::min(a, b) > s.fast_recovery_steps ? s.hyper_bps : s.additive_bps;
            target = std::min(target, s.line_rate_bps);
        }
        rate += (target - rate + 1) / 2;
        if (s.stage == Stage::before_count) ++stage;
    }

    bool came = false;
    bool came_for_alpha = false;
    bool counts_bytes = false;
    uint64_t sent = 0;
    int time_stage = 0;
    int byte_stage = 0;
    Instant alpha_at = Instant::never();
    Instant check_at = Instant::never();
    Instant increase_at = Instant::never();
    Instant allowed_at{};
};

// The 16-to-1 incast of the HPCC simulator.
DcqcnSettings checked() {
    DcqcnSettings s;
    s.min_rate_bps = 1'000'000'000;
    s.additive_bps = 20'000'000;
    s.hyper_bps = 200'000'000;
    s.alpha_interval = s.decrease_interval = 50_us;
    s.check_delay = 1_ns;
    s.increase_interval = 55_us;
    return s;
}

std::vector<DcqcnSettings> settings_to_try() {
    std::vector<DcqcnSettings> all = {checked(), testing::dcqcn_of_paper(kLine),
                                      DcqcnSettings::of_adapter(kLine)};
    for (const Decrease decrease : {Decrease::at_check, Decrease::at_once})
        for (const Alpha alpha : {Alpha::at_tick, Alpha::at_notification})
            for (const Stage stage : {Stage::before_count, Stage::after_count})
                for (const uint64_t first : {uint64_t{0}, kLine / 2}) {
                    DcqcnSettings s = testing::dcqcn_of_paper(kLine);
                    s.decrease = decrease;
                    s.alpha = alpha;
                    s.stage = stage;
                    s.first_rate_bps = first;
                    s.clamp_target = first == 0;
                    s.increase_bytes = first == 0 ? 0 : 300'000;
                    s.pacing_tick = first == 0 ? 1_ps : 1_ns;
                    all.push_back(s);
                    s.increase_interval = first == 0 ? s.decrease_interval : 0_us;
                    all.push_back(s);
                }
    return all;
}

TEST(Dcqcn, comes_to_what_ticking_timers_come_to) {
    uint32_t number = 0;
    for (const DcqcnSettings& settings : settings_to_try()) {
        base::RandomStream random({42, 7, number});
        SCOPED_TRACE(number++);
        Dcqcn lazy(settings);
        Ticking ticking(settings);
        Instant now{};
        for (int i = 0; i < 20'000; ++i) {
            // Bursts of packets, whole microseconds that meet ticks, and now and then a long rest.
            const uint64_t kind = random.below(1000);
            const uint64_t pause = kind == 0   ? random.below(40'000) * 1'000'000
                                   : kind < 50 ? random.below(100) * 1'000'000
                                               : random.below(2'000'000);
            now += Duration{static_cast<int64_t>(pause)};
            if (random.below(10) == 0) {
                lazy.on_notification(now);
                ticking.notify(now);
            } else {
                const auto bytes = static_cast<uint32_t>(64 + random.below(4096));
                ASSERT_EQ((lazy.on_sent(now, bytes) - now).ps, ticking.send(now, bytes)) << i;
            }
            ASSERT_EQ(lazy.rate_bps(), ticking.rate) << i;
            ASSERT_EQ(lazy.target_bps(), ticking.target) << i;
            // Looked at seldom, for to look is to advance.
            if (random.below(20) != 0) continue;
            ASSERT_EQ(lazy.alpha(now), ticking.alpha) << i;
        }
    }
}

TEST(Dcqcn, without_notifications_the_line_is_the_rate) {
    const DcqcnSettings settings = checked();
    Dcqcn dcqcn(settings);
    EXPECT_EQ(dcqcn.on_sent(Instant{5}, 1000).ps, 5 + 80'000);
    EXPECT_EQ(dcqcn.on_sent(Instant{} + 10_s, 1000), Instant{} + 10_s + 80_ns);
}

// By hand: g = 1/256. The first notification only starts the timers; the check 50.001 us later
// finds it and lowers the rate by half of alpha, which fell once.
TEST(Dcqcn, the_first_check_lowers_the_rate_by_half_of_alpha) {
    const DcqcnSettings settings = checked();
    Dcqcn dcqcn(settings);
    const Instant start{777};
    dcqcn.on_notification(start);
    dcqcn.advance(start + 50_us);
    EXPECT_EQ(dcqcn.rate_bps(), kLine);
    EXPECT_EQ(dcqcn.alpha(start + 50_us), kAlphaOne / 256 * 255);
    dcqcn.advance(start + 50_us + 1_ns);
    EXPECT_EQ(dcqcn.rate_bps(), 50'195'312'500u);  // 1 - 255/512
    EXPECT_EQ(dcqcn.target_bps(), kLine);
}

// By hand, from 50,195,312,500 with target 100 G: half way; at the line the target stays.
TEST(Dcqcn, the_rate_comes_back_half_of_the_way_at_each_step) {
    const DcqcnSettings settings = checked();
    Dcqcn dcqcn(settings);
    dcqcn.on_notification(Instant{});
    const Instant lowered = Instant{} + 50_us + 1_ns;
    dcqcn.advance(lowered + 55_us - 1_ps);
    EXPECT_EQ(dcqcn.rate_bps(), 50'195'312'500u);
    dcqcn.advance(lowered + 55_us);
    EXPECT_EQ(dcqcn.rate_bps(), 75'097'656'250u);
    dcqcn.advance(lowered + 110_us);
    EXPECT_EQ(dcqcn.rate_bps(), 87'548'828'125u);
}

// By hand: F = 1, so the steps are recovery, additive, hyper, hyper.
TEST(Dcqcn, recovery_then_additive_then_hyper_increase) {
    DcqcnSettings settings = checked();
    settings.clamp_target = true;
    settings.first_rate_bps = 10'000'000'000;
    settings.initial_alpha = 0;  // the check sets the target to the rate, and lowers nothing
    Dcqcn dcqcn(settings);
    dcqcn.on_notification(Instant{});
    Instant now = Instant{} + 50_us + 1_ns;
    const std::vector<uint64_t> targets = {10'000'000'000, 10'020'000'000, 10'220'000'000,
                                           10'420'000'000};
    for (const uint64_t target : targets) {
        now += 55_us;
        dcqcn.advance(now);
        EXPECT_EQ(dcqcn.target_bps(), target);
    }
}

TEST(Dcqcn, the_rate_never_falls_below_the_smallest) {
    const DcqcnSettings settings = checked();
    Dcqcn dcqcn(settings);
    Instant now{};
    for (int i = 0; i < 1000; ++i, now += 10_us) dcqcn.on_notification(now);
    EXPECT_EQ(dcqcn.rate_bps(), 1'000'000'000u);
    EXPECT_EQ(dcqcn.on_sent(now, 1000), now + 8_us);
}

TEST(Dcqcn, at_once_means_no_more_than_once_in_an_interval) {
    const DcqcnSettings settings = testing::dcqcn_of_paper(kLine);
    Dcqcn dcqcn(settings);
    dcqcn.on_notification(Instant{});
    EXPECT_EQ(dcqcn.rate_bps(), kLine / 2);
    dcqcn.on_notification(Instant{} + 49_us);
    EXPECT_EQ(dcqcn.rate_bps(), kLine / 2);
    dcqcn.on_notification(Instant{} + 50_us);
    EXPECT_EQ(dcqcn.rate_bps(), kLine / 4);
}

TEST(Dcqcn, the_byte_counter_makes_steps_too) {
    DcqcnSettings settings = testing::dcqcn_of_paper(kLine);
    settings.increase_bytes = 10'000;
    Dcqcn dcqcn(settings);
    dcqcn.on_notification(Instant{});
    for (int i = 0; i < 9; ++i) dcqcn.on_sent(Instant{}, 1000);
    EXPECT_EQ(dcqcn.rate_bps(), 50'000'000'000u);
    dcqcn.on_sent(Instant{}, 1000);
    EXPECT_EQ(dcqcn.rate_bps(), 75'000'000'000u);
}

TEST(Dcqcn, distances_are_whole_ticks_where_the_clock_has_them) {
    DcqcnSettings settings = checked();
    settings.pacing_tick = 1_ns;
    Dcqcn dcqcn(settings);
    EXPECT_EQ(dcqcn.on_sent(Instant{}, 1048), Instant{} + 83_ns);
}

TEST(DcqcnDeathTest, settings_that_mean_nothing_are_our_mistake) {
    DcqcnSettings settings = checked();
    settings.min_rate_bps = 0;
    EXPECT_DEATH(Dcqcn{settings}, "internal error");
}

// At 1 Mb/s a packet of 4,096 bytes takes 33 ms. The timer raises the rate after 300 us, half of
// the way to the target, and the rest of the packet passes at that rate.
TEST(Dcqcn, a_rate_that_rises_shortens_the_distance_that_a_slow_packet_has_left) {
    DcqcnSettings settings;
    settings.line_rate_bps = kLine;
    settings.first_rate_bps = kLine;
    settings.min_rate_bps = 1'000'000;
    settings.clamp_target_after_increase = false;
    Dcqcn dcqcn(settings);
    Instant now{};
    for (int i = 0; i < 100; ++i, now += 1_us) dcqcn.on_notification(now);
    now += 4_us;
    dcqcn.advance(now);
    ASSERT_EQ(dcqcn.rate_bps(), 1'000'000u);
    const Instant next = dcqcn.on_sent(now, 4096);
    EXPECT_LT(next - now, 301_us);
    EXPECT_GT(next - now, 290_us);
    settings.repace = false;
    EXPECT_EQ(dcqcn.on_sent(now, 4096) - now, 32'768_us);
}

}  // namespace
}  // namespace tulle::transport
