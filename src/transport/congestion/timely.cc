#include "transport/congestion/timely.h"

#include <algorithm>

#include "base/int128.h"

namespace tulle::transport {

std::string_view TimelySettings::set_line(base::Rate line) {
    line_rate_bps = line.whole_bits_per_second();
    const bool is_wrong = min_rate_bps > line_rate_bps;
    return is_wrong ? "timely.min_rate is above the rate of the hosts' links" : "";
}

void Timely::on_round_trip(base::Duration round_trip) {
    const TimelySettings& s = *settings_;
    if (last_.ps == 0) {
        last_ = round_trip;
        return;
    }
    // Limits a difference so that the product fits in 64 bits. The limit is far beyond what the
    // rate can follow: the slope is then a thousand times the smallest round trip.
    const int64_t most = s.smallest.ps * 1000;
    const int64_t newest = std::clamp(round_trip.ps - last_.ps, -most, most);
    last_ = round_trip;
    difference_.ps = ((kTimelyOne - s.weight) * difference_.ps + s.weight * newest) / kTimelyOne;
    const int64_t slope = gradient();
    const bool between = round_trip >= s.low && round_trip <= s.high;
    if (!between || slope > 0)
        falling_ = 0;
    else if (falling_ < UINT8_MAX)
        ++falling_;
    if (round_trip < s.low)
        add(1);
    else if (round_trip > s.high)
        lower(s.beta * (round_trip.ps - s.high.ps) / round_trip.ps);
    else if (slope <= 0)
        add(falling_ >= s.hyper_after ? s.hyper_steps : 1);
    else
        lower(s.beta * slope / kTimelyOne);
}

void Timely::add(uint64_t steps) {
    rate_ = std::min(rate_ + steps * settings_->step_bps, settings_->line_rate_bps);
}

// Lowers the rate by this fraction of itself.
void Timely::lower(int64_t part) {
    const auto kept = static_cast<uint64_t>(std::max<int64_t>(kTimelyOne - part, 0));
    const base::uint128_t lowered = base::uint128_t{rate_} * kept / uint64_t{kTimelyOne};
    rate_ = std::max(static_cast<uint64_t>(lowered), settings_->min_rate_bps);
}

}  // namespace tulle::transport
