// RCCC, the receiver-credit congestion control of Ultra Ethernet, after its public simulator
// (uet-htsim, sim/uec.cpp). A receiver grants credit at slightly less than its line rate, to one
// sender after the other, and senders spend it. The queue before a receiver stays empty, however
// many send to it.
//
// This file has the settings and the sender's algorithm, which does nothing: no window and no
// pacing. Credit itself is in ../credit/: the sender's credit, and the pacer of a receiving
// adapter.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/rate.h"
#include "base/time.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

inline constexpr uint32_t kRcccOne = 1'000'000;

// Shared by all queue pairs of an adapter; must outlive them.
struct RcccSettings {
    base::Duration base_rtt{12'000'000};  // the round trip of an idle network
    uint32_t packet_bytes = 4096;
    uint32_t pace = 990'000;                    // of the line; uet-htsim, main_uec.cpp
    uint32_t grant_packets = 4;                 // uet-htsim, _mtus_per_pull
    base::Duration request_after{100'000'000};  // uet-htsim, DEFAULT_UEC_RTO_MIN
    bool heeds_marks = false;
    uint64_t line_rate_bps = 400'000'000'000;

    std::string_view set_line(base::Rate line) {
        line_rate_bps = line.whole_bits_per_second();
        return "";
    }
    std::string_view wrong() const {
        if (packet_bytes == 0) return "rccc.packet is 0: give the payload of a full packet";
        return pace == 0 ? "rccc.pace is 0: nobody would get credit" : "";
    }

    // One and a half times what the line sends in a round trip: the initial credit of a sender, and
    // the maximum that it may hold.
    uint32_t most_bytes() const {
        const auto round_trip_ns = static_cast<uint64_t>(base_rtt.ps / 1000);
        return static_cast<uint32_t>(line_rate_bps / 8'000 * round_trip_ns / 1'000'000 * 3 / 2);
    }
};

class Rccc {
public:
    using Settings = RcccSettings;
    static constexpr Nature kNature{
        .heeds_notifications = true,  // they show which paths are full
        .is_ecn_capable = true,
        .wants_marks_in_answers = true,
        .grants_credit = true,
        .without_answers = "no answer tells rccc's senders that its packets were trimmed",
    };

    Rccc() = default;
    explicit Rccc(const RcccSettings&) {}

    void on_signal(base::Instant, const Signal&) {}
    base::Instant on_sent(base::Instant now, uint32_t) { return now; }

    template <class Table>
    static void describe(Table& table) {
        using S = Settings;
        table.positive_duration(
            "base_rtt", &S::base_rtt,
            "the round trip of an idle network; a sender begins with one and a half times what the "
            "line sends in this time, and never holds more");
        table.size("packet", &S::packet_bytes, "payload of a full packet");
        table.part("pace", &S::pace, kRcccOne, "part of the line rate that is granted");
        table.number("grant", &S::grant_packets, 1, 1024, "number of full packets in a grant");
        table.positive_duration("request_after", &S::request_after,
                                "a sender that has no credit and hears nothing for this long sends "
                                "one packet, which requests credit");
        table.yes_no("heeds_marks", &S::heeds_marks,
                     "whether a receiver grants less while more than 30 % of its packets are "
                     "marked, or some are trimmed: for networks with thin uplinks");
    }
};

}  // namespace tulle::transport
