#include "transport/congestion/hpcc.h"

#include <algorithm>

#include "base/int128.h"
#include "wire/telemetry.h"

namespace tulle::transport {
namespace {

// Bits per second times picoseconds, to bytes.
constexpr uint64_t kWindowDivisor = 8'000'000'000'000;

// `time` as a fraction of `whole`, in units of 2^-20; limited to sixteen times the whole.
uint64_t part_of(base::Duration time, base::Duration whole) {
    const int64_t most = 16 * whole.ps;
    return static_cast<uint64_t>(base::uint128_t(std::min(time.ps, most)) * kHpccOne /
                                 static_cast<uint64_t>(whole.ps));
}

struct HopUse {
    uint64_t part = 0;          // fraction of what the link holds in a round trip
    base::Duration interval{};  // between its two measurements
};

HopUse use_of(const wire::HopTelemetry& now, const wire::HopTelemetry& before,
              base::Duration round_trip) {
    const base::Duration interval = now.at - before.at;
    if (interval.ps <= 0) return {};
    const uint32_t queue = std::min(now.queue_bytes, before.queue_bytes);
    const base::Duration busy = now.rate.time_for(now.sent_bytes - before.sent_bytes);
    return {part_of(now.rate.time_for(queue), round_trip) + part_of(busy, interval), interval};
}

}  // namespace

uint64_t HpccSettings::window_of(uint64_t bits_per_second) const {
    return static_cast<uint64_t>(base::uint128_t(bits_per_second) *
                                 static_cast<uint64_t>(base_rtt.ps) * 256 / kWindowDivisor);
}

Hpcc::Hpcc(const HpccSettings& settings)
    : settings_(&settings),
      window_(settings.window_of(settings.line_rate_bps)),
      reference_(window_) {}

base::Instant Hpcc::on_sent(base::Instant now, uint32_t bytes) {
    packet_bytes_ = std::max(packet_bytes_, bytes);
    const auto gap = base::uint128_t(bytes) * static_cast<uint64_t>(settings_->base_rtt.ps)
                     << kFraction;
    return now + base::Duration{static_cast<int64_t>(gap / window_)};
}

// The last packet may exceed the window.
uint32_t Hpcc::window_packets() const {
    if (packet_bytes_ <= settings_->uncounted_bytes) return UINT32_MAX - 1;
    const uint64_t packet = uint64_t{packet_bytes_ - settings_->uncounted_bytes} << kFraction;
    return static_cast<uint32_t>(std::max<uint64_t>(1, (window_ + packet - 1) / packet));
}

void Hpcc::on_signal(base::Instant, const Signal& signal) {
    if (signal.kind != Signal::Kind::ack) return;
    acknowledged_ += signal.acknowledged_packets;
    const uint32_t sent = acknowledged_ + signal.packets_in_flight;
    if (signal.telemetry == nullptr) return;
    if (!has_begun_) {
        has_begun_ = true;
        round_end_ = sent;
    }
    const wire::Telemetry* before = signal.telemetry_before;
    if (before == nullptr || !signal.telemetry->is_of_path(*before)) return;
    const bool is_full_round = static_cast<int32_t>(acknowledged_ - round_end_) > 0;
    if (!is_full_round && !settings_->each_answer) return;
    measure(signal);
    move_window(is_full_round);
    if (is_full_round) round_end_ = sent;
}

// U: the fullest hop, weighted by the time between its two measurements.
void Hpcc::measure(const Signal& signal) {
    const auto now = signal.telemetry->hops();
    const auto before = signal.telemetry_before->hops();
    const base::Duration round_trip = settings_->base_rtt;
    HopUse fullest;
    for (size_t i = 0; i < now.size(); ++i) {
        const HopUse use = use_of(now[i], before[i], round_trip);
        if (use.part > fullest.part) fullest = use;
    }
    const auto weight = static_cast<uint64_t>(std::min(fullest.interval, round_trip).ps);
    const auto whole = static_cast<uint64_t>(round_trip.ps);
    const base::uint128_t sum =
        base::uint128_t(utilisation_) * (whole - weight) + base::uint128_t(fullest.part) * weight;
    utilisation_ = static_cast<uint32_t>(sum / whole);
}

void Hpcc::move_window(bool is_full_round) {
    const uint64_t added = uint64_t{settings_->additive_bytes} << kFraction;
    const bool in_proportion =
        utilisation_ >= settings_->utilisation || stage_ >= settings_->max_stage;
    uint64_t window = reference_;
    if (in_proportion)
        window = static_cast<uint64_t>(base::uint128_t(reference_) * settings_->utilisation /
                                       std::max(1u, utilisation_));
    window_ = bounded(window + added);
    if (!is_full_round) return;
    reference_ = window_;
    stage_ = in_proportion ? uint8_t{0} : static_cast<uint8_t>(stage_ + 1);
}

uint64_t Hpcc::bounded(uint64_t window) const {
    const uint64_t most = settings_->window_of(settings_->line_rate_bps);
    const uint64_t least = std::min(most, settings_->window_of(settings_->min_rate_bps));
    return std::clamp(window, std::max<uint64_t>(1, least), most);
}

}  // namespace tulle::transport
