#include "cluster/host_account.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "transport/requester.h"

namespace tulle::cluster {
namespace {

using transport::Standing;

bool is_answer(const wire::Packet& packet) {
    return packet.opcode == wire::kCnpOpcode ||
           wire::opcode_info(static_cast<uint8_t>(packet.opcode)).response;
}

bool ends_message(const wire::Packet& packet) {
    const wire::Position position = wire::opcode_info(packet.opcode).position;
    return position == wire::Position::only || position == wire::Position::last;
}

// For a wait that ends with something other than an answer, such as the next message. If no answer
// has come in half of the timeout (`silence`), the answer is lost, or the packet that it was for.
bool is_overdue(Duration silence, Duration wait, bool is_answered) {
    return !is_answered && silence.ps != 0 && 2 * wait >= silence;
}

// What is in flight when a message is posted opens the window for it. As a rule, nothing is in
// flight for longer than a message behind it takes in total.
Duration watched_before(const Span& span) {
    constexpr Duration kMostOnTheWay{100'000'000};
    return span.until - span.from < kMostOnTheWay ? span.until - span.from : kMostOnTheWay;
}

// Algorithms that slow a sender down by marks alone, and by its rate.
bool heeds_marks_alone(transport::Algorithm algorithm) {
    using enum transport::Algorithm;
    return algorithm == none || algorithm == fixed_rate || algorithm == dcqcn || algorithm == ib_cc;
}

// Of a window, this many packets are followed. Chosen.
constexpr uint32_t kFollowedOfWindow = 4;

}  // namespace

void HostAccount::watch(const WatchedQp& qp, const Span& span) {
    const auto is_same = [&](const Watched& known) { return known.id.qpn == qp.qpn; };
    auto known = std::ranges::find_if(qps_, is_same);
    if (known == qps_.end()) known = qps_.insert(known, {.id = qp});
    if (known->qp == nullptr) known->qp = adapter_.queue_pairs().find(qp.qpn);
    TULLE_CHECK(known->qp != nullptr);
    const Duration earlier = needs_ways(*known) ? watched_before(span) : Duration{};
    known->spans.push_back({Instant{std::max(int64_t{0}, span.from.ps - earlier.ps)}, span.until});
    blind_until_ = Instant{};
}

// Its slot stays, because others are known by their numbers.
void HostAccount::forget(transport::Qpn qpn) {
    Watched* known = find(qpn);
    if (known == nullptr) return;
    const WatchedQp id = known->id;
    const bool is_awake = known->is_awake;
    *known = {.id = id};
    known->is_awake = is_awake;
}

// Whether its answers open a window, or their delay decides its pace, so that the ways of its
// packets matter.
bool HostAccount::needs_ways(const Watched& qp) const {
    const transport::CongestionControl& congestion = qp.qp->congestion;
    return !cabling_.journal->follows_few() || ground_.has_window || congestion.has_window() ||
           !heeds_marks_alone(congestion.algorithm);
}

bool HostAccount::is_in_sight(Watched& qp, Instant now) {
    while (qp.span < qp.spans.size() && qp.spans[qp.span].until < now) {
        const Instant until = qp.spans[qp.span++].until;
        // It went out of sight, and nobody may have asked meanwhile.
        if (qp.span < qp.spans.size() && until < qp.spans[qp.span].from) qp.is_in_sight = false;
    }
    const bool is_now = qp.span < qp.spans.size() && qp.spans[qp.span].from <= now;
    if (is_now && !qp.is_in_sight) {
        // The story goes on here. The time until now belongs to no wanted message.
        qp.since = now;
        qp.reason = Reason::nothing;
        qp.was_resending = transport::is_resending(*qp.qp);
        qp.has_resent = qp.is_asked = false;
    }
    return qp.is_in_sight = is_now;
}

bool HostAccount::looks_up(Instant now) {
    Instant next = Instant::never();
    for (Watched& qp : qps_) {
        if (is_in_sight(qp, now)) return true;
        if (qp.span < qp.spans.size()) next = std::min(next, qp.spans[qp.span].from);
    }
    blind_until_ = next;
    return false;
}

// A packet names its receiver, not its sender; the receiver alone identifies the connection.
HostAccount::Watched* HostAccount::sender_of(const wire::Packet& packet) {
    for (Watched& qp : qps_)
        if (qp.qp != nullptr && qp.qp->address.endpoint.value == packet.destination &&
            qp.qp->dest_qpn == packet.dest_qp())
            return &qp;
    return nullptr;
}

HostAccount::Watched* HostAccount::find(transport::Qpn qpn) {
    for (Watched& qp : qps_)
        if (qp.id.qpn == qpn && qp.qp != nullptr) return &qp;
    return nullptr;
}

// Out.

void HostAccount::carry_mark(uint32_t index) {
    const wire::Packet& packet = cabling_.store.packet(index);
    if (!is_answer(packet)) return;
    const Watched* qp = has_marks_ ? sender_of(packet) : nullptr;
    cabling_.journal->mark(index, qp != nullptr ? qp->marked_here : fabric::kNowhere);
}

bool HostAccount::begin_packet(Instant now, uint32_t index) {
    const wire::Packet& packet = cabling_.store.packet(index);
    Watched* qp = sending_ = if_in_sight(sender_of(packet), now);
    if (qp == nullptr) return false;
    wake(*qp);
    sends_answer_ = is_answer(packet);
    if (sends_answer_) return begin_answer(now, index, *qp);
    sends_again_ = adapter_.counters().retransmitted_packets != retransmitted_;
    close(*qp, now);
    if (sends_again_) {
        // The earlier transmission of these bits was wasted.
        const Duration bits = cabling_.line_time(ground_.port, cabling_.store[index].wire_bytes);
        qp->story.add(ShareKind::serialization, here(), Duration{-bits.ps});
        qp->story.add(ShareKind::loss, fabric::kNowhere, bits);
    }
    const bool fills_hole = std::exchange(sends_again_, false) &&
                            qp->qp->loss == transport::LossPolicy::selective_repeat;
    if (!fills_hole && !is_followed(*qp, packet)) return false;
    qp->passed = 0;
    PacketAccount& account = cabling_.journal->open(index);
    account.first_rate = cabling_.rate(ground_.port);
    account.at = now;
    account.story = qp->story.mark();
    return true;
}

// Whether a packet can matter that fills no hole.
bool HostAccount::is_followed(Watched& qp, const wire::Packet& packet) {
    if (!cabling_.journal->follows_few() || ends_message(packet)) return true;
    // Where packets overtake each other, any of them may be the last to arrive.
    if (!ground_.keeps_order || qp.qp->spread != nullptr) return true;
    const transport::RequesterState& r = qp.qp->requester;
    ++qp.passed;
    return packet.ack_request && needs_ways(qp) &&
           qp.passed * kFollowedOfWindow >= wire::psn_distance(r.unacknowledged, r.send_psn);
}

// An answer tells the way of the packet that it is for, if that one was followed. Of the answers to
// a READ only the last one completes something.
bool HostAccount::begin_answer(Instant now, uint32_t index, Watched& qp) {
    const wire::Packet& packet = cabling_.store.packet(index);
    if (!qp.is_asked) return false;
    close_answer(qp, now);
    if (cabling_.journal->follows_few() &&
        (packet.opcode == wire::kCnpOpcode || !ends_message(packet)))
        return false;
    PacketAccount& account = cabling_.journal->open(index);
    account.first_rate = cabling_.rate(ground_.port);
    account.at = now;
    account.story = qp.asked.story;
    account.journey = qp.asked.journey;
    if (cabling_.journal->follows_few() && packet.payload_length == 0) qp.is_asked = false;
    return true;
}

// Until its last bit is sent, its own bits are the only reason.
void HostAccount::end_packet(Instant now, Instant line_end, Duration repeats) {
    if (ground_.send_toll != nullptr) close_lines(now);
    const uint64_t retransmitted = adapter_.counters().retransmitted_packets;
    const bool is_again = retransmitted != retransmitted_;
    retransmitted_ = retransmitted;
    line_end_ = line_end;
    Watched* qp = std::exchange(sending_, nullptr);
    if (qp == nullptr) return;
    if (sends_answer_) {
        if (!qp->is_asked) return;
        qp->asked.journey.add(ShareKind::serialization, here(), line_end - now - repeats);
        qp->asked.journey.add(ShareKind::loss, here(), repeats);
        qp->asked_since = line_end;
        return;
    }
    qp->story.add(ShareKind::serialization, here(), line_end - now - repeats);
    qp->story.add(ShareKind::loss, here(), repeats);
    qp->since = line_end;
    qp->has_resent |= is_again;
}

// In.

void HostAccount::receive(Instant now, uint32_t index) {
    const fabric::Transit& transit = cabling_.store[index];
    const wire::Packet& packet = cabling_.store.packet(index);
    const bool is_followed = (transit.flags & fabric::Transit::kWatched) != 0;
    const bool answers = is_answer(packet);
    if (!answers && (transit.flags & fabric::Transit::kMarked) == 0 && !is_followed) return;
    Watched* qp = find(packet.dest_qp());
    if (qp != nullptr) {
        const fabric::Place marked_at = cabling_.journal->marked_at(index);
        if (answers && marked_at != fabric::kNowhere) qp->marked_at = marked_at;
        if (!answers && (transit.flags & fabric::Transit::kMarked) != 0) {
            qp->marked_here = marked_at;
            has_marks_ = true;
        }
    }
    qp = if_in_sight(qp, now);
    trigger_is_answer_ = answers;
    if (is_followed) receive_followed(now, index, qp);
    if (qp == nullptr || (!answers && !is_followed)) return;
    triggered_ = qp;
    wake(*qp);
}

void HostAccount::receive_followed(Instant now, uint32_t index, Watched* qp) {
    trigger_ = cabling_.journal->take(index);
    const wire::Packet& packet = cabling_.store.packet(index);
    const Duration waited = now - trigger_->at;
    const Duration latency =
        std::min(waited, ground_.receive_latency + memory_.store(packet.payload_length));
    trigger_->journey.add(ShareKind::software, fabric::kNowhere, latency);
    trigger_->journey.add(ShareKind::bus, here(), waited - latency);
    trigger_->at = now;
    trigger_qpn_ = packet.dest_qp();
    if (qp == nullptr) return;
    if (!trigger_is_answer_) {
        // An answer is about the newest packet. A READ is answered for long, and its answers are
        // about the first packet.
        const bool is_reading =
            qp->is_asked && !qp->qp->responder.answers.empty() &&
            qp->qp->responder.answers.back().next_psn != qp->qp->responder.answers.back().end_psn;
        if (is_reading) return;
        qp->asked = *trigger_;
        qp->is_asked = true;
        qp->asked_since = now;
        qp->answer_reason = Reason::line;
        return;
    }
    if (needs_ways(*qp)) qp->way = trigger_->journey;
    Duration longest{};
    for (const fabric::Share& share : trigger_->journey.all())
        if (share.kind == ShareKind::queue && share.time > longest) {
            longest = share.time;
            qp->queued_at = share.place;
        }
}

// Messages.

void HostAccount::note(MessageNote::Kind kind, Instant now, uint32_t id, bool is_task,
                       transport::Qpn qpn) {
    Watched* qp = if_in_sight(find(qpn), now);
    if (qp != nullptr) wake(*qp);
    if (!wanted_.contains(key_of(id, is_task))) return;
    MessageNote note{id, is_task, kind, qpn, 0, now, {}};
    const bool is_triggered =
        trigger_ != nullptr && trigger_qpn_ == qpn &&
        kind == (trigger_is_answer_ ? MessageNote::Kind::completed : MessageNote::Kind::arrived);
    if (is_triggered) {
        note.story = trigger_->story.shares();
        note.story.add(trigger_->journey);
    } else if (qp != nullptr && kind == MessageNote::Kind::arrived && qp->asked.at != Instant{}) {
        // By a packet that was not followed. How it came later than the last that was is not known.
        note.story = qp->asked.story.shares();
        note.story.add(qp->asked.journey);
    } else if (qp != nullptr) {
        close(*qp, now);
        note.story = qp->story.mark().shares();
        // The story already counts the packet on the line until its end: subtract what is still to
        // come.
        if (now < qp->since) note.story.add(ShareKind::serialization, here(), now - qp->since);
    } else {
        return;
    }
    notes.push_back(std::move(note));
}

// Reasons.

HostAccount::Reason HostAccount::reason_of(const Watched& qp, Instant now) const {
    switch (adapter_.queue_pairs().standing(*qp.qp, now)) {
        case Standing::idle: return Reason::nothing;
        case Standing::paced: return Reason::paced;
        case Standing::window: return Reason::window;
        case Standing::congestion_window: return Reason::congestion_window;
        case Standing::answers: return Reason::answers;
        case Standing::not_ready: return Reason::not_ready;
        case Standing::ready: break;
    }
    return reason_on_line(qp, now);
}

// The queue pair has something to send, and the adapter would send it.
HostAccount::Reason HostAccount::reason_on_line(const Watched& qp, Instant now) const {
    const fabric::Port& port = cabling_.port(ground_.port);
    if ((port.held >> qp.id.lane & 1) != 0) return Reason::held;
    const bool is_fetching = ground_.send_toll != nullptr && ground_.send_toll->is_busy(now);
    return is_fetching || now < port.busy_until ? Reason::line : Reason::held;
}

void HostAccount::look_at(Watched& qp, Instant now) {
    // Its own packet is on the line. The next event at its end is the host's.
    if (now < qp.since && ground_.send_toll == nullptr) return;
    const Reason reason = reason_of(qp, now);
    if (reason != qp.reason) {
        close(qp, now);
        qp.reason = reason;
    }
    qp.was_resending = transport::is_resending(*qp.qp);
    if (qp.is_asked && qp.qp->may_answer()) look_at_answer(qp, now);
}

// The queue pair has nothing to send and owes no answer. Most are so until something is posted or
// arrives.
bool HostAccount::is_at_rest(const Watched& qp) {
    const transport::RequesterState& r = qp.qp->requester;
    return qp.reason == Reason::nothing && !qp.was_resending && r.oldest == r.end &&
           !(qp.is_asked && qp.qp->may_answer());
}

void HostAccount::look_at_answer(Watched& qp, Instant now) {
    const Reason reason =
        qp.qp->requester.next_allowed > now ? Reason::paced : reason_on_line(qp, now);
    if (reason == qp.answer_reason) return;
    close_answer(qp, now);
    qp.answer_reason = reason;
}

void HostAccount::wake(Watched& qp) {
    if (std::exchange(qp.is_awake, true)) return;
    quiet_until_ = Instant{};
    awake_.push_back(static_cast<uint32_t>(&qp - qps_.data()));
}

void HostAccount::look_at_all(Instant now) {
    quiet_until_ = ground_.send_toll != nullptr ? Instant{} : Instant::never();
    std::erase_if(awake_, [&](uint32_t number) {
        Watched& qp = qps_[number];
        if (is_in_sight(qp, now)) look_at(qp, now);
        quiet_until_ = std::min(quiet_until_, qp.since);
        return !(qp.is_awake = qp.is_in_sight && !is_at_rest(qp));
    });
    if (trigger_ != nullptr) cabling_.journal->give_back(std::move(trigger_));
    triggered_ = nullptr;
}

void HostAccount::finish(Instant now) {
    std::unordered_set<uint64_t> completed;
    for (const MessageNote& note : notes)
        if (note.kind == MessageNote::Kind::completed)
            completed.insert(key_of(note.id, note.is_task));
    for (size_t i = 0, count = notes.size(); i < count; ++i) {
        const auto [id, is_task, kind, qpn] =
            std::tuple(notes[i].id, notes[i].is_task, notes[i].kind, notes[i].qpn);
        if (kind == MessageNote::Kind::posted && !completed.contains(key_of(id, is_task)))
            note(MessageNote::Kind::completed, now, id, is_task, qpn);
    }
}

// The line was busy with a packet; after its last bit, memory was not ready for the next one.
template <class To>
void HostAccount::add_line(To& to, Instant since, Instant until) const {
    const Instant end = ground_.send_toll != nullptr ? std::clamp(line_end_, since, until) : until;
    to.add(ShareKind::queue, here(), end - since);
    to.add(ShareKind::bus, here(), until - end);
}

template <class To>
void HostAccount::add(To& to, const Watched& qp, Reason reason, Instant since,
                      Instant until) const {
    const Duration time = until - since;
    const auto algorithm = qp.qp->congestion.algorithm;
    switch (reason) {
        case Reason::nothing: return to.add(ShareKind::start, fabric::kNowhere, time);
        case Reason::line: return add_line(to, since, until);
        case Reason::held:
            return to.add(ShareKind::held, cabling_.wait(ground_.port, qp.id.lane).root, time);
        case Reason::not_ready: return to.add(ShareKind::not_ready, here(), time);
        case Reason::paced:
            if (algorithm == transport::Algorithm::fixed_rate)
                return to.add(ShareKind::rate_limit, here(), time);
            [[fallthrough]];
        default:
            return to.add(ShareKind::congestion,
                          qp.marked_at != fabric::kNowhere ? qp.marked_at : qp.queued_at, time);
    }
}

// Whether a queue pair waited for an answer that never came.
bool HostAccount::waited_for_lost(const Watched& qp, Duration wait) const {
    const bool goes_again = sends_again_ || (transport::is_resending(*qp.qp) && !qp.was_resending);
    return goes_again || qp.has_resent ||
           is_overdue(adapter_.queue_pairs().silence_time(*qp.qp), wait, triggered_ == &qp);
}

// Accounts for time in which a queue pair waited for an answer that opened its window, or for one
// that never came.
void HostAccount::close_round_trip(Watched& qp, Duration wait, ShareKind rest) {
    if (waited_for_lost(qp, wait)) return qp.story.add(ShareKind::loss, fabric::kNowhere, wait);
    const Shares none;
    const Shares& way = trigger_ != nullptr ? trigger_->journey : qp.way;
    qp.story.add_round_trip(wait, triggered_ == &qp ? way : none, rest);
}

void HostAccount::close(Watched& qp, Instant now) {
    if (now <= qp.since) return;
    const Instant since = std::exchange(qp.since, now);
    const Duration time = now - since;
    switch (qp.reason) {
        case Reason::window: close_round_trip(qp, time, ShareKind::window); break;
        case Reason::answers: close_round_trip(qp, time, ShareKind::propagation); break;
        case Reason::congestion_window:
            if (waited_for_lost(qp, time))
                qp.story.add(ShareKind::loss, fabric::kNowhere, time);
            else
                add(qp.story, qp, qp.reason, since, now);
            break;
        default: return add(qp.story, qp, qp.reason, since, now);
    }
    qp.has_resent = false;
}

// Memory was slow for each packet that went before those that wait, not for the last one alone.
void HostAccount::close_lines(Instant now) {
    for (const uint32_t number : awake_) {
        Watched& qp = qps_[number];
        if (!qp.is_in_sight) continue;
        if (qp.reason == Reason::line) close(qp, now);
        if (qp.answer_reason == Reason::line) close_answer(qp, now);
    }
}

void HostAccount::close_answer(Watched& qp, Instant now) {
    if (!qp.is_asked || now <= qp.asked_since) return;
    add(qp.asked.journey, qp, qp.answer_reason, qp.asked_since, now);
    qp.asked_since = now;
}

}  // namespace tulle::cluster
