// Long messages of subnet administration, sent in segments (IBTA vol 1, 13.6): one sender and one
// receiver for each message. Segments are acknowledged in order; unacknowledged ones are sent
// again.
//
// A segment carries 200 bytes after the header of subnet administration, which all segments share.
// The length in the first segment counts all segments with these headers; the length in the last
// one counts that segment alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "control/subnet/agent/mad_bytes.h"
#include "wire/mad/sa.h"

namespace tulle::control {

inline constexpr uint32_t kRmppWindow = 16;                     // segments; chosen
inline constexpr base::Duration kRmppTimeout{200'000'000'000};  // 200 ms, as for SMPs
inline constexpr uint8_t kRmppRetries = 3;

bool is_rmpp(const MadBytes& mad);
wire::RmppHeader rmpp_of(const MadBytes& mad);
wire::SaHeader sa_header_of(const MadBytes& mad);
// An ACK, STOP or ABORT for a segment, with the same transaction.
MadBytes rmpp_answer(const MadBytes& segment, uint8_t type, uint8_t status, uint32_t number,
                     uint32_t window_last);

class RmppSender {
public:
    // `head` has the headers of every segment.
    RmppSender(const MadBytes& head, std::vector<std::byte> data);

    std::optional<MadBytes> poll(base::Instant now);
    void on_answer(base::Instant now, const MadBytes& mad);  // ACK, STOP or ABORT
    void on_timer(base::Instant now);
    base::Instant next_deadline() const { return deadline_; }
    bool can_send() const;
    bool is_done() const { return has_failed_ || acknowledged_ == segments_; }
    bool has_failed() const { return has_failed_; }
    const MadBytes& head() const { return head_; }

private:
    MadBytes segment(uint32_t number) const;

    MadBytes head_;
    std::vector<std::byte> data_;
    uint32_t segments_;
    uint32_t acknowledged_ = 0;
    uint32_t next_ = 1;         // the next to send
    uint32_t window_last_ = 1;  // the last that may be sent
    uint8_t tries_ = 0;
    bool has_failed_ = false;
    bool must_abort_ = false;
    base::Instant deadline_ = base::Instant::never();
};

class RmppReceiver {
public:
    // Takes a DATA segment; returns the reply to send, if any.
    std::optional<MadBytes> take(const MadBytes& mad);
    bool is_complete() const { return is_complete_; }
    bool has_failed() const { return has_failed_; }
    const std::vector<std::byte>& data() const { return data_; }
    // The headers of the first segment.
    const MadBytes& head() const { return head_; }

private:
    MadBytes abort(const MadBytes& mad, wire::RmppStatus status);

    MadBytes head_;
    std::vector<std::byte> data_;
    uint32_t received_ = 0;
    uint32_t window_last_ = 1;
    bool is_complete_ = false;
    bool has_failed_ = false;
};

}  // namespace tulle::control
