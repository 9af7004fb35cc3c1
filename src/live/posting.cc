#include "live/posting.h"

#include <algorithm>

#include "live/carrier.h"
#include "live/clock.h"

namespace tulle::live {
namespace {

using transport::Refusal;

constexpr uint32_t kPostsToStream = 8;

bool has_packets(const transport::QueuePair& qp) {
    return qp.requester.oldest != qp.requester.end;
}

}  // namespace

Posting::Held::Held(const transport::SendRequest& wanted) : request(wanted) {
    std::ranges::copy(wanted.inline_data, inline_data.begin());
    request.inline_data = std::span(inline_data).first(wanted.inline_data.size());
    std::ranges::copy(wanted.sges, sges.begin());
    request.sges = std::span(sges).first(wanted.sges.size());
}

Peer* Posting::peer_of(const transport::QueuePair& qp) {
    const auto endpoint = qp.address.endpoint;
    if (connections_.way_to(endpoint).way != Way::direct) return nullptr;
    Peer& peer = world_.at(endpoint.value);
    const bool is_open = !peer.is_gone && peer.can_send() &&
                         connections_.agrees(connections_.of(qp.number)) && world_.may_copy(peer);
    return is_open ? &peer : nullptr;
}

bool Posting::keep(const transport::QueuePair& qp, Peer& peer,
                   const transport::SendRequest& request) {
    return direct_.add(peer, adapter_, qp, world_.own().outside_of(qp.number),
                       world_.own().secret().instance, connections_.of(qp.number).ends, request);
}

Refusal Posting::post(wire::Qpn qpn, const transport::SendRequest& request) {
    const transport::QueuePair* qp = adapter_.queue_pairs().find(qpn);
    if (qp == nullptr) return Refusal::invalid_argument;
    ++posts_in_a_row_;
    outstanding_.on_posted(qpn);
    bool& sends_only_copies = connections_.of(qpn).sends_only_copies;
    const bool is_copy = DirectPath::takes(*qp, request);
    if (!has_packets(*qp)) sends_only_copies = true;
    sends_only_copies = sends_only_copies && is_copy;
    if (is_copy && !has_packets(*qp) && !held_.contains(qpn.value)) {
        Peer* const peer = peer_of(*qp);
        if (peer != nullptr && keep(*qp, *peer, request)) return Refusal::none;
    } else if (sends_only_copies && peer_of(*qp) != nullptr) {
        if (is_full(*qp)) return Refusal::queue_full;
        hold(*qp, request);
        return Refusal::none;
    }
    (void)direct_.flush(adapter_);  // work completes in the order in which it was posted
    release(qpn);
    posts_packets_ = true;
    return adapter_.post_send(qpn, request);
}

void Posting::finish() {
    progress_.on_posted();
    direct_.set_streaming(posts_in_a_row_ > kPostsToStream);
    if (direct_.flush(adapter_)) posts_packets_ = true;
    advance();
    if (posts_packets_ || adapter_.has_work()) {
        posts_packets_ = false;
        const base::Instant time = now();
        carrier_.transmit(time);
        if (carrier_.wire() != nullptr) carrier_.deliver_wire(time);
        if (carrier_.has_local()) return progress_.make(true);
        carrier_.flush();
    }
    worker_.tell_events();
    progress_.on_sent();
}

void Posting::lend_posted(transport::SrqId queue) {
    carrier_.lender().on_posted(queue);
    carrier_.flush();
    progress_.wake_thread_in_time();
}

Refusal Posting::arm_cq(transport::CqId cq, transport::CompletionQueue::Wish wish) {
    outstanding_.on_armed(cq);
    const Refusal refusal = adapter_.completions().arm(cq, wish);
    progress_.on_armed();
    return refusal;
}

void Posting::settle() {
    posts_in_a_row_ = 0;
    if (direct_.is_awaiting()) direct_.settle(adapter_, now());
    advance();
}

bool Posting::needs_answers() {
    return !held_.empty() || outstanding_.need_answers(now());
}

// ---- copies that wait ---------------------------------------------------------------------------

bool Posting::is_full(const transport::QueuePair& qp) const {
    const auto found = held_.find(qp.number.value);
    const size_t held = found == held_.end() ? 0 : found->second.size();
    return qp.requester.end - qp.requester.oldest + held >= qp.send_size.requests;
}

void Posting::hold(const transport::QueuePair& qp, const transport::SendRequest& request) {
    held_[qp.number.value].emplace_back(request);
}

void Posting::advance() {
    for (auto entry = held_.begin(); entry != held_.end();) {
        const bool is_done = advance(wire::Qpn{entry->first}, entry->second);
        entry = is_done ? held_.erase(entry) : std::next(entry);
    }
}

// True if nothing is held any more.
bool Posting::advance(wire::Qpn qpn, Queue& queue) {
    const transport::QueuePair* qp = adapter_.queue_pairs().find(qpn);
    if (qp == nullptr) return true;
    while (!queue.empty() && !has_packets(*qp)) {
        Peer* const peer = peer_of(*qp);
        if (peer == nullptr || !keep(*qp, *peer, queue.front().request)) break;
        queue.pop_front();
    }
    (void)direct_.flush(adapter_);
    if (has_packets(*qp)) return queue.empty();
    // The short way is closed by now.
    for (; !queue.empty(); queue.pop_front()) (void)adapter_.post_send(qpn, queue.front().request);
    return true;
}

void Posting::release(wire::Qpn qpn) {
    const auto found = held_.find(qpn.value);
    if (found == held_.end()) return;
    const Queue queue = std::move(found->second);
    held_.erase(found);
    for (const Held& held : queue) (void)adapter_.post_send(qpn, held.request);
    posts_packets_ = true;
}

}  // namespace tulle::live
