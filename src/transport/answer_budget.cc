#include "transport/answer_budget.h"

#include <algorithm>

#include "transport/core.h"

namespace tulle::transport {
namespace {

// Chosen: several times what a process waits for its CPU, less than a usual timeout (67 ms).
constexpr Duration kPatience{20'000'000'000};  // 20 ms

// What the oldest request has got of its answers is no longer due.
uint32_t answers_due(const QueuePair& qp) {
    const RequesterState& r = qp.requester;
    if (r.answers_asked == 0 || r.oldest == r.begun) return r.answers_asked;
    const SendWork& oldest = (*qp.send_queue)[r.oldest];
    if (oldest.work != Work::read || !wire::psn_before(oldest.first_psn, r.unacknowledged))
        return r.answers_asked;
    const uint32_t came =
        std::min(wire::psn_distance(oldest.first_psn, r.unacknowledged), oldest.packets);
    return r.answers_asked - std::min(came, r.answers_asked);
}

void call_next(Core& core) {
    AnswerBudget& budget = core.answers;
    if (budget.line.empty() || !budget.is_half_free()) return;
    QueuePair& next = core.at(budget.line.pop_front());
    next.answer_line = AnswerLine::called;
    core.wake(next);
}

void set_share(Core& core, QueuePair& qp, uint32_t share) {
    RequesterState& r = qp.requester;
    const uint32_t before = std::exchange(r.answers_share, share);
    core.answers.due = core.answers.due + share - before;
    if (share != before) call_next(core);
}

// Looks at all queue pairs, and so not often.
void write_off(Core& core, Instant now) {
    AnswerBudget& budget = core.answers;
    if (now - budget.written_off_at < kPatience) return;
    budget.written_off_at = now;
    core.for_each([&](QueuePair& qp) {
        const RequesterState& r = qp.requester;
        if (r.answers_share != 0 && now - r.answers_at >= kPatience) set_share(core, qp, 0);
    });
}

void wait_in_line(Core& core, QueuePair& qp, Instant now) {
    core.look_again(qp, now + kPatience);
    if (qp.answer_line == AnswerLine::waits) return;
    qp.answer_line = AnswerLine::waits;
    if (core.answers.line.full()) core.answers.line.grow();
    core.answers.line.push_back(Core::index_of(qp.number));
}

}  // namespace

bool may_ask(Core& core, QueuePair& qp, Instant now, uint32_t packets) {
    if (!qp.counts_answers) return true;
    const AnswerBudget& budget = core.answers;
    const auto is_its_turn = [&] {
        return budget.line.empty() || qp.answer_line == AnswerLine::called || budget.due == 0;
    };
    if (!budget.has_room(packets)) write_off(core, now);
    if (!budget.has_room(packets) || !is_its_turn()) {
        wait_in_line(core, qp, now);
        return false;
    }
    if (qp.answer_line == AnswerLine::called) qp.answer_line = AnswerLine::none;
    return true;
}

void on_read_begun(Core& core, QueuePair& qp, Instant now, uint32_t packets) {
    if (!qp.counts_answers) return;
    qp.requester.answers_asked += packets;
    on_answers(core, qp, now);
}

void on_read_ended(Core& core, QueuePair& qp, uint32_t packets) {
    RequesterState& r = qp.requester;
    if (!qp.counts_answers) return;
    r.answers_asked -= std::min(packets, r.answers_asked);
    set_share(core, qp, std::min(r.answers_share, r.answers_asked));
}

void on_answers(Core& core, QueuePair& qp, Instant now) {
    qp.requester.answers_at = now;
    set_share(core, qp, answers_due(qp));
}

void forget_answers(Core& core, QueuePair& qp) {
    qp.requester.answers_asked = 0;
    set_share(core, qp, 0);
    if (std::exchange(qp.answer_line, AnswerLine::none) != AnswerLine::waits) return;
    base::Ring<uint32_t>& line = core.answers.line;
    for (size_t left = line.size(); left > 0; --left)
        if (const uint32_t index = line.pop_front(); index != Core::index_of(qp.number))
            line.push_back(index);
}

}  // namespace tulle::transport
