#include "transport/congestion/dcqcn.h"

#include <algorithm>

#include "base/int128.h"

namespace tulle::transport {
namespace {

using base::Duration;
using base::Instant;

constexpr int64_t kMaxStage = UINT8_MAX;

uint8_t later_stage(uint8_t stage, int64_t steps) {
    return static_cast<uint8_t>(std::min(stage + steps, kMaxStage));
}

// The number of ticks from `next` to `until`, inclusive.
int64_t ticks_until(Instant next, Instant until, Duration interval) {
    return until < next ? 0 : (until - next) / interval + 1;
}

}  // namespace

std::string_view DcqcnSettings::set_line(base::Rate line) {
    line_rate_bps = line.whole_bits_per_second();
    const bool is_wrong = min_rate_bps > line_rate_bps;
    return is_wrong ? "dcqcn.min_rate is above the rate of the hosts' links" : "";
}

DcqcnSettings DcqcnSettings::of_adapter(uint64_t line_rate_bps) {
    DcqcnSettings s;
    s.line_rate_bps = line_rate_bps;
    s.first_rate_bps = line_rate_bps / 100 * 85;
    s.increase_bytes = 32767 * 64;
    s.gain = kGainOne / 1024 * (1024 - 1019);
    s.initial_alpha = kAlphaOne / 1024 * 1023;
    return s;
}

Dcqcn::Dcqcn(const DcqcnSettings& settings)
    : settings_(&settings), rate_(settings.line_rate_bps), target_(settings.line_rate_bps) {
    TULLE_CHECK(settings.min_rate_bps != 0 && settings.min_rate_bps <= settings.line_rate_bps);
    TULLE_CHECK(settings.alpha_interval.ps > 0 && settings.decrease_interval.ps > 0);
    TULLE_CHECK(settings.gain <= kGainOne && settings.initial_alpha <= kAlphaOne);
}

uint32_t Dcqcn::alpha(Instant now) {
    advance(now);
    advance_alpha(now);
    return alpha_;
}

void Dcqcn::on_notification(Instant now) {
    advance(now);
    if (!is_active_) return begin(now);
    advance_alpha(now);
    if (settings_->decrease == DcqcnSettings::Decrease::at_once) {
        if (now >= next_check_) decrease(now);
    } else if (!is_pending_) {
        next_check_ += settings_->decrease_interval *
                       ticks_until(next_check_, now, settings_->decrease_interval);
        is_pending_ = true;
    }
    raises_alpha_ = settings_->alpha == DcqcnSettings::Alpha::at_tick;
    if (raises_alpha_) return;
    move_alpha(true);
    next_alpha_ = now + settings_->alpha_interval;
}

// The first notification starts all timers.
void Dcqcn::begin(Instant now) {
    is_active_ = true;
    alpha_ = settings_->initial_alpha;
    next_alpha_ = now + settings_->alpha_interval;
    if (settings_->first_rate_bps != 0)
        rate_ = target_ = std::min(settings_->first_rate_bps, settings_->line_rate_bps);
    if (settings_->decrease == DcqcnSettings::Decrease::at_check) {
        next_check_ = now + settings_->decrease_interval + settings_->check_delay;
        is_pending_ = true;
        return;
    }
    if (settings_->first_rate_bps == 0)
        decrease(now);
    else
        restart(now);
    if (settings_->alpha == DcqcnSettings::Alpha::at_notification) move_alpha(true);
}

void Dcqcn::catch_up(Instant now) {
    const bool increase_first = settings_->increase_interval > settings_->decrease_interval;
    for (;;) {
        const Instant check = check_due();
        if (std::min(check, next_increase_) > now) return;
        const bool increases =
            next_increase_ < check || (next_increase_ == check && increase_first);
        if (!increases) {
            decrease(check);
        } else if (rate_ == settings_->line_rate_bps) {
            rest(std::min(now, increase_first ? check : check - Duration{1}));
        } else {
            next_increase_ += settings_->increase_interval;
            if (settings_->stage == DcqcnSettings::Stage::after_count)
                time_stage_ = later_stage(time_stage_, 1);
            increase();
            if (settings_->stage == DcqcnSettings::Stage::before_count)
                time_stage_ = later_stage(time_stage_, 1);
        }
    }
}

// At line rate, ticks only count stages.
void Dcqcn::rest(Instant until) {
    const int64_t ticks = ticks_until(next_increase_, until, settings_->increase_interval);
    next_increase_ += settings_->increase_interval * ticks;
    time_stage_ = later_stage(time_stage_, ticks);
}

void Dcqcn::decrease(Instant at) {
    const DcqcnSettings& s = *settings_;
    advance_alpha(at);
    if (s.clamp_target || (s.clamp_target_after_increase && time_stage_ != 0)) target_ = rate_;
    const base::uint128_t kept = base::uint128_t{rate_} * (2 * kAlphaOne - alpha_);
    rate_ = std::max(s.min_rate_bps, static_cast<uint64_t>(kept / (2 * kAlphaOne)));
    restart(at);
}

// The rate was set: it rises from there.
void Dcqcn::restart(Instant at) {
    time_stage_ = byte_stage_ = 0;
    bytes_left_ = settings_->increase_bytes;
    if (settings_->increase_interval.ps != 0) next_increase_ = at + settings_->increase_interval;
    next_check_ = at + settings_->decrease_interval;
    is_pending_ = false;
}

// One step of the timer or of the byte counter. If only one of them runs, it counts for both.
void Dcqcn::increase() {
    const DcqcnSettings& s = *settings_;
    const uint8_t time_stage = s.increase_interval.ps != 0 ? time_stage_ : byte_stage_;
    const uint8_t byte_stage = s.increase_bytes != 0 ? byte_stage_ : time_stage_;
    if (std::min(time_stage, byte_stage) > s.fast_recovery_steps)
        target_ += s.hyper_bps;
    else if (std::max(time_stage, byte_stage) >= s.fast_recovery_steps)
        target_ += s.additive_bps;
    target_ = std::min(target_, s.line_rate_bps);
    rate_ = (rate_ + target_ + 1) / 2;
}

void Dcqcn::count_bytes(uint32_t bytes) {
    if (bytes < bytes_left_) {
        bytes_left_ -= bytes;
        return;
    }
    bytes_left_ = settings_->increase_bytes;
    if (settings_->stage == DcqcnSettings::Stage::after_count)
        byte_stage_ = later_stage(byte_stage_, 1);
    increase();
    if (settings_->stage == DcqcnSettings::Stage::before_count)
        byte_stage_ = later_stage(byte_stage_, 1);
}

// When the bits of a packet have been sent, at the rates of the coming ticks, as far as they are
// known. A notification in the meantime takes effect with the next packet.
Instant Dcqcn::paced_through_ticks(Instant now, uint32_t bytes) const {
    constexpr uint64_t kBitPicoseconds = 8'000'000'000'000;
    Dcqcn later = *this;
    base::uint128_t left = base::uint128_t{bytes} * kBitPicoseconds;
    for (Instant at = now;;) {
        const Instant end = at + Duration{static_cast<int64_t>(left / later.rate_)};
        const Instant tick = std::min(later.next_increase_, later.check_due());
        if (end <= tick || later.rate_ == settings_->line_rate_bps) return end;
        left -= base::uint128_t{static_cast<uint64_t>((tick - at).ps)} * later.rate_;
        at = tick;
        later.advance(at);
    }
}

void Dcqcn::advance_alpha(Instant now) {
    const int64_t ticks = ticks_until(next_alpha_, now, settings_->alpha_interval);
    if (ticks == 0) return;
    next_alpha_ += settings_->alpha_interval * ticks;
    move_alpha(raises_alpha_);
    raises_alpha_ = false;
    for (int64_t i = 1; i < ticks && alpha_ != 0; ++i) move_alpha(false);
}

void Dcqcn::move_alpha(bool up) {
    const uint64_t kept = uint64_t{alpha_} * (kGainOne - settings_->gain) / kGainOne;
    alpha_ = static_cast<uint32_t>(kept) + (up ? settings_->gain * (kAlphaOne / kGainOne) : 0);
}

}  // namespace tulle::transport
