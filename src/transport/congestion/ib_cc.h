// InfiniBand congestion control at the sender (IBTA vol 1, annex A10). Each BECN moves an index up
// a table of delays; each tick of a timer moves it down by one. The delay at the index follows each
// packet, as a fraction of the packet's own time on the line.
//
// The timer belongs to the service level and runs from the beginning of time: its ticks are the
// multiples of its period, so the number of ticks since the last look at the index is a
// subtraction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/rate.h"
#include "base/time.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

// Settings of one service level, and the table of the port; must outlive the queue pairs.
struct IbCcSettings {
    base::Rate line = base::Rate::bits_per_second(100'000'000'000);
    uint16_t increase = 1;           // CCTI_Increase
    uint16_t timer = 0;              // CCTI_Timer, in units of 1.024 us; 0: the index never falls
    uint16_t minimum = 0;            // CCTI_Min
    uint16_t trigger_threshold = 0;  // an index that reaches this is an event; 0: no events
    std::vector<uint16_t> table;     // an entry has two bits of shift, fourteen of multiplier

    uint16_t limit() const { return static_cast<uint16_t>(table.empty() ? 0 : table.size() - 1); }
    std::string_view set_line(base::Rate rate) {
        line = rate;
        return "";
    }
    std::string_view wrong() const {
        if (table.empty()) return "ib_cc has no table; write table: {entries: 128, step: 1}";
        return minimum > limit() ? "ib_cc.minimum is beyond the end of its table" : "";
    }
};

constexpr uint16_t cct_entry(uint16_t shift, uint16_t multiplier) {
    return static_cast<uint16_t>(shift << 14 | multiplier);
}

// The index: one per queue pair, or shared by a service level (port control).
struct IbCcIndex {
    uint16_t value = 0;
    uint32_t events = 0;  // how often it rose to the trigger threshold
    int64_t ticks = 0;    // of the timer, at the last look

    void advance(const IbCcSettings& settings, base::Instant now) {
        constexpr int64_t kUnit = 1'024'000;
        value = std::max(value, settings.minimum);
        if (settings.timer == 0) return;
        const int64_t passed = now.ps / (kUnit * settings.timer) - ticks;
        ticks += passed;
        const auto above = static_cast<int64_t>(value - settings.minimum);
        value = static_cast<uint16_t>(value - std::min(passed, above));
    }
};

class IbCc {
public:
    using Settings = IbCcSettings;
    static constexpr Nature kNature{.heeds_notifications = true};

    IbCc() = default;
    explicit IbCc(const IbCcSettings& settings, IbCcIndex* shared = nullptr)
        : settings_(&settings), shared_(shared) {}

    void on_signal(base::Instant now, const Signal& signal) {
        if (signal.is_notification()) on_notification(now);
    }
    void on_notification(base::Instant now) {
        IbCcIndex& index = at(now);
        const uint16_t before = index.value;
        const uint32_t raised = uint32_t{before} + settings_->increase;
        index.value = static_cast<uint16_t>(std::min<uint32_t>(raised, settings_->limit()));
        const uint16_t threshold = settings_->trigger_threshold;
        if (threshold != 0 && before < threshold && index.value >= threshold) ++index.events;
    }

    base::Instant on_sent(base::Instant now, uint32_t bytes) {
        const IbCcIndex& index = at(now);
        if (index.value > settings_->limit() || settings_->table.empty()) return now;
        const uint16_t entry = settings_->table[index.value];
        if ((entry & 0x3fff) == 0) return now;
        const base::Duration packet = settings_->line.time_for(bytes);
        return now + packet + base::Duration{packet.ps * (entry & 0x3fff) >> (entry >> 14)};
    }

    // The index, updated to now.
    IbCcIndex& at(base::Instant now) {
        IbCcIndex& index = shared_ != nullptr ? *shared_ : own_;
        index.advance(*settings_, now);
        return index;
    }

    template <class Table>
    static void describe(Table& table) {
        table.number("increase", &Settings::increase, 1, 0xffff,
                     "CCTI_Increase: what a BECN adds to the index");
        table.number(
            "timer", &Settings::timer, 0, 0xffff,
            "CCTI_Timer, in units of 1.024 us: how often the index decreases by one; 0: never");
        table.number("minimum", &Settings::minimum, 0, 0xffff, "CCTI_Min: the lowest index");
        table.delays("table", &Settings::table,
                     "the CCT: the delay after a packet, as a multiple of its serialization time");
    }

private:
    const IbCcSettings* settings_ = nullptr;
    IbCcIndex* shared_ = nullptr;
    IbCcIndex own_;
};

}  // namespace tulle::transport
