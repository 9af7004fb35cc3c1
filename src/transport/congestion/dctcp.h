// DCTCP (RFC 8257), what the sender does: a window of packets in flight. Alpha averages which part
// of a window's packets was marked, and a window with marks shrinks by half of alpha, where TCP
// would halve it; without marks it grows as TCP's does (RFC 5681): by each packet acknowledged
// (slow start), then by one in a round trip.
//
// A window's length in time is that of its packets: it is over when what was in flight at its
// beginning is acknowledged. So there is no clock in here. An acknowledgement that carries a mark
// counts for all that it acknowledges; receivers answer every second packet at least, as those of
// TCP do, so that is one packet more at most.
//
// All fractions are in 16 bits, packets of the window too.
#pragma once

#include <cstdint>

#include "base/rate.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

inline constexpr uint32_t kDctcpOne = 1u << 16;

// One for all queue pairs of an adapter that share them; it outlives them.
struct DctcpSettings {
    uint32_t gain = kDctcpOne / 16;      // g: weight of the newest window in alpha
    uint32_t initial_alpha = kDctcpOne;  // RFC 8257, 4.2: as if all had been marked
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
    static constexpr uint32_t kLeast = 2;  // what marks and losses leave of a window

    Dctcp() = default;
    explicit Dctcp(const DctcpSettings& settings)
        : settings_(&settings),
          window_(uint64_t{settings.initial_window} * kDctcpOne),
          alpha_(settings.initial_alpha) {}

    void on_signal(base::Instant now, const Signal& signal);
    base::Instant on_sent(base::Instant now, uint32_t) { return now; }

    // The next acknowledgement is for packets of which some were marked.
    void on_mark() { is_marked_ = true; }
    // So many packets were acknowledged, and so many are in flight after that.
    void on_acknowledged(uint32_t packets, uint32_t in_flight);
    // A packet was lost, and the receiver missed it.
    void on_loss(uint32_t in_flight);
    // Nothing came for too long.
    void on_timeout();

    uint32_t window_packets() const { return static_cast<uint32_t>(window_ / kDctcpOne); }
    uint32_t alpha() const { return alpha_; }

    template <class Table>
    static void describe(Table& table) {
        table.part("gain", &Settings::gain, kDctcpOne, "g: weight of the newest window in alpha");
        table.part("initial_alpha", &Settings::initial_alpha, kDctcpOne,
                   "alpha before the first window");
        table.number("initial_window", &Settings::initial_window, 2, 10'000,
                     "packets in flight at first");
    }

private:
    bool is_over(uint32_t end) const { return static_cast<int32_t>(acknowledged_ - end) >= 0; }
    void observe(uint32_t packets, uint32_t in_flight);
    void grow(uint32_t packets, uint32_t in_flight);
    void shrink_to(uint64_t window, uint32_t in_flight);

    const DctcpSettings* settings_ = nullptr;
    uint64_t window_ = 0;
    uint64_t threshold_ = UINT64_MAX;  // slow start ends there
    uint32_t alpha_ = 0;
    uint32_t acknowledged_ = 0;  // packets in all; wraps
    uint32_t observed_end_ = 0;  // when so many are, a window has been observed
    uint32_t reduced_end_ = 0;   // until so many are, the window was reduced for what comes
    uint32_t seen_ = 0;          // packets of the window that is observed
    uint32_t seen_marked_ = 0;
    bool is_marked_ = false;
};

}  // namespace tulle::transport
