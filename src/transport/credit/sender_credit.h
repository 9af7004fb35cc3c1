// A sender's credit (RCCC): the bytes that it may send. It begins with a window of credit that
// nobody granted, so the first packets need not wait; the first answer ends that.
//
// Grants are counted from the beginning of a connection, in units of 256 bytes modulo 2^24, and a
// packet reports up to which count its sender could use credit. So the next grant makes up for a
// lost one. If no other follows, the sender sends a packet without credit after a while, to ask for
// more.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "transport/congestion/rccc.h"

namespace tulle::transport {

inline constexpr uint32_t kCreditUnit = 256;  // bytes; uet-htsim, UEC_PULL_QUANTUM
inline constexpr uint32_t kCreditMask = 0xff'ffff;

// How far `a` is ahead of `b` in the circular count; negative if behind.
constexpr int32_t credit_ahead(uint32_t a, uint32_t b) {
    const uint32_t distance = (a - b) & kCreditMask;
    return distance > kCreditMask / 2 ? static_cast<int32_t>(distance) - int32_t{kCreditMask} - 1
                                      : static_cast<int32_t>(distance);
}

// The demand in a packet: the count up to which the sender could use credit, and whether the packet
// was sent without credit.
struct CreditDemand {
    uint32_t target = 0;
    bool asks = false;

    static CreditDemand of_word(uint32_t word) { return {word & kCreditMask, word >> 24 != 0}; }
    uint32_t word() const { return target | (asks ? 1u << 24 : 0); }
};

class SenderCredit {
public:
    SenderCredit() = default;
    explicit SenderCredit(const RcccSettings& settings)
        : settings_(&settings), bytes_(settings.most_bytes()) {}

    bool is_used() const { return settings_ != nullptr; }
    // Without credit a packet may be sent to ask for some: after a while, or at once if the
    // receiver does not know that there is something to send.
    bool may_send(base::Instant now, bool has_outstanding) const {
        return bytes_ > 0 || now >= asks_at_ || (!has_outstanding && !is_waiting_);
    }
    base::Instant asks_at() const { return asks_at_; }
    int64_t bytes() const { return bytes_; }

    // Spends credit for a packet of `bytes`. `backlog` bytes wait behind it; `sharers` queue pairs
    // of this adapter have something to send. Returns the demand for the packet.
    CreditDemand spend(base::Instant now, uint32_t bytes, uint64_t backlog, uint32_t sharers) {
        const bool asks = bytes_ <= 0;
        bytes_ -= bytes;
        is_waiting_ = backlog != 0;
        if (bytes_ <= 0) asks_at_ = now + settings_->request_after;
        return {target(backlog, sharers), asks};
    }

    // An answer arrived: the rest of the initial credit becomes void.
    void on_answer(base::Instant now) {
        if (!is_speculating_) return;
        is_speculating_ = false;
        bytes_ = std::min<int64_t>(bytes_, 0);
        asks_at_ = now + settings_->request_after;
    }

    // Credit was granted up to this count.
    void on_grant(base::Instant now, uint32_t count) {
        on_answer(now);
        const int32_t more = credit_ahead(count, granted_);
        if (more <= 0) return;
        granted_ = count;
        bytes_ = std::min<int64_t>(bytes_ + int64_t{more} * kCreditUnit, settings_->most_bytes());
        if (bytes_ <= 0) asks_at_ = now + settings_->request_after;
    }

private:
    // Demand for everything that waits without credit, up to the limit of credit; at least one
    // packet while credit is speculative.
    uint32_t target(uint64_t backlog, uint32_t sharers) const {
        auto wanted = static_cast<int64_t>(std::min<uint64_t>(backlog, settings_->most_bytes()));
        wanted -= bytes_;
        if (is_speculating_ && backlog != 0)
            wanted = std::max<int64_t>(wanted, settings_->packet_bytes);
        wanted /= std::max(1u, sharers);
        const int64_t units =
            wanted <= 0 ? wanted / kCreditUnit : (wanted + kCreditUnit - 1) / kCreditUnit;
        return static_cast<uint32_t>(granted_ + units) & kCreditMask;
    }

    const RcccSettings* settings_ = nullptr;
    int64_t bytes_ = 0;
    base::Instant asks_at_{};
    uint32_t granted_ = 0;
    bool is_speculating_ = true;
    bool is_waiting_ = false;  // the receiver knows of a backlog
};

}  // namespace tulle::transport
