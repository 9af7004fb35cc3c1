// DCQCN, what the sender does: the reaction point of "Congestion Control for Large-Scale RDMA
// Deployments" (SIGCOMM 2015), and as adapters do it.
//
// A notification lowers the rate by half of alpha, an average of how often notifications come;
// without them alpha falls and the rate rises: first half way back to the target (fast recovery),
// then the target rises too, by a small step (additive) and at last by a large one (hyper). What
// counts the steps is a timer, and bytes that were sent.
//
// None of the three timers exists. Each is the instant of its next tick, and what was missed is
// made up for when it is needed: rate and increase when a packet is sent, alpha only when the rate
// is lowered or a notification comes. Ticks that can change nothing any more are skipped by one
// division, so a long rest costs no more than a bounded number of steps. Ticks at an instant come
// before whatever else happens then; of two ticks, that of the timer with the longer period.
//
// Where the paper and adapters do not agree it is a setting. The paper lowers the rate with the
// notification and moves alpha then; adapters, and the simulators that follow them, look every so
// often whether one came.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tulle::transport {

// Parts of one, in 30 bits.
inline constexpr uint32_t kAlphaOne = 1u << 30;
// Parts of one, in 16 bits.
inline constexpr uint32_t kGainOne = 1u << 16;

// One for all queue pairs of an adapter that share them; it outlives them.
struct DcqcnSettings {
    enum class Decrease : uint8_t {
        at_check,  // when the interval ends, counted from the first notification, if one came in it
        at_once,   // with a notification, but not twice within the interval
    };
    enum class Alpha : uint8_t {
        at_tick,          // at every tick, up or down
        at_notification,  // up with a notification, which also starts the timer anew; down at ticks
    };
    enum class Stage : uint8_t {
        before_count,  // a step belongs to the stage that it ends: F steps of fast recovery
        after_count,   // to the stage that it begins: F - 1
    };

    uint64_t line_rate_bps = 100'000'000'000;
    uint64_t min_rate_bps = 1'000'000;
    uint64_t first_rate_bps = 0;  // what the first notification sets; 0: it sets nothing
    uint64_t additive_bps = 5'000'000;
    uint64_t hyper_bps = 50'000'000;
    base::Duration alpha_interval{1'000'000};
    base::Duration decrease_interval{4'000'000};
    base::Duration check_delay{};                   // the first check comes so much later
    base::Duration increase_interval{300'000'000};  // zero: no timer
    uint32_t increase_bytes = 0;                    // zero: no byte counter
    uint32_t gain = kGainOne / 256;                 // g
    uint32_t initial_alpha = kAlphaOne;
    uint8_t fast_recovery_steps = 1;  // F
    Decrease decrease = Decrease::at_check;
    Alpha alpha = Alpha::at_tick;
    Stage stage = Stage::before_count;
    bool clamp_target = false;                // every decrease sets the target to the rate before
    bool clamp_target_after_increase = true;  // one after which the timer had raised the rate does
    base::Duration pacing_tick{1};            // distances are rounded down to a multiple of this
    // A rate that rises shortens the distance that a slow packet has left; else it counts from the
    // next packet on, and one packet at 1 Mb/s holds up its sender for 33 ms.
    bool repace = true;

    // The paper's, for a line of this rate.
    static DcqcnSettings of_paper(uint64_t line_rate_bps);
    // As a ConnectX adapter comes.
    static DcqcnSettings of_adapter(uint64_t line_rate_bps);
};

class Dcqcn {
public:
    Dcqcn() = default;
    explicit Dcqcn(const DcqcnSettings& settings);

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

    // Makes up for what happened until now. It need not be called; the others do.
    void advance(base::Instant now) {
        if (now >= next_increase_ || (is_pending_ && now >= next_check_)) catch_up(now);
    }

    uint64_t rate_bps() const { return rate_; }
    uint64_t target_bps() const { return target_; }
    uint32_t alpha(base::Instant now);

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
    base::Instant next_check_{};  // a tick of it while something is pending, else one of the past
    base::Instant next_increase_ = base::Instant::never();
    uint32_t alpha_ = 0;
    uint32_t bytes_left_ = 0;  // until the byte counter makes a step; 0: it does not run
    uint8_t time_stage_ = 0;
    uint8_t byte_stage_ = 0;
    bool is_active_ : 1 = false;     // a notification has come, ever
    bool is_pending_ : 1 = false;    // one has come since the last check
    bool raises_alpha_ : 1 = false;  // one has come since the last tick of alpha
};
static_assert(sizeof(Dcqcn) <= 64);

}  // namespace tulle::transport
