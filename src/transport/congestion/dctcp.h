// DCTCP (RFC 8257) at the sender: a window of packets in flight. Alpha is a moving average of the
// fraction of marked packets per window. A window with marks shrinks by half of alpha, where TCP
// would halve it. Without marks it grows as in TCP (RFC 5681): by each packet acknowledged (slow
// start), then by one per round trip.
//
// A window ends when the packets in flight at its beginning are acknowledged, so there is no clock
// here. A mark in an acknowledgement counts for all packets that it acknowledges. Receivers answer
// at least every second packet, as in TCP, so that overcounts by one packet at most.
//
// All fractions have 16 bits, also packets of the window.
#pragma once

#include <cstdint>

#include "base/rate.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

inline constexpr uint32_t kDctcpOne = 1u << 16;

// Shared by queue pairs of an adapter; must outlive them.
struct DctcpSettings {
    uint32_t gain = kDctcpOne / 16;      // g: weight of the newest window in alpha
    uint32_t initial_alpha = kDctcpOne;  // RFC 8257, 4.2: as if all packets had been marked
    uint32_t initial_window = 10;        // packets (RFC 6928)

    std::string_view set_line(base::Rate) { return ""; }
    std::string_view wrong() const { return ""; }
};

class Dctcp {
public:
    using Settings = DctcpSettings;
    static constexpr Nature kNature{
        .heeds_notifications = true,
        .is_ecn_capable = true,
        .wants_marks_in_answers = true,
        .without_answers = "no acknowledgement moves the window of dctcp",
    };
    static constexpr uint32_t kLeast = 2;  // the minimum after marks and losses

    Dctcp() = default;
    explicit Dctcp(const DctcpSettings& settings)
        : settings_(&settings),
          window_(uint64_t{settings.initial_window} * kDctcpOne),
          alpha_(settings.initial_alpha) {}

    void on_signal(base::Instant now, const Signal& signal);
    base::Instant on_sent(base::Instant now, uint32_t) { return now; }

    // The next acknowledgement covers some marked packets.
    void on_mark() { is_marked_ = true; }
    // `packets` were acknowledged; `in_flight` are in flight after that.
    void on_acknowledged(uint32_t packets, uint32_t in_flight);
    // The receiver reports a lost packet.
    void on_loss(uint32_t in_flight);
    // A timeout.
    void on_timeout();

    uint32_t window_packets() const { return static_cast<uint32_t>(window_ / kDctcpOne); }
    uint32_t alpha() const { return alpha_; }

    template <class Table>
    static void describe(Table& table) {
        table.part("gain", &Settings::gain, kDctcpOne, "g: weight of the newest window in alpha");
        table.part("initial_alpha", &Settings::initial_alpha, kDctcpOne,
                   "alpha before the first window");
        table.number("initial_window", &Settings::initial_window, 2, 10'000,
                     "packets in flight at the beginning");
    }

private:
    bool is_over(uint32_t end) const { return static_cast<int32_t>(acknowledged_ - end) >= 0; }
    void observe(uint32_t packets, uint32_t in_flight);
    void grow(uint32_t packets, uint32_t in_flight);
    void shrink_to(uint64_t window, uint32_t in_flight);

    const DctcpSettings* settings_ = nullptr;
    uint64_t window_ = 0;
    uint64_t threshold_ = UINT64_MAX;  // where slow start ends
    uint32_t alpha_ = 0;
    uint32_t acknowledged_ = 0;  // packets in all; wraps
    uint32_t observed_end_ = 0;  // end of the observed window, as a count of acknowledged packets
    uint32_t reduced_end_ = 0;   // no further reduction until this count
    uint32_t seen_ = 0;          // packets of the observed window
    uint32_t seen_marked_ = 0;
    bool is_marked_ = false;
};

}  // namespace tulle::transport
