// Selective repeat at the requester: processes what answers report as missing, and chooses what to
// retransmit. The state is the queue pair's scoreboard (loss/scoreboard.h).
#pragma once

#include "transport/core.h"
#include "transport/requester.h"

namespace tulle::transport {

// Reliable datagrams carry one message at a time and use go-back-N.
inline bool repeats_selectively(const Core&, const QueuePair& qp) {
    return qp.loss == LossPolicy::selective_repeat;
}

// An answer brought this, new or old. The packets that it acknowledges by count are already
// acknowledged.
void on_selective_ack(Core& core, QueuePair& qp, Instant now, const wire::SelectiveAck& ack);
// Whether an answer that acknowledges nothing new may report on packets in flight.
bool may_tell(const Core& core, const QueuePair& qp, const Packet& packet);

// The oldest PSN without an answer moved forward while packets were missing.
void on_repaired(Core& core, QueuePair& qp, Instant now);

// The packet, or the answer, with this PSN is lost: retransmits it, or asks for it again.
void repair(Core& core, QueuePair& qp, Instant now, Psn psn);
// The peer reports it as missing. It may already be in flight again for another reason.
void repair_if_idle(Core& core, QueuePair& qp, Instant now, Psn psn);
// A timeout: retransmits the oldest packet; its answer will report the rest. Of a READ, asks for
// all missing answers.
void repair_oldest(Core& core, QueuePair& qp, Instant now);

// The peer has carried out everything before this PSN, yet answers to READs are missing.
void on_answers_missing(Core& core, QueuePair& qp, Instant now, Psn end);
// Only the headers of the answer with this PSN arrived.
void on_answer_trimmed(Core& core, QueuePair& qp, Instant now, Psn psn, const SendWork& work);
// The answer with this PSN arrived. False if it is a duplicate.
bool take_answer(Core& core, QueuePair& qp, Psn psn, const SendWork& work);
// Behind the contiguous answers received, from the oldest PSN on.
Psn end_of_answers(const QueuePair& qp, const SendWork& work);

// Plans the next retransmitted packet, which asks for so many answers at most; records that it was
// sent.
RequestPlan plan_repair(const QueuePair& qp, uint32_t most);
void on_repair_sent(QueuePair& qp, const RequestPlan& plan);

// Nothing is missing any more, or everything is retransmitted.
void close_repairs(QueuePair& qp);

}  // namespace tulle::transport
