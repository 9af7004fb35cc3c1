#include "transport/congestion/dctcp.h"

#include <algorithm>

namespace tulle::transport {

void Dctcp::on_signal(base::Instant, const Signal& signal) {
    switch (signal.kind) {
        case Signal::Kind::cnp:
        case Signal::Kind::becn: return on_mark();
        case Signal::Kind::ack:
            return on_acknowledged(signal.acknowledged_packets, signal.packets_in_flight);
        case Signal::Kind::loss: return on_loss(signal.packets_in_flight);
        case Signal::Kind::timeout: return on_timeout();
        case Signal::Kind::back_pressure: return;
    }
}

void Dctcp::on_acknowledged(uint32_t packets, uint32_t in_flight) {
    if (packets == 0) return;
    acknowledged_ += packets;
    observe(packets, in_flight);
    const bool is_reduced = !is_over(reduced_end_);
    if (is_marked_ && !is_reduced)
        shrink_to(window_ - window_ * alpha_ / (2 * kDctcpOne), in_flight);
    else if (!is_reduced)
        grow(packets, in_flight);
    is_marked_ = false;
}

// RFC 8257, 3.3: alpha follows the fraction of each window that was marked.
void Dctcp::observe(uint32_t packets, uint32_t in_flight) {
    seen_ += packets;
    if (is_marked_) seen_marked_ += packets;
    if (!is_over(observed_end_)) return;
    const uint64_t marked = uint64_t{seen_marked_} * kDctcpOne / seen_;
    const uint64_t g = settings_->gain;
    alpha_ = static_cast<uint32_t>((alpha_ * (kDctcpOne - g) + marked * g) / kDctcpOne);
    seen_ = seen_marked_ = 0;
    observed_end_ = acknowledged_ + in_flight;
}

// A window that is not fully used shows nothing, so it does not grow (RFC 7661).
void Dctcp::grow(uint32_t packets, uint32_t in_flight) {
    const uint64_t used = (uint64_t{in_flight} + packets) * kDctcpOne;
    const bool is_slow_start = window_ < threshold_;
    if (is_slow_start ? 2 * used < window_ : used + kDctcpOne <= window_) return;
    const uint64_t more = uint64_t{packets} * kDctcpOne;
    window_ += is_slow_start ? std::min(more, threshold_ - window_) : more * kDctcpOne / window_;
    window_ = std::min(window_, uint64_t{UINT32_MAX});
}

// Once per window in flight (RFC 3168, 6.1.2).
void Dctcp::shrink_to(uint64_t window, uint32_t in_flight) {
    window_ = std::max(window, uint64_t{kLeast} * kDctcpOne);
    threshold_ = window_;
    reduced_end_ = acknowledged_ + in_flight;
}

void Dctcp::on_loss(uint32_t in_flight) {
    if (is_over(reduced_end_)) shrink_to(window_ / 2, in_flight);
}

void Dctcp::on_timeout() {
    shrink_to(window_ / 2, 0);
    window_ = kDctcpOne;
}

}  // namespace tulle::transport
