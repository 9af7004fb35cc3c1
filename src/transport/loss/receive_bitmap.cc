#include "transport/loss/receive_bitmap.h"

namespace tulle::transport {

using wire::Psn;
using wire::psn_before;
using wire::psn_distance;
using wire::psn_plus;
using wire::SelectiveAck;

Arrival ReceiveBitmap::note(Psn expected, Psn psn) {
    const uint32_t ahead = psn_distance(expected, psn);
    if (ahead >= psns_) return Arrival::too_far;
    received_.reserve(expected, ahead + 1);
    if (received_.test(psn)) return Arrival::known;
    received_.set(psn);
    if (count_ == 0 || psn_before(furthest_, psn)) furthest_ = psn;
    ++count_;
    return Arrival::early;
}

void ReceiveBitmap::forget(Psn psn) {
    if (!has(psn)) return;
    received_.clear(psn);
    --count_;
}

void ReceiveBitmap::clear() {
    received_.clear();
    trimmed_.clear();
    count_ = 0;
}

void ReceiveBitmap::note_trimmed(Psn psn) {
    const auto place = std::ranges::lower_bound(trimmed_, psn, psn_before);
    if (place == trimmed_.end() || *place != psn) trimmed_.insert(place, psn);
}

SelectiveAck ReceiveBitmap::tell(Psn expected, Psn newest) {
    std::erase_if(trimmed_, [&](Psn psn) { return psn_before(psn, expected); });
    if (!trimmed_.empty()) return tell_trimmed(expected);
    SelectiveAck ack;
    ack.first_psn = expected.value;
    if (count_ == 0) return ack;
    Psn first = expected;
    if (psn_distance(expected, furthest_) >= SelectiveAck::kPsns)
        first = psn_plus(furthest_, wire::kPsnMask + 2 - SelectiveAck::kPsns);
    if (psn_before(expected, newest) && psn_before(newest, first)) first = newest;
    ack.first_psn = first.value;
    uint64_t bits = 0;
    const Psn end = psn_plus(furthest_, 1);
    for (uint32_t i = 0; i < SelectiveAck::kPsns && psn_before(psn_plus(first, i), end); ++i)
        bits |= uint64_t{received_.test(psn_plus(first, i))} << i;
    ack.bits = bits;
    return ack;
}

SelectiveAck ReceiveBitmap::tell_trimmed(Psn expected) {
    SelectiveAck ack;
    ack.tells = static_cast<uint32_t>(SelectiveAck::Tells::trimmed);
    ack.first_psn = trimmed_.front().value;
    uint64_t bits = 0;
    const Psn first = trimmed_.front();
    std::erase_if(trimmed_, [&](Psn psn) {
        const uint32_t at = psn_distance(first, psn);
        if (at >= SelectiveAck::kPsns) return false;
        // It may have come whole since.
        const bool is_here = psn_before(psn, expected) || has(psn);
        bits |= uint64_t{!is_here} << at;
        return true;
    });
    ack.bits = bits;
    return ack;
}

}  // namespace tulle::transport
