#include "transport/selective.h"

#include <algorithm>

#include "transport/retry.h"

namespace tulle::transport {
namespace {

using wire::psn_before;
using wire::psn_distance;
using wire::psn_plus;

Scoreboard& open_repairs(Core& core, QueuePair& qp) {
    RequesterState& r = qp.requester;
    if (!qp.scoreboard) qp.scoreboard = std::make_unique<Scoreboard>(core.config.reorder_tolerance);
    if (!r.repairing) {
        qp.scoreboard->start(r.unacknowledged);
        r.loss_told_end = r.unacknowledged;
    }
    r.repairing = true;
    r.timed.reset();  // an answer might be to the earlier packet or to its copy
    qp.scoreboard->reserve(r.sent_end);
    return *qp.scoreboard;
}

// The first PSN, not before this one, that is a packet: READs and atomics have one each.
Psn packet_at(const QueuePair& qp, Psn psn) {
    const uint32_t number = request_of(qp, psn);
    if (number == qp.requester.begun) return psn;
    const SendWork& work = (*qp.send_queue)[number];
    return !work.awaits_data() || psn == work.first_psn ? psn : work.end_psn();
}

void take_over(QueuePair& qp) {
    qp.requester.repairs_due = qp.scoreboard->lost();
    qp.requester.settled_ahead = qp.scoreboard->settled();
}

// Judges losses, and copies the scoreboard's results. Congestion control is told of a loss once for
// everything in flight with it.
void settle(Core& core, QueuePair& qp, Instant now) {
    RequesterState& r = qp.requester;
    Scoreboard& board = *qp.scoreboard;
    board.judge([&](Psn psn) { return packet_at(qp, psn); });
    const bool is_new = board.lost() > r.repairs_due;
    take_over(qp);
    if (is_new && !psn_before(r.unacknowledged, r.loss_told_end)) {
        r.loss_told_end = r.sent_end;
        on_signal(qp.congestion, now,
                  {.kind = Signal::Kind::loss, .packets_in_flight = packets_in_flight(qp)});
    }
    if (!board.is_needed()) close_repairs(qp);
    core.wake(qp);
}

}  // namespace

bool may_tell(const Core& core, const QueuePair& qp, const Packet& packet) {
    const Psn end = psn_plus(packet.psn(), 1);
    const RequesterState& r = qp.requester;
    return repeats_selectively(core, qp) && packet.has_selective_ack() &&
           !psn_before(r.unacknowledged, end) &&
           psn_distance(end, r.unacknowledged) <= core.config.reorder_packets;
}

void on_selective_ack(Core& core, QueuePair& qp, Instant now, const wire::SelectiveAck& ack) {
    RequesterState& r = qp.requester;
    if (r.unacknowledged == r.sent_end || uint64_t{ack.bits} == 0) return;
    Scoreboard& board = open_repairs(core, qp);
    if (!ack.tells_trimmed()) {
        if (board.note_received(ack, r.sent_end)) {
            r.retries_left = qp.retry_count;
            start_timer(core, qp, std::max(now, r.wait_until));  // the receiver may want time
        }
        return settle(core, qp, now);
    }
    for (uint32_t i = 0; i < wire::SelectiveAck::kPsns; ++i) {
        const Psn psn = psn_plus(Psn{ack.first_psn}, i);
        if ((uint64_t{ack.bits} >> i & 1) == 0 || psn_before(psn, board.delivered_end()) ||
            !psn_before(psn, r.sent_end) || packet_at(qp, psn) != psn)
            continue;
        board.mark_lost(psn);
    }
    settle(core, qp, now);
}

void on_repaired(Core& core, QueuePair& qp, Instant now) {
    qp.scoreboard->advance(qp.requester.unacknowledged);
    settle(core, qp, now);
}

void repair(Core& core, QueuePair& qp, Instant now, Psn psn) {
    open_repairs(core, qp).mark_lost(psn);
    settle(core, qp, now);
}

void repair_if_idle(Core& core, QueuePair& qp, Instant now, Psn psn) {
    if (!open_repairs(core, qp).is_under_way_again(psn)) qp.scoreboard->mark_lost(psn);
    settle(core, qp, now);
}

void repair_oldest(Core& core, QueuePair& qp, Instant now) {
    const Psn psn = qp.requester.unacknowledged;
    Scoreboard& board = open_repairs(core, qp);
    if (psn_before(psn, board.delivered_end())) {
        const SendWork& work = (*qp.send_queue)[request_of(qp, psn)];
        board.mark_missing_answers(psn, work.end_psn(), true);
    } else {
        board.mark_probe(psn);
    }
    settle(core, qp, now);
}

void on_answers_missing(Core& core, QueuePair& qp, Instant now, Psn end) {
    RequesterState& r = qp.requester;
    Scoreboard& board = open_repairs(core, qp);
    board.note_delivered(end);
    const uint32_t ahead = psn_distance(r.unacknowledged, end);
    const uint32_t sure = ahead - std::min(ahead, core.config.reorder_tolerance);
    const Psn sure_end = psn_plus(r.unacknowledged, sure);
    for (uint32_t number = r.oldest; number != r.begun; ++number) {
        const SendWork& work = (*qp.send_queue)[number];
        if (work.packets == 0) continue;
        if (!psn_before(work.first_psn, sure_end)) break;
        if (!work.awaits_data()) continue;
        const bool is_begun = psn_before(work.first_psn, r.unacknowledged);
        const Psn from = is_begun ? r.unacknowledged : work.first_psn;
        const Psn to = psn_before(sure_end, work.end_psn()) ? sure_end : work.end_psn();
        board.mark_missing_answers(from, to, false);
    }
    settle(core, qp, now);
}

void on_answer_trimmed(Core& core, QueuePair& qp, Instant now, Psn psn, const SendWork& work) {
    Scoreboard& board = open_repairs(core, qp);
    board.note_delivered(work.end_psn());
    if (!board.is_answered(psn)) board.mark_lost(psn);
    settle(core, qp, now);
}

bool take_answer(Core& core, QueuePair& qp, Psn psn, const SendWork& work) {
    Scoreboard& board = open_repairs(core, qp);
    board.note_delivered(work.end_psn());
    const bool is_new = board.note_answer(psn);
    take_over(qp);  // it may have counted as lost
    return is_new;
}

Psn end_of_answers(const QueuePair& qp, const SendWork& work) {
    Psn psn = qp.requester.unacknowledged;
    while (psn_before(psn, work.end_psn()) && qp.scoreboard->is_answered(psn))
        psn = psn_plus(psn, 1);
    return psn;
}

RequestPlan plan_repair(const QueuePair& qp, uint32_t most) {
    const Scoreboard& board = *qp.scoreboard;
    const Psn psn = board.first_lost(qp.requester.sent_end);
    const uint32_t number = request_of(qp, psn);
    const SendWork& work = (*qp.send_queue)[number];
    RequestPlan plan = plan_packet(qp, number, psn);
    plan.is_repair = true;
    // Of a READ already carried out, request only missing answers, one consecutive run at a time.
    if (work.work == Work::read && psn_before(psn, board.delivered_end())) {
        const uint32_t row = psn_distance(psn, board.end_of_lost(psn, work.end_psn()));
        plan.asked = std::min(plan.asked, std::min(row, most) * qp.mtu);
    }
    return plan;
}

void on_repair_sent(QueuePair& qp, const RequestPlan& plan) {
    RequesterState& r = qp.requester;
    const SendWork& work = (*qp.send_queue)[plan.number];
    const uint32_t psns = work.work == Work::read ? answers_of(qp, plan) : 1;
    qp.scoreboard->on_sent_again(plan.psn, psn_plus(plan.psn, psns), r.sent_end);
    take_over(qp);
}

void close_repairs(QueuePair& qp) {
    RequesterState& r = qp.requester;
    r.repairing = false;
    r.repairs_due = r.settled_ahead = 0;
}

}  // namespace tulle::transport
