// Trying again: lost packets, receivers that are not ready, silence (IBTA vol 1, 9.7.5.2
// and 9.7.6).
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// The request in the queue that this PSN belongs to; it has begun and is not done.
uint32_t request_of(const QueuePair& qp, Psn psn);

// Packets that are not acknowledged, nor known to be here or lost.
uint32_t packets_in_flight(const QueuePair& qp);

// Go-back-N: this PSN is lost, the peer or a missing answer says so, and goes again with all behind
// it. One loss is told many times, by each answer behind it; it costs one retry. `is_named`: the
// peer says so of this PSN alone, and only once, so that it is lost again if it has gone again.
void retry_lost(Core& core, QueuePair& qp, Instant now, Psn psn, bool is_named);

// The peer had no receive for this PSN and asks to wait. Whether it keeps what comes behind it.
void on_receiver_not_ready(Core& core, QueuePair& qp, Instant now, Psn psn, uint8_t timer_code,
                           bool keeps_others);

// So many packets more are answered, by a packet that was marked on its way or not: retries count
// anew, the timer too, and congestion control is told.
void on_progress(Core& core, QueuePair& qp, Instant now, uint32_t packets, bool marked);

// The time from now on until silence counts as loss; none if nothing is outstanding.
void start_timer(Core& core, QueuePair& qp, Instant now);
// A packet has gone that wants an answer: starts the timer if it does not run.
inline void expect_answer(Core& core, QueuePair& qp, Instant now) {
    if (qp.requester.ack_deadline == Instant::never()) start_timer(core, qp, now);
}

// The queue pair's time has come: it was silent for too long, or may go on now.
void on_time(Core& core, QueuePair& qp, Instant now);

// 4.096 us times 2 to the power of the code; for ever with code 0 (9.7.6.1.3).
Duration ack_timeout(uint8_t code);
// How long silence lasts now before it counts as loss; zero: for ever.
Duration silence_time(const Core& core, const QueuePair& qp);

}  // namespace tulle::transport
