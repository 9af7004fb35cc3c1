#include "transport/congestion/nscc.h"

#include <algorithm>

namespace tulle::transport {
namespace {

// All of uet-htsim, sim/uec.cpp.
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

uint32_t NsccSettings::most_window() const {
    const uint64_t packets = bdp_bytes() * 3 / 2 * kNsccOne / packet_bytes;
    return static_cast<uint32_t>(std::clamp<uint64_t>(packets, kNsccOne, UINT32_MAX));
}

Nscc::Nscc(const NsccSettings& settings) : settings_(&settings), window_(settings.most_window()) {}

void Nscc::on_signal(base::Instant now, const Signal& signal) {
    const auto at = static_cast<uint32_t>(now.ps / 1000);
    if (!has_begun_) adjusted_at_ = shrunk_at_ = adapted_at_ = at;
    has_begun_ = true;
    switch (signal.kind) {
        case Signal::Kind::cnp:
        case Signal::Kind::becn: return;
        case Signal::Kind::loss:
        case Signal::Kind::timeout: met_trouble_ = true; return;
        case Signal::Kind::ack: break;
    }
    if (signal.trimmed_packets != 0) {
        met_trouble_ = true;
        const uint64_t cut = uint64_t{signal.trimmed_packets} * kNsccOne;
        window_ -= static_cast<uint32_t>(std::min<uint64_t>(cut, window_));
    }
    achieved_ += signal.acknowledged_packets;
    if (signal.acknowledged_packets != 0) acknowledge(at, signal);
    adapt_quickly(at, signal);
    keep_bounds();
}

void Nscc::acknowledge(uint32_t now, const Signal& signal) {
    const uint32_t packets = signal.acknowledged_packets;
    const bool is_ignored = ignored_ != 0;
    ignored_ -= std::min(ignored_, packets);
    if (signal.round_trip.ps > 0) {
        const uint32_t round_trip = ns_of(signal.round_trip);
        if (smallest_ns_ == 0 || round_trip < smallest_ns_) smallest_ns_ = round_trip;
        const uint32_t delay = round_trip - smallest_ns_;
        const bool is_high = delay >= settings_->target_ns();
        measure(delay, signal.marked);
        if (delay > kOutOfBounds * settings_->target_ns()) met_trouble_ = true;
        if (!signal.marked)
            grow(delay, packets);
        else if (is_high && !is_ignored)
            shrink(now);
    }
    adjust(now, packets);
}

// A long delay without a mark is that of another path, or over.
void Nscc::measure(uint32_t delay, bool is_marked) {
    const bool is_odd = !is_marked && delay > settings_->target_ns();
    const uint32_t fed = is_odd ? ns_of(settings_->base_rtt) / 4 : delay;
    const auto step = static_cast<int64_t>(fed) - static_cast<int64_t>(average_ns_);
    average_ns_ = static_cast<uint32_t>(static_cast<int64_t>(average_ns_) + step / kAverageOver);
}

void Nscc::grow(uint32_t delay, uint32_t packets) {
    const uint32_t target = settings_->target_ns();
    const uint64_t step = delay < target
                              ? kProportional * settings_->scale() * (target - delay) / kScaleNs
                              : kFair * settings_->scale();
    pending_ += step * packets;
    grow_fast(delay, packets);
}

void Nscc::grow_fast(uint32_t delay, uint32_t packets) {
    without_queue_ = delay < kNoQueueNs ? without_queue_ + packets : 0;
    if (without_queue_ < window_packets()) return;
    const uint64_t more = settings_->scale() * packets / kFastQuarter;
    window_ = static_cast<uint32_t>(std::min<uint64_t>(window_ + more, settings_->most_window()));
}

void Nscc::shrink(uint32_t now) {
    without_queue_ = 0;
    const uint32_t target = settings_->target_ns();
    if (now - shrunk_at_ < ns_of(settings_->base_rtt) || average_ns_ <= target) return;
    shrunk_at_ = now;
    const uint64_t cut =
        uint64_t{window_} * kGammaTenths * (average_ns_ - target) / (uint64_t{10} * average_ns_);
    window_ -= static_cast<uint32_t>(std::min<uint64_t>(cut, window_ / 2));
}

void Nscc::adjust(uint32_t now, uint32_t packets) {
    since_adjusted_ += packets;
    const bool is_a_round_trip = now - adjusted_at_ >= ns_of(settings_->base_rtt);
    if (!is_a_round_trip && since_adjusted_ < kAdjustPackets) return;
    uint64_t more = pending_ / window_packets();
    if (is_a_round_trip) more += settings_->scale() * kEtaHundredths / 100;
    if (is_a_round_trip) adjusted_at_ = now;
    window_ = static_cast<uint32_t>(std::min<uint64_t>(window_ + more, settings_->most_window()));
    pending_ = since_adjusted_ = 0;
}

void Nscc::adapt_quickly(uint32_t now, const Signal& signal) {
    const uint32_t period = ns_of(settings_->base_rtt) + settings_->target_ns();
    if (now - adapted_at_ < period) return;
    const uint64_t achieved = uint64_t{achieved_} * kNsccOne;
    if (met_trouble_ && achieved < settings_->most_window() / kFewParts) {
        window_ = static_cast<uint32_t>(achieved);
        ignored_ = signal.packets_in_flight;
        pending_ = 0;
    }
    adapted_at_ = now;
    achieved_ = 0;
    met_trouble_ = false;
}

void Nscc::keep_bounds() {
    window_ = std::clamp(window_, kNsccOne, settings_->most_window());
}

}  // namespace tulle::transport
