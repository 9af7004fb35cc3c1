// NSCC, the network-signal congestion control of Ultra Ethernet, as its public simulator has it
// (uet-htsim, sim/uec.cpp): a window that follows the queue's delay and the marks of switches.
//
//                  delay below the target                  delay at or above it
//   not marked     grow in proportion to what is left      grow by a fixed step: it is another path
//   marked         nothing, the path is changed            shrink once a round trip by how far the
//                                                          average delay is above the target
//
// Where packets are trimmed or delay is beyond all bounds, and little was delivered, the window
// becomes what was delivered (quick adapt). Without any queue for a whole window it grows fast.
//
// Windows are in parts of a packet, 16 bits; delays and instants in nanoseconds of 32 bits, which
// wrap after four seconds: a pause of that length delays one step.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/rate.h"
#include "base/time.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

inline constexpr uint32_t kNsccOne = 1u << 16;

// One for all queue pairs of an adapter that share them; it outlives them.
struct NsccSettings {
    base::Duration base_rtt{12'000'000};  // the round trip of an idle network
    base::Duration target{};              // of queues; zero: three quarters of that
    uint32_t packet_bytes = 4096;
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
    // The scale of all steps: BDP over 150,000 bytes.
    uint64_t scale() const;
    uint32_t most_window() const;  // one and a half BDP
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
                                "the round trip of an idle network: the window begins with one "
                                "and a half times what the line sends in it");
        table.duration("target", &S::target,
                       "of delay in queues; 0: three quarters of base_rtt, as with trimming");
        table.size("packet", &S::packet_bytes, "payload of a full packet");
    }

private:
    void acknowledge(uint32_t now, const Signal& signal);
    void measure(uint32_t delay, bool is_marked);
    void grow(uint32_t delay, uint32_t packets);
    void grow_fast(uint32_t delay, uint32_t packets);
    void shrink(uint32_t now);
    void adjust(uint32_t now, uint32_t packets);
    void adapt_quickly(uint32_t now, const Signal& signal);
    void keep_bounds();

    const NsccSettings* settings_ = nullptr;
    uint64_t pending_ = 0;  // growth times packets acknowledged, until the next adjustment
    uint32_t window_ = 0;
    uint32_t average_ns_ = 0;   // of delay
    uint32_t smallest_ns_ = 0;  // round trip; 0: none is known
    uint32_t adjusted_at_ = 0;
    uint32_t shrunk_at_ = 0;
    uint32_t adapted_at_ = 0;
    uint32_t achieved_ = 0;  // packets since then
    uint32_t since_adjusted_ = 0;
    uint32_t without_queue_ = 0;  // packets in a row that met none
    uint32_t ignored_ = 0;        // packets whose marks say nothing new
    bool has_begun_ = false;
    bool met_trouble_ = false;  // since the last look of quick adapt
};

}  // namespace tulle::transport
