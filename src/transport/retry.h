// Trying again: lost packets, receivers that are not ready, silence (IBTA vol 1, 9.7.5.2
// and 9.7.6).
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// The request in the queue that this PSN belongs to; it has begun and is not done.
uint32_t request_of(const QueuePair& qp, Psn psn);

// This PSN is lost, the peer or a missing answer says so: it goes again, by the loss policy.
void retry_lost(Core& core, QueuePair& qp, Instant now, Psn psn);

// Something that came tells that the answer due now is lost: it is asked for again. Whatever else
// was under way behind it tells the same and changes nothing (9.7.5.2.8).
void retry_missing_answer(Core& core, QueuePair& qp, Instant now);

// The peer had no receive for this PSN and asks to wait.
void on_receiver_not_ready(Core& core, QueuePair& qp, Instant now, Psn psn, uint8_t timer_code);

// Something was acknowledged: retries count anew, and the timer too.
void on_progress(Core& core, QueuePair& qp, Instant now);

// A packet has gone that wants an answer: starts the timer if it does not run.
void expect_answer(Core& core, QueuePair& qp, Instant now);

// The queue pair's time has come: it was silent for too long, or may go on now.
void on_time(Core& core, QueuePair& qp, Instant now);

// 4.096 us times 2 to the power of the code; for ever with code 0 (9.7.6.1.3).
Duration ack_timeout(uint8_t code);

}  // namespace tulle::transport
