// A fixed rate for each queue pair, independent of the network: for tests, and for limits set by an
// operator.
#pragma once

#include <cstdint>

#include "base/rate.h"
#include "base/time.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

struct FixedRateSettings {
    uint64_t rate_bps = 0;

    std::string_view set_line(base::Rate) { return ""; }
    std::string_view wrong() const {
        return rate_bps == 0 ? "the fixed rate is missing; write fixed_rate: {rate: 10Gbps}" : "";
    }
};

class FixedRate {
public:
    using Settings = FixedRateSettings;
    static constexpr Nature kNature{};

    FixedRate() = default;
    explicit FixedRate(const Settings& settings)
        : FixedRate(base::Rate::bits_per_second(settings.rate_bps)) {}
    explicit FixedRate(base::Rate rate)
        : numerator_(static_cast<uint32_t>(rate.numerator())),
          denominator_(static_cast<uint32_t>(rate.denominator())) {}

    void on_signal(base::Instant, const Signal&) {}
    base::Instant on_sent(base::Instant now, uint32_t bytes) {
        const uint64_t scaled = uint64_t{bytes} * numerator_ + remainder_;
        remainder_ = static_cast<uint32_t>(scaled % denominator_);
        return now + base::Duration{static_cast<int64_t>(scaled / denominator_)};
    }

    template <class Table>
    static void describe(Table& table) {
        table.bits_per_second("rate", &Settings::rate_bps, "the rate of each queue pair");
    }

private:
    // Picoseconds per byte as a ratio, as in base::Rate; the remainder is carried over.
    uint32_t numerator_ = 0;
    uint32_t denominator_ = 1;
    uint32_t remainder_ = 0;
};

}  // namespace tulle::transport
