#include "transport/loss/scoreboard.h"

namespace tulle::transport {

using wire::Psn;
using wire::psn_before;
using wire::psn_distance;
using wire::psn_plus;

void Scoreboard::start(Psn first) {
    first_ = delivered_end_ = judged_end_ = furthest_ = proof_next_ = first;
    received_count_ = lost_count_ = answers_ = 0;
    has_probe_ = false;
    for (PsnBits* bits : {&received_, &lost_, &sent_again_, &answered_}) bits->clear();
    while (!again_.empty()) again_.pop_front();
}

void Scoreboard::reserve(Psn end) {
    const uint32_t psns = psn_distance(first_, end);
    if (psns <= reserved_) return;
    for (PsnBits* bits : {&received_, &lost_, &sent_again_, &answered_})
        bits->reserve(first_, psns);
    reserved_ = psns;
}

void Scoreboard::advance(Psn first) {
    if (!psn_before(first_, first)) return;
    for (size_t i = 0; i < again_.size(); ++i)
        if (psn_before(again_[i].psn, first)) note_arrival_again(again_[i]);
    note_arrival(psn_plus(first, wire::kPsnMask));
    // Bits are set only within the reserved range.
    const Psn end = psn_distance(first_, first) < reserved_ ? first : psn_plus(first_, reserved_);
    received_count_ -= received_.take(first_, end);
    lost_count_ -= lost_.take(first_, end);
    answers_ -= answered_.take(first_, end);
    sent_again_.take(first_, end);
    first_ = first;
    if (psn_before(judged_end_, first)) judged_end_ = first;
    if (psn_before(delivered_end_, first)) delivered_end_ = first;
}

void Scoreboard::note_delivered(Psn end) {
    if (!psn_before(delivered_end_, end)) return;
    note_arrival(psn_plus(end, wire::kPsnMask));
    delivered_end_ = end;
}

bool Scoreboard::note_received(const wire::SelectiveAck& ack, Psn sent_end) {
    const uint32_t before = received_count_;
    const uint64_t unknown = ack.bits & ~received_.bits_from(Psn{ack.first_psn});
    for (uint64_t bits = unknown; bits != 0; bits &= bits - 1) {
        const auto at = static_cast<uint32_t>(std::countr_zero(bits));
        const Psn psn = psn_plus(Psn{ack.first_psn}, at);
        if (psn_before(psn, first_) || !psn_before(psn, sent_end) || received_.test(psn) ||
            answered_.test(psn))
            continue;
        received_.set(psn);
        ++received_count_;
        if (lost_.test(psn)) {
            lost_.clear(psn);
            --lost_count_;
        }
        note_arrival(psn);
        for (size_t i = 0; i < again_.size(); ++i)
            if (again_[i].psn == psn) note_arrival_again(again_[i]);
    }
    return received_count_ != before;
}

bool Scoreboard::note_answer(Psn psn) {
    if (answered_.test(psn)) return false;
    answered_.set(psn);
    ++answers_;
    if (received_.test(psn)) {  // the request; what counts now is its answer
        received_.clear(psn);
        --received_count_;
    }
    if (lost_.test(psn)) {
        lost_.clear(psn);
        --lost_count_;
    }
    return true;
}

// A copy of this packet has arrived: not before the first copy was sent.
void Scoreboard::note_arrival(Psn psn) {
    if (!psn_before(psn, furthest_)) furthest_ = psn_plus(psn, 1);
}

void Scoreboard::note_arrival_again(const Again& again) {
    if (!again.proves || again.number < proof_number_) return;
    proof_number_ = again.number;
    if (psn_before(proof_next_, again.next)) proof_next_ = again.next;
}

// First copies before this PSN that have not arrived are lost.
Psn Scoreboard::proven_end() const {
    const bool is_far =
        psn_distance(first_, furthest_) > tolerance_ + 1 && psn_before(first_, furthest_);
    const Psn by_first = is_far ? psn_plus(furthest_, wire::kPsnMask - tolerance_) : first_;
    return psn_before(by_first, proof_next_) ? proof_next_ : by_first;
}

bool Scoreboard::is_proven_lost(const Again& again) const {
    if (again.number < proof_number_) return true;
    return psn_before(again.next, furthest_) && psn_distance(again.next, furthest_) > tolerance_;
}

void Scoreboard::judge_first(Psn psn) {
    if (psn_before(psn, first_) || is_here(psn) || sent_again_.test(psn)) return;
    mark_lost(psn);
}

void Scoreboard::judge_again() {
    while (!again_.empty()) {
        const Again again = again_.front();
        const bool is_settled = psn_before(again.psn, first_) || is_here(again.psn);
        if (!is_settled && !is_proven_lost(again)) return;
        again_.pop_front();
        if (is_settled) continue;
        sent_again_.clear(again.psn);
        mark_lost(again.psn);
    }
}

void Scoreboard::forget_again(Psn psn) {
    for (size_t left = again_.size(); left != 0; --left)
        if (const Again again = again_.pop_front(); again.psn != psn) again_.push_back(again);
}

bool Scoreboard::mark_lost(Psn psn) {
    if (lost_.test(psn)) return false;
    if (received_.test(psn)) {  // the receiver had no room for it at its turn
        received_.clear(psn);
        --received_count_;
    }
    if (sent_again_.test(psn)) forget_again(psn);
    lost_.set(psn);
    ++lost_count_;
    return true;
}

void Scoreboard::mark_probe(Psn psn) {
    mark_lost(psn);
    probe_ = psn;
    has_probe_ = true;
}

void Scoreboard::mark_missing_answers(Psn from, Psn end, bool again) {
    for (Psn psn = answered_.find(from, end, false); psn_before(psn, end);
         psn = answered_.find(psn_plus(psn, 1), end, false))
        if (again || !sent_again_.test(psn)) mark_lost(psn);
}

void Scoreboard::on_sent_again(Psn psn, Psn end, Psn next) {
    for (Psn at = psn; psn_before(at, end); at = psn_plus(at, 1)) {
        if (lost_.test(at)) {
            lost_.clear(at);
            --lost_count_;
        }
        sent_again_.set(at);
    }
    const bool is_probe = has_probe_ && probe_ == psn;
    if (is_probe) has_probe_ = false;
    if (psn_before(psn, delivered_end_)) return;  // a request for answers: watched by a timeout
    if (again_.full()) again_.grow();
    again_.push_back({psn, next, ++sent_again_count_, is_probe || tolerance_ == 0});
}

}  // namespace tulle::transport
