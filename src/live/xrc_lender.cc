#include "live/xrc_lender.h"

#include <algorithm>
#include <cstring>

#include "transport/responder.h"

namespace tulle::live {

using transport::CompletionKind;
using transport::SrqId;

void XrcLender::show(SrqId queue, const XrcQueue& terms) {
    shown_[queue.value] = terms;
    put_xrc_queue(world_.own().grants(), world_.own().outside_of_srq(queue.value), terms);
}

bool XrcLender::hide(SrqId queue) {
    if (shown_.erase(queue.value) == 0) return false;
    remove_xrc_queue(world_.own().grants(), world_.own().outside_of_srq(queue.value));
    std::erase_if(wishes_, [&](const Wish& wish) { return wish.queue == queue; });
    std::erase_if(lent_, [&](const auto& entry) { return entry.second.queue == queue; });
    return true;
}

// ---- lending ------------------------------------------------------------------------------------

bool XrcLender::may_borrow(uint32_t peer) {
    Peer& there = world_.at(peer);
    return world_.own().realm().is_own(there.who) && there.has_proven(world_.own().secret().word) &&
           is_same_adapter(there.facts, world_.facts_of({0}));
}

bool XrcLender::on_asked(uint32_t peer, const AskRecord& record) {
    if (record.count == 0 || record.count > kLentAtOnce || !may_borrow(peer)) return false;
    const SrqId queue{world_.own().inside_of_srq(record.queue)};
    const auto found = shown_.find(queue.value);
    // The queue may be gone since the peer has looked.
    if (found == shown_.end() || found->second.file != record.file) return true;
    std::erase_if(wishes_,
                  [&](const Wish& wish) { return wish.queue == queue && wish.peer == peer; });
    lend({queue, peer, record.count});
    return true;
}

void XrcLender::lend(const Wish& wish) {
    const uint32_t waiting = adapter_.shared_receives().waiting(wish.queue);
    const uint32_t count = std::min(wish.count, (waiting + 1) / 2);
    if (count == 0) return wishes_.push_back(wish);
    for (uint32_t more = count; more-- > 0;) lend_one(wish, more);
}

void XrcLender::lend_one(const Wish& wish, uint32_t more) {
    const auto taken = adapter_.shared_receives().take(wish.queue);
    TULLE_CHECK(taken);
    while (++newest_token_ == 0 || lent_.contains(newest_token_)) continue;
    lent_[newest_token_] = {wish.queue, taken->place, wish.peer};
    LendRecord record;
    record.queue = world_.own().outside_of_srq(wish.queue.value);
    record.token = newest_token_;
    record.more = more;
    record.pieces = static_cast<uint32_t>(taken->sges.size());
    record_.resize(sizeof record + taken->sges.size_bytes());
    std::memcpy(record_.data(), &record, sizeof record);
    if (!taken->sges.empty())
        std::memcpy(record_.data() + sizeof record, taken->sges.data(), taken->sges.size_bytes());
    outbox_.send_record(wish.peer, record_);
}

void XrcLender::on_posted(SrqId queue) {
    std::vector<Wish> wanted;
    std::erase_if(wishes_, [&](const Wish& wish) {
        if (wish.queue != queue) return false;
        wanted.push_back(wish);
        return true;
    });
    for (const Wish& wish : wanted) lend(wish);
}

// ---- what becomes of it -------------------------------------------------------------------------

bool XrcLender::is_sane(uint32_t peer, const CompleteRecord& record) const {
    constexpr uint8_t kFlags =
        transport::kWithImmediate | transport::kWithInvalidate | transport::kWasSolicited;
    const auto kind = static_cast<CompletionKind>(record.kind);
    const Peer& there = world_.at(peer);
    return record.status <= static_cast<uint8_t>(transport::Status::general_error) &&
           (kind == CompletionKind::receive ||
            kind == CompletionKind::receive_write_with_immediate) &&
           (record.flags & ~kFlags) == 0 && record.byte_count <= transport::kMaxMessage &&
           record.qpn <= 0xff'ffff && there.has_board() &&
           there.board().blocks[slot_of(wire::Qpn{record.qpn})].load() != 0;
}

// A receive that is not lent to this peer was lent before the queue was destroyed.
bool XrcLender::on_completed(uint32_t peer, const CompleteRecord& record) {
    if (!is_sane(peer, record)) return false;
    const auto found = lent_.find(record.token);
    if (found == lent_.end() || found->second.peer != peer) return true;
    const Lent lent = found->second;
    lent_.erase(found);
    transport::Completion completion;
    completion.status = static_cast<transport::Status>(record.status);
    completion.kind = static_cast<CompletionKind>(record.kind);
    completion.flags = static_cast<uint8_t>(record.flags & ~transport::kWasSolicited);
    completion.service_level = record.service_level;
    completion.vendor_error = record.vendor_error;
    completion.byte_count = record.byte_count;
    completion.immediate_or_rkey = record.immediate_or_rkey;
    completion.qpn = wire::Qpn{record.qpn | kElsewhere};
    completion.source =
        world_.index_in(record.sender_slot).value_or(transport::EndpointIndex{peer});
    adapter_.shared_receives().complete(lent.queue, lent.place, completion,
                                        (record.flags & transport::kWasSolicited) != 0);
    return true;
}

bool XrcLender::on_given_back(uint32_t peer, const GiveBackRecord& record) {
    const auto found = lent_.find(record.token);
    if (found == lent_.end() || found->second.peer != peer) return true;
    const Lent lent = found->second;
    lent_.erase(found);
    adapter_.shared_receives().give_back(lent.queue, lent.place);
    if (has_wishes()) on_posted(lent.queue);
    return true;
}

// Puts the oldest receives in front again.
void XrcLender::on_left(uint32_t peer) {
    std::erase_if(wishes_, [&](const Wish& wish) { return wish.peer == peer; });
    std::vector<uint32_t> tokens;
    for (const auto& [token, lent] : lent_)
        if (lent.peer == peer) tokens.push_back(token);
    std::ranges::sort(tokens, std::greater<>());
    GiveBackRecord record;
    for (const uint32_t token : tokens) {
        record.token = token;
        (void)on_given_back(peer, record);
    }
}

}  // namespace tulle::live
