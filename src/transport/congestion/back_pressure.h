// A source's reaction to the message that it shares the port of a host (fabric/back_pressure.h).
// For a while it sends at its share of the line rate, slightly reduced so that the queue there
// shrinks; then it returns to the whole line step by step. Flows to other hosts are not affected.
//
// Slingshot's own algorithm is not public. All constants are chosen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/rate.h"
#include "base/time.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

inline constexpr uint32_t kShareOne = 1u << 16;

// Shared by queue pairs of an adapter; must outlive them.
struct BackPressureSettings {
    uint32_t share = kShareOne / 10 * 9;   // fraction of its fair part of the line
    base::Duration hold{10'000'000};       // time at that rate after a message
    base::Duration recovery{100'000'000};  // time from there to the whole line
    uint64_t line_rate_bps = 200'000'000'000;

    std::string_view set_line(base::Rate line) {
        line_rate_bps = line.whole_bits_per_second();
        return "";
    }
    std::string_view wrong() const {
        return share == 0 ? "back_pressure.share is 0: nothing would be sent" : "";
    }
};

class BackPressure {
public:
    using Settings = BackPressureSettings;
    static constexpr Nature kNature{};

    BackPressure() = default;
    explicit BackPressure(const BackPressureSettings& settings) : settings_(&settings) {}

    void on_signal(base::Instant now, const Signal& signal) {
        if (signal.kind != Signal::Kind::back_pressure || signal.sharers < 2) return;
        sharers_ = signal.sharers;
        told_at_ = now;
    }
    base::Instant on_sent(base::Instant now, uint32_t bytes) {
        constexpr uint64_t kBitPicoseconds = 8'000'000'000'000;
        const uint64_t rate = rate_bps(now);
        if (rate >= settings_->line_rate_bps) sharers_ = 0;
        if (sharers_ == 0) return now;
        return now + base::Duration{static_cast<int64_t>(bytes * kBitPicoseconds / rate)};
    }

    uint64_t rate_bps(base::Instant now) const {
        const uint64_t line = settings_->line_rate_bps;
        if (sharers_ == 0) return line;
        const uint64_t part = std::max<uint64_t>(1, line / sharers_ / kShareOne * settings_->share);
        const base::Duration since = now - told_at_ - settings_->hold;
        if (since.ps <= 0) return part;
        if (since >= settings_->recovery) return line;
        return part + static_cast<uint64_t>(base::uint128_t{line - part} *
                                            static_cast<uint64_t>(since.ps) /
                                            static_cast<uint64_t>(settings_->recovery.ps));
    }

    template <class Table>
    static void describe(Table& table) {
        using S = Settings;
        table.part("share", &S::share, kShareOne,
                   "part of its fair share of the line that a source takes after a notification");
        table.duration("hold", &S::hold, "how long the rate stays constant after a notification");
        table.duration("recovery", &S::recovery,
                       "how long the rate then takes to reach the line rate");
    }

private:
    const BackPressureSettings* settings_ = nullptr;
    base::Instant told_at_{};
    uint32_t sharers_ = 0;  // from the latest message; 0: no limit
};

}  // namespace tulle::transport
