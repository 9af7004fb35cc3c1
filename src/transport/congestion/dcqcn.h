// DCQCN at the sender: the reaction point of "Congestion Control for Large-Scale RDMA Deployments"
// (SIGCOMM 2015), and its variant in adapters.
//
// A notification lowers the rate by half of alpha, a moving average of how often notifications
// come. Without them alpha falls and the rate rises: first half way back to the target (fast
// recovery); then the target rises too, by a small step (additive), and finally by a large one
// (hyper). A timer and a counter of sent bytes count the steps.
//
// None of the three timers is a real timer. Each is the instant of its next tick, and missed ticks
// are applied when needed: rate and increase when a packet is sent, alpha only when the rate is
// lowered or a notification comes. Ticks that have no further effect are skipped by one division,
// so a long rest costs a bounded number of steps. Ticks at an instant come before other events at
// that instant; of two ticks, that of the timer with the longer period comes first.
//
// Differences between the paper and adapters are settings. The paper lowers the rate at the
// notification, and updates alpha then; adapters, and the simulators that follow them, check
// periodically whether one came.
#pragma once

#include <cstdint>

#include "base/rate.h"
#include "base/time.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

// Fixed point with 30 bits.
inline constexpr uint32_t kAlphaOne = 1u << 30;
// Fixed point with 16 bits.
inline constexpr uint32_t kGainOne = 1u << 16;

// Shared by queue pairs of an adapter; must outlive them.
struct DcqcnSettings {
    enum class Decrease : uint8_t {
        at_check,  // at the end of the interval from the first notification, if one came in it
        at_once,   // at a notification, but not twice within the interval
    };
    enum class Alpha : uint8_t {
        at_tick,          // at each tick, up or down
        at_notification,  // up at a notification, which restarts the timer; down at ticks
    };
    enum class Stage : uint8_t {
        before_count,  // a step belongs to the stage that it ends: F steps of fast recovery
        after_count,   // a step belongs to the stage that it begins: F - 1
    };

    uint64_t line_rate_bps = 100'000'000'000;
    uint64_t min_rate_bps = 1'000'000;
    uint64_t first_rate_bps = 0;  // rate after the first notification; 0: no special rate
    uint64_t additive_bps = 5'000'000;
    uint64_t hyper_bps = 50'000'000;
    base::Duration alpha_interval{1'000'000};
    base::Duration decrease_interval{4'000'000};
    base::Duration check_delay{};                   // extra delay of the first check
    base::Duration increase_interval{300'000'000};  // zero: no timer
    uint32_t increase_bytes = 0;                    // zero: no byte counter
    uint32_t gain = kGainOne / 256;                 // g
    uint32_t initial_alpha = kAlphaOne;
    uint8_t fast_recovery_steps = 1;  // F
    Decrease decrease = Decrease::at_check;
    Alpha alpha = Alpha::at_tick;
    Stage stage = Stage::before_count;
    bool clamp_target = false;                // each decrease sets the target to the rate before it
    bool clamp_target_after_increase = true;  // so does one after a timer increase
    base::Duration pacing_tick{1};            // gaps are rounded down to a multiple of this
    // A rising rate shortens the remaining gap of a slow packet. Otherwise it applies from the next
    // packet on, and one packet at 1 Mb/s blocks its sender for 33 ms.
    bool repace = true;

    std::string_view set_line(base::Rate line);
    std::string_view wrong() const { return ""; }

    // The defaults of a ConnectX adapter.
    static DcqcnSettings of_adapter(uint64_t line_rate_bps);
};

class Dcqcn {
public:
    using Settings = DcqcnSettings;
    static constexpr Nature kNature{.heeds_notifications = true, .is_ecn_capable = true};

    Dcqcn() = default;
    explicit Dcqcn(const DcqcnSettings& settings);

    void on_signal(base::Instant now, const Signal& signal) {
        if (signal.is_notification()) on_notification(now);
    }
    void on_notification(base::Instant now);

    // A packet leaves now; returns when the next one may.
    base::Instant on_sent(base::Instant now, uint32_t bytes) {
        advance(now);
        if (bytes_left_ != 0) count_bytes(bytes);
        constexpr uint64_t kBitPicoseconds = 8'000'000'000'000;
        auto distance = static_cast<int64_t>(bytes * kBitPicoseconds / rate_);
        if (settings_->pacing_tick.ps > 1) distance -= distance % settings_->pacing_tick.ps;
        const base::Instant next = now + base::Duration{distance};
        if (next > next_increase_ && settings_->repace) [[unlikely]]
            return paced_through_ticks(now, bytes);
        return next;
    }

    // Applies all events until now. Optional: the other calls do it too.
    void advance(base::Instant now) {
        if (now >= next_increase_ || (is_pending_ && now >= next_check_)) catch_up(now);
    }

    uint64_t rate_bps() const { return rate_; }
    uint64_t target_bps() const { return target_; }
    uint32_t alpha(base::Instant now);

    template <class Table>
    static void describe(Table& table);

private:
    void catch_up(base::Instant now);
    void begin(base::Instant now);
    void decrease(base::Instant at);
    void restart(base::Instant at);
    void increase();
    void rest(base::Instant until);
    void count_bytes(uint32_t bytes);
    base::Instant paced_through_ticks(base::Instant now, uint32_t bytes) const;
    void advance_alpha(base::Instant now);
    void move_alpha(bool up);
    base::Instant check_due() const { return is_pending_ ? next_check_ : base::Instant::never(); }

    const DcqcnSettings* settings_ = nullptr;
    uint64_t rate_ = 0;
    uint64_t target_ = 0;
    base::Instant next_alpha_{};
    base::Instant next_check_{};  // a future tick while something is pending, else a past one
    base::Instant next_increase_ = base::Instant::never();
    uint32_t alpha_ = 0;
    uint32_t bytes_left_ = 0;  // bytes until the byte counter's next step; 0: not running
    uint8_t time_stage_ = 0;
    uint8_t byte_stage_ = 0;
    bool is_active_ : 1 = false;     // a notification has come at least once
    bool is_pending_ : 1 = false;    // a notification has come since the last check
    bool raises_alpha_ : 1 = false;  // a notification has come since the last tick of alpha
};

template <class Table>
void Dcqcn::describe(Table& table) {
    using S = Settings;
    table.bits_per_second("min_rate", &S::min_rate_bps, "the lowest rate");
    table.bits_per_second_or_off("first_rate", &S::first_rate_bps,
                                 "the rate after the first notification; off: not set");
    table.bits_per_second("additive", &S::additive_bps, "R_AI: step of additive increase");
    table.bits_per_second("hyper", &S::hyper_bps, "R_HAI: step of hyper increase");
    table.positive_duration("alpha_interval", &S::alpha_interval, "time between updates of alpha");
    table.positive_duration("decrease_interval", &S::decrease_interval,
                            "the rate decreases at most once in this time");
    table.duration("check_delay", &S::check_delay,
                   "additional delay of the first check for a notification");
    table.duration_or_off("increase_interval", &S::increase_interval,
                          "the timer that raises the rate");
    table.size("increase_bytes", &S::increase_bytes,
               "the byte counter that raises the rate; 0: none");
    table.part("gain", &S::gain, kGainOne, "g: weight of the newest sample in alpha");
    table.part("initial_alpha", &S::initial_alpha, kAlphaOne,
               "alpha before the first notification");
    table.number("fast_recovery_steps", &S::fast_recovery_steps, 1, 255,
                 "F: increases before the target rises");
    table.choice("decrease", &S::decrease,
                 {{"at_check", S::Decrease::at_check}, {"at_once", S::Decrease::at_once}},
                 "when the rate decreases: at the end of the interval (adapters), or with a "
                 "notification (the paper)");
    table.choice("alpha", &S::alpha,
                 {{"at_tick", S::Alpha::at_tick}, {"at_notification", S::Alpha::at_notification}},
                 "when alpha rises: at ticks (adapters), or with a notification (the paper)");
    table.choice("stage", &S::stage,
                 {{"before_count", S::Stage::before_count}, {"after_count", S::Stage::after_count}},
                 "whether a step belongs to the stage that it ends or to the one that it begins");
    table.yes_no("clamp_target", &S::clamp_target,
                 "every decrease sets the target to the rate before it");
    table.yes_no("clamp_target_after_increase", &S::clamp_target_after_increase,
                 "only the first decrease after an increase by the timer does");
    table.positive_duration("pacing_tick", &S::pacing_tick,
                            "gaps between packets are rounded down to a multiple of this");
    table.yes_no("repace", &S::repace,
                 "yes: a rising rate shortens the remaining gap of a slow packet; no: it applies "
                 "from the next packet on");
}

}  // namespace tulle::transport
