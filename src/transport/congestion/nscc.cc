#include "transport/congestion/nscc.h"

#include <algorithm>

namespace tulle::transport {
namespace {

// All from uet-htsim, sim/uec.cpp.
constexpr uint64_t kScaleBytes = 150'000;  // BDP at which the scale is one
constexpr uint64_t kScaleNs = 12'000;      // target at which a step is as written
constexpr uint64_t kProportional = 4;      // packets
constexpr uint64_t kFair = 5;              // packets
constexpr uint64_t kEtaHundredths = 15;    // of a packet
constexpr uint64_t kFastQuarter = 4;       // a quarter of what was acknowledged
constexpr uint64_t kGammaTenths = 8;
constexpr uint32_t kAverageOver = 80;  // 0.0125
constexpr uint32_t kNoQueueNs = 1'000;
constexpr uint32_t kAdjustPackets = 8;
constexpr uint32_t kOutOfBounds = 4;  // times the target
constexpr uint32_t kFewParts = 8;     // of the largest window

uint32_t ns_of(base::Duration duration) {
    return static_cast<uint32_t>(duration.ps / 1000);
}

}  // namespace

uint64_t NsccSettings::bdp_bytes() const {
    return line_rate_bps / 8'000 * ns_of(base_rtt) / 1'000'000;
}

uint32_t NsccSettings::target_ns() const {
    return target.ps != 0 ? ns_of(target) : ns_of(base_rtt) / 4 * 3;
}

uint64_t NsccSettings::scale() const {
    return bdp_bytes() * kNsccOne / kScaleBytes;
}

uint32_t NsccSettings::most_window(uint64_t round_trip_ns) const {
    const uint64_t bytes = line_rate_bps / 8'000 * round_trip_ns / 1'000'000 * 3 / 2;
    const uint64_t packets = bytes * kNsccOne / packet_bytes;
    return static_cast<uint32_t>(std::clamp<uint64_t>(packets, kNsccOne, UINT32_MAX));
}

Nscc::Nscc(const NsccSettings& settings)
    : settings_(&settings), smallest_ns_(ns_of(settings.base_rtt)) {
    window_ = settings.most_window(smallest_ns_);
}

void Nscc::on_signal(base::Instant now, const Signal& signal) {
    const auto at = static_cast<uint32_t>(now.ps / 1000);
    if (!has_begun_) {
        adjusted_at_ = at;
        shrunk_at_ = at - smallest_ns_ - 1;
        adapts_at_ = at + smallest_ns_ + settings_->target_ns();
        has_begun_ = true;
    }
    switch (signal.kind) {
        case Signal::Kind::cnp:
        case Signal::Kind::back_pressure: return;
        case Signal::Kind::becn: was_told_ = true; return;
        case Signal::Kind::loss: met_trouble_ = true; return;
        case Signal::Kind::timeout:
            met_trouble_ = true;
            window_ -= std::min(window_, kNsccOne);
            return keep_bounds();
        case Signal::Kind::ack: break;
    }
    note_round_trip(signal.trimmed_round_trip);
    if (signal.trimmed_packets != 0)
        on_trimmed(at, signal.trimmed_packets, signal.packets_in_flight);
    if (signal.acknowledged_packets != 0) acknowledge(at, signal);
    was_told_ = false;
    keep_bounds();
}

// A trimmed packet met a full queue: it counts as the longest delay.
void Nscc::on_trimmed(uint32_t now, uint32_t packets, uint32_t in_flight) {
    met_trouble_ = true;
    for (uint32_t i = 0; i < packets; ++i) {
        ignored_ -= std::min(ignored_, 1u);
        measure(ns_of(settings_->base_rtt), true);
        if (!adapts_quickly(now, true, true, in_flight)) window_ -= std::min(window_, kNsccOne);
    }
}

void Nscc::note_round_trip(base::Duration round_trip) {
    if (round_trip.ps > 0) smallest_ns_ = std::min(smallest_ns_, ns_of(round_trip));
}

void Nscc::acknowledge(uint32_t now, const Signal& signal) {
    const uint32_t packets = signal.acknowledged_packets;
    const bool is_marked = signal.marked || was_told_;
    achieved_ += packets;
    since_adjusted_ += packets;
    ignored_ -= std::min(ignored_, packets);
    note_round_trip(signal.round_trip);
    uint32_t delay = average_ns_;  // if this answer has no round trip
    if (signal.round_trip.ps > 0) {
        delay = ns_of(signal.round_trip) - smallest_ns_;
        measure(delay, is_marked);
    }
    const uint32_t target = settings_->target_ns();
    if (adapts_quickly(now, delay > kOutOfBounds * target, is_marked, signal.packets_in_flight))
        return;
    if (!is_marked)
        grow(delay, packets);
    else if (delay >= target)
        shrink(now);
    keep_bounds();
    adjust(now);
}

// A long delay without a mark belongs to another path, or is over.
void Nscc::measure(uint32_t delay, bool is_marked) {
    const bool is_odd = !is_marked && delay > settings_->target_ns();
    const uint32_t fed = is_odd ? smallest_ns_ / 4 : delay;
    const auto step = static_cast<int64_t>(fed) - static_cast<int64_t>(average_ns_);
    average_ns_ = static_cast<uint32_t>(static_cast<int64_t>(average_ns_) + step / kAverageOver);
}

void Nscc::grow(uint32_t delay, uint32_t packets) {
    const uint32_t target = settings_->target_ns();
    if (delay < target && grows_fast(delay, packets)) return;
    const uint64_t step = delay < target
                              ? kProportional * settings_->scale() * (target - delay) / kScaleNs
                              : kFair * settings_->scale();
    pending_ += step * packets;
}

// Begins after a whole window without a queue, and lasts as long as there is none.
bool Nscc::grows_fast(uint32_t delay, uint32_t packets) {
    without_queue_ = delay < kNoQueueNs ? without_queue_ + packets : 0;
    is_growing_fast_ =
        delay < kNoQueueNs && (is_growing_fast_ || without_queue_ > window_packets());
    if (is_growing_fast_)
        window_ += static_cast<uint32_t>(settings_->scale() * packets / kFastQuarter);
    return is_growing_fast_;
}

void Nscc::shrink(uint32_t now) {
    without_queue_ = 0;
    is_growing_fast_ = false;
    const uint32_t target = settings_->target_ns();
    if (now - shrunk_at_ <= smallest_ns_ || average_ns_ <= target) return;
    shrunk_at_ = now;
    const uint64_t cut =
        uint64_t{window_} * kGammaTenths * (average_ns_ - target) / (uint64_t{10} * average_ns_);
    window_ -= static_cast<uint32_t>(std::min<uint64_t>(cut, window_ / 2));
}

void Nscc::adjust(uint32_t now) {
    const bool is_a_round_trip = now - adjusted_at_ >= ns_of(settings_->base_rtt);
    if (!is_a_round_trip && since_adjusted_ <= kAdjustPackets) return;
    uint64_t more = pending_ * kNsccOne / std::max(window_, kNsccOne);
    if (is_a_round_trip) more += settings_->scale() * kEtaHundredths / 100;
    if (is_a_round_trip) adjusted_at_ = now;
    const uint64_t most = settings_->most_window(smallest_ns_);
    window_ = static_cast<uint32_t>(std::min<uint64_t>(window_ + more, most));
    pending_ = since_adjusted_ = 0;
}

// Whether the window became what was delivered, or this mark or trim is one of those to be ignored
// after that.
bool Nscc::adapts_quickly(uint32_t now, bool is_trouble, bool is_marked, uint32_t in_flight) {
    bool is_done = false;
    if (ignored_ != 0 && is_marked) {
        is_done = true;
    } else if (static_cast<int32_t>(now - adapts_at_) > 0) {
        const uint64_t achieved = uint64_t{achieved_} * kNsccOne;
        const bool is_little = achieved < settings_->most_window(smallest_ns_) / kFewParts;
        if ((met_trouble_ || is_trouble) && is_little) {
            window_ = std::max(static_cast<uint32_t>(achieved), kNsccOne);
            ignored_ = in_flight;
            met_trouble_ = false;
            is_done = true;
        }
        achieved_ = 0;
        adapts_at_ = now + smallest_ns_ + settings_->target_ns();
    }
    if (is_done) pending_ = since_adjusted_ = 0;
    return is_done;
}

void Nscc::keep_bounds() {
    window_ = std::clamp(window_, kNsccOne, settings_->most_window(smallest_ns_));
}

}  // namespace tulle::transport
