// HPCC, "High Precision Congestion Control" (SIGCOMM 2019): a window that follows the load of the
// links on its path, which switches write into packets (wire/telemetry.h).
//
// For each hop, two entries, of this answer and of the previous one, give the bytes in flight as a
// fraction of what the link holds in a round trip T: the queue over rate x T, plus the utilisation
// of the line. U is the fullest hop, averaged over T. If U is eta or above, or the window has grown
// maxStage times, the window becomes W = Wc x eta / U + W_AI; otherwise W = Wc + W_AI. Wc is the
// window of one round trip ago. It changes when the packets sent at its last change are
// acknowledged, so the sender does not react twice to one state of the queues. Packets are paced at
// W / T.
//
// U and eta are in units of 2^-20, windows in units of 2^-8 byte.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/rate.h"
#include "base/time.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

inline constexpr uint32_t kHpccOne = 1u << 20;

// Shared by queue pairs of an adapter; must outlive them.
struct HpccSettings {
    base::Duration base_rtt{13'000'000};        // T; the paper's fabrics have 9 to 13 us
    uint32_t utilisation = kHpccOne / 20 * 19;  // eta, 0.95
    uint8_t max_stage = 5;
    uint32_t additive_bytes = 80;         // W_AI
    uint64_t min_rate_bps = 100'000'000;  // MIN_RATE of the paper's simulator
    bool each_answer = true;              // W changes with each answer, not only once per T
    uint32_t uncounted_bytes = 0;         // bytes of each packet that the window does not count
    uint64_t line_rate_bps = 100'000'000'000;

    std::string_view set_line(base::Rate line) {
        line_rate_bps = line.whole_bits_per_second();
        return "";
    }
    std::string_view wrong() const {
        return utilisation == 0 ? "hpcc.utilisation is 0, at which nothing is sent" : "";
    }
    // The window of a rate over T, in units of kFraction.
    uint64_t window_of(uint64_t bits_per_second) const;
};

class Hpcc {
public:
    using Settings = HpccSettings;
    static constexpr Nature kNature{
        .wants_telemetry = true,
        .without_answers = "no acknowledgement returns telemetry to hpcc",
    };

    Hpcc() = default;
    explicit Hpcc(const HpccSettings& settings);

    void on_signal(base::Instant now, const Signal& signal);
    base::Instant on_sent(base::Instant now, uint32_t bytes);

    uint32_t window_packets() const;
    // Never; but it makes the window in packets follow the sent packets.
    bool probes() const { return false; }
    uint64_t window() const { return window_ >> kFraction; }
    uint32_t utilisation() const { return utilisation_; }  // U

    template <class Table>
    static void describe(Table& table) {
        using S = Settings;
        table.positive_duration("base_rtt", &S::base_rtt,
                                "T, the round trip of an idle network; the window begins with what "
                                "the line sends in this time, and packets are paced at window / T");
        table.part("utilisation", &S::utilisation, kHpccOne,
                   "eta: the target utilisation of links");
        table.number("max_stage", &S::max_stage, 0, 255,
                     "number of steps by additive alone before the window may grow in proportion");
        table.size("additive", &S::additive_bytes, "W_AI: added at each step");
        table.bits_per_second("min_rate", &S::min_rate_bps, "the lowest window / T");
        table.yes_no("each_answer", &S::each_answer,
                     "yes: each acknowledgement changes the window; no: one in a round trip does");
        table.size("uncounted", &S::uncounted_bytes,
                   "bytes of each packet that the window does not count; for simulators whose "
                   "windows count payload, the size of their headers");
    }

private:
    static constexpr uint32_t kFraction = 8;  // fraction bits of windows

    void measure(const Signal& signal);
    void move_window(bool is_full_round);
    uint64_t bounded(uint64_t window) const;

    const HpccSettings* settings_ = nullptr;
    uint64_t window_ = 0;     // W
    uint64_t reference_ = 0;  // Wc
    uint32_t utilisation_ = kHpccOne;
    uint32_t acknowledged_ = 0;  // packets in all; wraps
    uint32_t round_end_ = 0;     // count of acknowledged packets that ends the round trip
    uint32_t packet_bytes_ = 0;  // the largest sent
    uint8_t stage_ = 0;
    bool has_begun_ = false;
};

}  // namespace tulle::transport
