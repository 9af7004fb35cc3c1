// Selective repeat at the requester: what answers say of packets that are missing, and what goes
// again because of it. The queue pair's scoreboard (loss/scoreboard.h) keeps the books; here they
// are opened, asked and closed.
#pragma once

#include "transport/core.h"
#include "transport/requester.h"

namespace tulle::transport {

// Reliable datagrams carry one message at a time and go back.
inline bool repeats_selectively(const Core&, const QueuePair& qp) {
    return qp.loss == LossPolicy::selective_repeat;
}

// An answer brought this, of now or of before. What it counted is acknowledged already.
void on_selective_ack(Core& core, QueuePair& qp, Instant now, const wire::SelectiveAck& ack);
// Whether an answer that acknowledges nothing new may tell of packets that are under way.
bool may_tell(const Core& core, const QueuePair& qp, const Packet& packet);

// The oldest PSN without an answer has moved on while something was missing.
void on_repaired(Core& core, QueuePair& qp, Instant now);

// This packet is lost, or the answer with this PSN: it goes again, or is asked for again.
void repair(Core& core, QueuePair& qp, Instant now, Psn psn);
// The peer names it as missing. It may have gone again for another reason.
void repair_if_idle(Core& core, QueuePair& qp, Instant now, Psn psn);
// Nothing came for too long: the oldest packet goes again, and its answer will tell of the rest. Of
// a READ all answers that are missing are asked for.
void repair_oldest(Core& core, QueuePair& qp, Instant now);

// The peer has carried out everything before this PSN, yet answers to READs are missing.
void on_answers_missing(Core& core, QueuePair& qp, Instant now, Psn end);
// Of the answer with this PSN only the headers came.
void on_answer_trimmed(Core& core, QueuePair& qp, Instant now, Psn psn, const SendWork& work);
// The answer with this PSN came. False if it is here already.
bool take_answer(Core& core, QueuePair& qp, Psn psn, const SendWork& work);
// Behind the answers from the oldest PSN on that are here.
Psn end_of_answers(const QueuePair& qp, const SendWork& work);

// The packet that goes again next; and it has gone.
RequestPlan plan_repair(const QueuePair& qp);
void on_repair_sent(QueuePair& qp, const RequestPlan& plan);

// Nothing is missing any more, or all goes again.
void close_repairs(QueuePair& qp);

}  // namespace tulle::transport
