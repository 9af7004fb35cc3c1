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
    note_untold(psn);  // also a duplicate: the sender has not learned of it
    if (received_.test(psn)) return Arrival::known;
    received_.set(psn);
    if (count_ == 0 || psn_before(furthest_, psn)) furthest_ = psn;
    ++count_;
    return Arrival::early;
}

void ReceiveBitmap::note_untold(Psn psn) {
    if (!has_untold_ || psn_before(psn, untold_first_)) untold_first_ = psn;
    if (!has_untold_ || psn_before(untold_last_, psn)) untold_last_ = psn;
    has_untold_ = true;
}

void ReceiveBitmap::forget(Psn psn) {
    if (!has(psn)) return;
    received_.clear(psn);
    --count_;
}

void ReceiveBitmap::clear() {
    received_.clear();
    trimmed_.clear();
    has_untold_ = false;
    count_ = 0;
}

void ReceiveBitmap::note_trimmed(Psn psn) {
    const auto place = std::ranges::lower_bound(trimmed_, psn, psn_before);
    if (place == trimmed_.end() || *place != psn) trimmed_.insert(place, psn);
}

Psn ReceiveBitmap::first_to_tell(Psn expected) const {
    Psn first = expected;
    if (psn_distance(expected, furthest_) >= SelectiveAck::kPsns)
        first = psn_plus(furthest_, wire::kPsnMask + 2 - SelectiveAck::kPsns);
    const bool is_before =
        has_untold_ && psn_before(expected, untold_first_) && psn_before(untold_first_, first);
    return is_before ? untold_first_ : first;
}

SelectiveAck ReceiveBitmap::tell(Psn expected) {
    std::erase_if(trimmed_, [&](Psn psn) { return psn_before(psn, expected); });
    if (!trimmed_.empty()) return tell_trimmed(expected);
    SelectiveAck ack;
    ack.first_psn = expected.value;
    if (count_ == 0) has_untold_ = false;
    if (count_ == 0) return ack;
    const Psn first = first_to_tell(expected);
    ack.first_psn = first.value;
    const uint32_t psns = psn_distance(first, furthest_) + 1;
    const uint64_t those = psns < SelectiveAck::kPsns ? (uint64_t{1} << psns) - 1 : UINT64_MAX;
    ack.bits = received_.bits_from(first) & those;
    untold_first_ = psn_plus(first, SelectiveAck::kPsns);
    has_untold_ = has_untold_ && !psn_before(untold_last_, untold_first_);
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
        // It may have arrived whole since.
        const bool is_here = psn_before(psn, expected) || has(psn);
        bits |= uint64_t{!is_here} << at;
        return true;
    });
    ack.bits = bits;
    return ack;
}

}  // namespace tulle::transport
