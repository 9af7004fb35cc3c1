#include "control/subnet/sa/rmpp.h"

#include <algorithm>

namespace tulle::control {
namespace {

constexpr size_t kSegmentOverhead = wire::SaHeader::kSize;
constexpr uint32_t kMostSegments = 65'536;  // of a message from outside: 13 MB

void put_rmpp(const wire::RmppHeader& header, MadBytes& mad) {
    wire::write(header, mad.bytes().subspan(wire::MadHeader::kSize));
}

}  // namespace

wire::RmppHeader rmpp_of(const MadBytes& mad) {
    return *wire::parse<wire::RmppHeader>(mad.bytes().subspan(wire::MadHeader::kSize));
}

wire::SaHeader sa_header_of(const MadBytes& mad) {
    return *wire::parse<wire::SaHeader>(
        mad.bytes().subspan(wire::MadHeader::kSize + wire::RmppHeader::kSize));
}

bool is_rmpp(const MadBytes& mad) {
    return (rmpp_of(mad).flags.value & wire::kRmppActive) != 0;
}

MadBytes rmpp_answer(const MadBytes& segment, uint8_t type, uint8_t status, uint32_t number,
                     uint32_t window_last) {
    MadBytes mad = segment;
    wire::RmppHeader header;
    header.version = 1;
    header.type = type;
    header.response_time = 31;
    header.flags.value = wire::kRmppActive;
    header.status = status;
    header.segment_number = number;
    header.payload_length = window_last;
    put_rmpp(header, mad);
    const auto rest = mad.bytes().subspan(wire::kSaDataOffset);
    std::fill(rest.begin(), rest.end(), std::byte{0});
    return mad;
}

RmppSender::RmppSender(const MadBytes& head, std::vector<std::byte> data)
    : head_(head),
      data_(std::move(data)),
      segments_(std::max<uint32_t>(
          1, static_cast<uint32_t>((data_.size() + wire::kSaDataSize - 1) / wire::kSaDataSize))) {}

bool RmppSender::can_send() const {
    return must_abort_ || (!is_done() && next_ <= std::min(window_last_, segments_));
}

std::optional<MadBytes> RmppSender::poll(base::Instant now) {
    if (must_abort_) {
        must_abort_ = false;
        return rmpp_answer(head_, wire::kRmppAbort, wire::kRmppTooManyRetries, 0, 0);
    }
    if (!can_send()) return std::nullopt;
    deadline_ = now + kRmppTimeout;
    return segment(next_++);
}

MadBytes RmppSender::segment(uint32_t number) const {
    MadBytes mad = head_;
    const bool is_first = number == 1;
    const bool is_last = number == segments_;
    const size_t from = size_t{number - 1} * wire::kSaDataSize;
    const size_t length = std::min(data_.size() - std::min(from, data_.size()), wire::kSaDataSize);
    wire::RmppHeader header;
    header.version = 1;
    header.type = wire::kRmppData;
    header.response_time = 31;
    header.flags.value = static_cast<uint8_t>(
        wire::kRmppActive | (is_first ? wire::kRmppFirst : 0) | (is_last ? wire::kRmppLast : 0));
    header.segment_number = number;
    if (is_last)
        header.payload_length = static_cast<uint32_t>(length + kSegmentOverhead);
    else if (is_first)
        header.payload_length =
            static_cast<uint32_t>(data_.size() + size_t{segments_} * kSegmentOverhead);
    put_rmpp(header, mad);
    const auto rest = mad.bytes().subspan(wire::kSaDataOffset);
    std::fill(rest.begin(), rest.end(), std::byte{0});
    std::copy_n(data_.begin() + static_cast<ptrdiff_t>(from), length, rest.begin());
    return mad;
}

void RmppSender::on_answer(base::Instant now, const MadBytes& mad) {
    const wire::RmppHeader header = rmpp_of(mad);
    if (is_done()) return;
    if (header.type == wire::kRmppStop || header.type == wire::kRmppAbort) {
        has_failed_ = true;
        deadline_ = base::Instant::never();
        return;
    }
    // 13.6.6: an unsent segment cannot be acknowledged. Segment 0 opens the window of an answer to
    // a long question.
    if (header.type != wire::kRmppAck || header.segment_number >= next_ ||
        header.payload_length < header.segment_number)
        return;
    if (header.segment_number < acknowledged_) return;
    if (header.segment_number > acknowledged_) tries_ = 0;
    acknowledged_ = header.segment_number;
    window_last_ = std::max(window_last_, header.payload_length);
    deadline_ = is_done() ? base::Instant::never() : now + kRmppTimeout;
}

void RmppSender::on_timer(base::Instant now) {
    if (now < deadline_ || is_done()) return;
    if (++tries_ > kRmppRetries) {
        has_failed_ = must_abort_ = true;
        deadline_ = base::Instant::never();
        return;
    }
    next_ = acknowledged_ + 1;
    deadline_ = now + kRmppTimeout;
}

MadBytes RmppReceiver::abort(const MadBytes& mad, wire::RmppStatus status) {
    has_failed_ = true;
    return rmpp_answer(mad, wire::kRmppAbort, status, 0, 0);
}

std::optional<MadBytes> RmppReceiver::take(const MadBytes& mad) {
    const wire::RmppHeader header = rmpp_of(mad);
    if (has_failed_) return std::nullopt;
    if (header.version != 1) return abort(mad, wire::kRmppBadVersion);
    if (header.type != wire::kRmppData) return abort(mad, wire::kRmppBadType);
    const bool is_first = (header.flags.value & wire::kRmppFirst) != 0;
    const bool is_last = (header.flags.value & wire::kRmppLast) != 0;
    if ((header.segment_number == 1) != is_first) return abort(mad, wire::kRmppBadFirstSegment);
    if (header.segment_number > kMostSegments || header.segment_number > window_last_)
        return abort(mad, wire::kRmppSegmentTooBig);
    if (is_complete_ || header.segment_number != received_ + 1)  // repeated, or one is missing
        return rmpp_answer(mad, wire::kRmppAck, wire::kRmppOk, received_, window_last_);
    if (is_last && (header.payload_length < kSegmentOverhead ||
                    header.payload_length > kSegmentOverhead + wire::kSaDataSize))
        return abort(mad, wire::kRmppBadLastLength);
    if (is_first) head_ = mad;
    const size_t length = is_last ? header.payload_length - kSegmentOverhead : wire::kSaDataSize;
    const auto part = mad.bytes().subspan(wire::kSaDataOffset, length);
    data_.insert(data_.end(), part.begin(), part.end());
    received_ = header.segment_number;
    is_complete_ = is_last;
    // One ACK for each window, and one for the end.
    if (!is_last && received_ != window_last_) return std::nullopt;
    if (!is_last) window_last_ = received_ + kRmppWindow;
    return rmpp_answer(mad, wire::kRmppAck, wire::kRmppOk, received_, window_last_);
}

}  // namespace tulle::control
