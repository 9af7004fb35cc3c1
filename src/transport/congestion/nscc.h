// NSCC, the network-signal congestion control of Ultra Ethernet, after its public simulator
// (uet-htsim, sim/uec.cpp): a window that follows the queueing delay and the marks of switches.
//
//                  delay below the target                  delay at or above it
//   not marked     grow in proportion to what is left      grow by a fixed step: it is another path
//   marked         nothing, the path is changed            shrink once a round trip by how far the
//                                                          average delay is above the target
//
// If packets are trimmed or the delay is out of bounds, and little was delivered, the window
// becomes what was delivered (quick adapt). After a whole window without any queue, it grows fast.
//
// Windows are in fractions of a packet, 16 bits. Delays and instants are nanoseconds in 32 bits,
// which wrap after four seconds: a pause of that length delays one step.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/rate.h"
#include "base/time.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

inline constexpr uint32_t kNsccOne = 1u << 16;

// Shared by queue pairs of an adapter; must outlive them.
struct NsccSettings {
    base::Duration base_rtt{12'000'000};  // the round trip of an idle network
    base::Duration target{};              // delay of queues; zero: three quarters of base_rtt
    uint32_t packet_bytes = 4096;
    bool has_credit = false;  // receivers also grant credit, as with rccc
    uint64_t line_rate_bps = 400'000'000'000;

    std::string_view set_line(base::Rate line) {
        line_rate_bps = line.whole_bits_per_second();
        return "";
    }
    std::string_view wrong() const {
        return packet_bytes == 0 ? "nscc.packet is 0: give the payload of a full packet" : "";
    }

    uint64_t bdp_bytes() const;
    uint32_t target_ns() const;
    // The scale of all steps: BDP / 150,000 bytes.
    uint64_t scale() const;
    // One and a half times what the line sends in this round trip.
    uint32_t most_window(uint64_t round_trip_ns) const;
};

class Nscc {
public:
    using Settings = NsccSettings;
    static constexpr Nature kNature{
        .heeds_notifications = true,
        .is_ecn_capable = true,
        .wants_marks_in_answers = true,
        .without_answers = "no acknowledgement moves the window of nscc",
    };

    Nscc() = default;
    explicit Nscc(const NsccSettings& settings);

    void on_signal(base::Instant now, const Signal& signal);
    base::Instant on_sent(base::Instant now, uint32_t) { return now; }

    uint32_t window_packets() const { return window_ < kNsccOne ? 1 : window_ / kNsccOne; }

    template <class Table>
    static void describe(Table& table) {
        using S = Settings;
        table.positive_duration("base_rtt", &S::base_rtt,
                                "the round trip of an idle network; the window begins with one and "
                                "a half times what the line sends in this time");
        table.duration(
            "target", &S::target,
            "target of the delay in queues; 0: three quarters of base_rtt, as with trimming");
        table.size("packet", &S::packet_bytes, "payload of a full packet");
        table.yes_no(
            "credit", &S::has_credit,
            "whether receivers also grant credit, as with algorithm: rccc and by its settings");
    }

private:
    void acknowledge(uint32_t now, const Signal& signal);
    void on_trimmed(uint32_t now, uint32_t packets, uint32_t in_flight);
    void note_round_trip(base::Duration round_trip);
    void measure(uint32_t delay, bool is_marked);
    void grow(uint32_t delay, uint32_t packets);
    bool grows_fast(uint32_t delay, uint32_t packets);
    void shrink(uint32_t now);
    void adjust(uint32_t now);
    bool adapts_quickly(uint32_t now, bool is_trouble, bool is_marked, uint32_t in_flight);
    void keep_bounds();

    const NsccSettings* settings_ = nullptr;
    uint64_t pending_ = 0;  // sum of growth times acknowledged packets, until the next adjustment
    uint32_t window_ = 0;
    uint32_t average_ns_ = 0;   // of delay
    uint32_t smallest_ns_ = 0;  // round trip
    uint32_t adjusted_at_ = 0;
    uint32_t shrunk_at_ = 0;
    uint32_t adapts_at_ = 0;
    uint32_t achieved_ = 0;  // packets delivered since quick adapt's last check
    uint32_t since_adjusted_ = 0;
    uint32_t without_queue_ = 0;  // packets in a row without a queue
    uint32_t ignored_ = 0;        // packets whose marks are ignored
    bool has_begun_ = false;
    bool met_trouble_ = false;  // a packet was trimmed or lost since the last quick adapt
    bool is_growing_fast_ = false;
    bool was_told_ = false;  // the current answer carries a mark
};

}  // namespace tulle::transport
