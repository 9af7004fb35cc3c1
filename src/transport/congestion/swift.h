// Swift, "Delay is Simple and Effective for Congestion Control in the Datacenter" (SIGCOMM 2020): a
// window that grows while the round trip is below a target, and is cut once per round trip by how
// far it is above. The target is higher for small windows (flow scaling): many flows on a link have
// longer queues, however fair they are.
//
// A window below one packet counts as one packet, and the next packet waits for a round trip
// divided by the window. An acknowledgement without a known round trip uses the previous one. All
// fractions have 16 bits, also packets of the window.
#pragma once

#include <cstdint>

#include "base/rate.h"
#include "base/time.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

inline constexpr uint32_t kSwiftOne = 1u << 16;

// Shared by queue pairs of an adapter; must outlive them. The values are those of csg-htsim's
// swift.cpp, whose author calls some of them guesses; the paper gives few.
struct SwiftSettings {
    base::Duration target{20'000'000};          // of a round trip, hops included
    base::Duration scaling_range{100'000'000};  // maximum that scaling adds to the target
    uint32_t scaling_least = kSwiftOne / 10;    // window at which scaling adds all of it
    uint32_t scaling_most = 100;                // packets of a window at which it adds nothing
    uint32_t increase = 1;                      // packets per round trip
    uint32_t beta = kSwiftOne / 5 * 4;          // of decrease
    uint32_t most_cut = kSwiftOne / 2;          // of a window, per cut
    uint32_t initial_window = 12;               // packets
    uint32_t least_window = kSwiftOne / 1000;
    uint32_t most_window = 10'000;      // packets
    uint8_t timeouts_before_least = 5;  // in a row

    std::string_view set_line(base::Rate) { return ""; }
    std::string_view wrong() const {
        if (initial_window > most_window) return "swift.initial_window is above swift.most_window";
        return "";
    }
};

class Swift {
public:
    using Settings = SwiftSettings;
    static constexpr Nature kNature{.without_answers =
                                        "no acknowledgement gives swift a round trip"};

    Swift() = default;
    explicit Swift(const SwiftSettings& settings);

    void on_signal(base::Instant now, const Signal& signal);

    // If less than one packet may be in flight, packets are spaced.
    base::Instant on_sent(base::Instant now, uint32_t) {
        if (window_ >= kSwiftOne) [[likely]]
            return now;
        return now + base::Duration{round_trip_.ps * kSwiftOne / static_cast<int64_t>(window_)};
    }

    uint32_t window_packets() const {
        return window_ < kSwiftOne ? 1 : static_cast<uint32_t>(window_ / kSwiftOne);
    }
    uint64_t window() const { return window_; }  // in fractions of a packet
    base::Duration target() const;               // for the current window

    template <class Table>
    static void describe(Table& table) {
        using S = Settings;
        table.positive_duration(
            "target", &S::target,
            "target of a round trip, hops included: above it the window decreases");
        table.duration("scaling_range", &S::scaling_range,
                       "largest addition to the target, for small windows");
        table.part("scaling_least", &S::scaling_least, kSwiftOne,
                   "window, as a part of a packet, at which all of that is added");
        table.number("scaling_most", &S::scaling_most, 2, 10'000,
                     "window in packets at which nothing is added");
        table.number("increase", &S::increase, 1, 1'000,
                     "packets that a window grows in a round trip");
        table.part("beta", &S::beta, kSwiftOne, "factor of a decrease");
        table.part("most_cut", &S::most_cut, kSwiftOne,
                   "largest part of a window that one decrease takes");
        table.number("initial_window", &S::initial_window, 1, 10'000,
                     "packets in flight at the beginning");
        table.part("least_window", &S::least_window, kSwiftOne,
                   "the smallest window, as a part of a packet");
        table.number("most_window", &S::most_window, 1, 1'000'000, "packets in flight at most");
        table.number("timeouts_before_least", &S::timeouts_before_least, 1, 255,
                     "number of timeouts in a row after which the window is the smallest");
    }

private:
    void acknowledge(base::Instant now, uint32_t packets);
    void cut(base::Instant now, uint64_t part);
    bool may_cut(base::Instant now) const { return now - cut_at_ >= round_trip_; }
    void keep_bounds();

    const SwiftSettings* settings_ = nullptr;
    uint64_t window_ = 0;
    int64_t scaling_high_ = 0;  // one over the root of the window limits of scaling
    int64_t scaling_low_ = 0;
    base::Duration round_trip_{};          // the newest; zero before the first
    base::Instant cut_at_{INT64_MIN / 2};  // long ago
    uint8_t timeouts_ = 0;                 // in a row
};

}  // namespace tulle::transport
