#include "transport/congestion/swift.h"

#include <algorithm>

namespace tulle::transport {
namespace {

// The integer square root, by bisection.
uint64_t root_of(uint64_t square) {
    uint64_t low = 0;
    uint64_t high = uint64_t{1} << 32;
    while (high - low > 1) {
        const uint64_t middle = (low + high) / 2;
        (middle * middle <= square ? low : high) = middle;
    }
    return low;
}

// One over the root of a window, in 28 bits; windows are in fractions of a packet.
int64_t one_over_root(uint64_t window) {
    const uint64_t root = root_of(window * kSwiftOne);  // in fractions of one
    return static_cast<int64_t>((uint64_t{1} << 44) / std::max<uint64_t>(1, root));
}

}  // namespace

Swift::Swift(const SwiftSettings& settings)
    : settings_(&settings),
      window_(uint64_t{settings.initial_window} * kSwiftOne),
      scaling_high_(one_over_root(settings.scaling_least)),
      scaling_low_(one_over_root(uint64_t{settings.scaling_most} * kSwiftOne)) {}

// Flow scaling: the addition to the target falls with the root of the window, from the whole range
// at the least window to zero at the most.
base::Duration Swift::target() const {
    const int64_t here = std::clamp(one_over_root(window_), scaling_low_, scaling_high_);
    const int64_t nanoseconds = settings_->scaling_range.ps / 1000;
    const int64_t added = nanoseconds * (here - scaling_low_) / (scaling_high_ - scaling_low_);
    return settings_->target + base::Duration{added * 1000};
}

void Swift::on_signal(base::Instant now, const Signal& signal) {
    if (signal.round_trip.ps > 0) round_trip_ = signal.round_trip;
    switch (signal.kind) {
        case Signal::Kind::cnp:
        case Signal::Kind::becn:
        case Signal::Kind::back_pressure: return;
        case Signal::Kind::ack: return acknowledge(now, signal.acknowledged_packets);
        case Signal::Kind::loss: timeouts_ = 0; return cut(now, settings_->most_cut);
        case Signal::Kind::timeout:
            if (timeouts_ < UINT8_MAX) ++timeouts_;
            if (timeouts_ >= settings_->timeouts_before_least) window_ = settings_->least_window;
            return cut(now, settings_->most_cut);
    }
}

void Swift::acknowledge(base::Instant now, uint32_t packets) {
    timeouts_ = 0;
    if (round_trip_.ps == 0 || packets == 0) return;
    const base::Duration aim = target();
    if (round_trip_ >= aim) {
        const auto part = static_cast<uint64_t>((round_trip_.ps - aim.ps) / 1000 * settings_->beta /
                                                (round_trip_.ps / 1000 + 1));
        return cut(now, std::min<uint64_t>(part, settings_->most_cut));
    }
    const uint64_t grown = uint64_t{settings_->increase} * packets * kSwiftOne;
    window_ += window_ >= kSwiftOne ? grown * kSwiftOne / window_ : grown;
    keep_bounds();
}

void Swift::cut(base::Instant now, uint64_t part) {
    if (!may_cut(now)) return;
    cut_at_ = now;
    window_ -= window_ * part / kSwiftOne;
    keep_bounds();
}

void Swift::keep_bounds() {
    window_ = std::clamp<uint64_t>(window_, std::max(1u, settings_->least_window),
                                   uint64_t{settings_->most_window} * kSwiftOne);
}

}  // namespace tulle::transport
