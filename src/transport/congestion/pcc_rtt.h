// A rate that follows the round trip, after the public template of adapters' programmable
// congestion control (NVIDIA DOCA PCC, sample rtt_template). Once per round trip, the rate falls by
// a fraction of itself if the round trip is above that of an idle network, and otherwise rises by a
// fraction of the line rate. Notifications and losses make it fall further.
//
// The default algorithm of adapters (ZTR-RTT) is not public; this template is what its makers
// publish as a start. Fractions have 20 bits, as the rate of the template does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/rate.h"
#include "base/time.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

inline constexpr uint32_t kPccOne = 1u << 20;

// Shared by queue pairs of an adapter; must outlive them.
struct PccRttSettings {
    base::Duration base_rtt{13'000'000};     // the template's
    base::Duration most_delay{150'000'000};  // the template's
    uint32_t step = kPccOne / 10;            // u: of the rate, at a decrease
    uint32_t increase = kPccOne / 20;        // of the line
    uint32_t floor = kPccOne >> 14;          // of the line
    uint64_t line_rate_bps = 400'000'000'000;

    std::string_view set_line(base::Rate line) {
        line_rate_bps = line.whole_bits_per_second();
        return "";
    }
    std::string_view wrong() const {
        if (step == 0 || step > kPccOne / 5) return "pcc_rtt.step is not above 0 and at most 0.2";
        return base_rtt > most_delay ? "pcc_rtt.base_rtt is above pcc_rtt.most_delay" : "";
    }
};

class PccRtt {
public:
    using Settings = PccRttSettings;
    static constexpr Nature kNature{
        .heeds_notifications = true,
        .is_ecn_capable = true,
        .without_answers = "no acknowledgement gives pcc_rtt a round trip",
    };

    PccRtt() = default;
    explicit PccRtt(const PccRttSettings& settings) : settings_(&settings) {}

    void on_signal(base::Instant now, const Signal& signal) {
        if (signal.is_notification()) was_notified_ = true;
        if (signal.kind == Signal::Kind::loss || signal.kind == Signal::Kind::timeout)
            has_lost_ = true;
        const base::Duration round_trip = signal.round_trip;
        if (round_trip.ps <= 0 || now - measured_at_ < round_trip) return;
        measured_at_ = now;
        on_round_trip(round_trip);
    }

    base::Instant on_sent(base::Instant now, uint32_t bytes) const {
        constexpr uint64_t kBitPicoseconds = 8'000'000'000'000;
        return now + base::Duration{static_cast<int64_t>(bytes * kBitPicoseconds / rate_bps())};
    }

    uint64_t rate_bps() const {
        return std::max<uint64_t>(1, settings_->line_rate_bps / 1'000 * rate_ / kPccOne * 1'000);
    }

    template <class Table>
    static void describe(Table& table) {
        using S = Settings;
        table.positive_duration(
            "base_rtt", &S::base_rtt,
            "above this round trip the rate decreases, below it the rate increases");
        table.positive_duration("most_delay", &S::most_delay,
                                "a round trip that counts as much as a notification");
        table.part("step", &S::step, kPccOne, "u: the part of the rate that a decrease takes");
        table.part("increase", &S::increase, kPccOne,
                   "part of the line rate that is added in a round trip");
        table.part("floor", &S::floor, kPccOne, "the lowest rate, as a part of the line rate");
    }

private:
    // From the template: five steps after a loss with a long round trip, two after a notification.
    void on_round_trip(base::Duration round_trip) {
        const bool is_long = round_trip >= settings_->most_delay;
        if (has_lost_ && is_long)
            cut(5);
        else if (was_notified_ || is_long)
            cut(2);
        else if (round_trip > settings_->base_rtt)
            cut(1);
        else
            rate_ = std::min(rate_ + settings_->increase, kPccOne);
        was_notified_ = has_lost_ = false;
    }
    void cut(uint32_t steps) {
        const uint64_t part = uint64_t{rate_} * settings_->step / kPccOne * steps;
        rate_ = static_cast<uint32_t>(std::max<uint64_t>(rate_ - std::min<uint64_t>(part, rate_),
                                                         std::max(1u, settings_->floor)));
    }

    const PccRttSettings* settings_ = nullptr;
    base::Instant measured_at_{};
    uint32_t rate_ = kPccOne;  // of the line
    bool was_notified_ = false;
    bool has_lost_ = false;
};

}  // namespace tulle::transport
