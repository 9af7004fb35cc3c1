// Retransmission: lost packets, receivers that are not ready, timeouts (IBTA vol 1, 9.7.5.2 and
// 9.7.6).
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// The request that this PSN belongs to; it has begun and is not done.
uint32_t request_of(const QueuePair& qp, Psn psn);

// Packets not acknowledged, and not known to have arrived or to be lost.
uint32_t packets_in_flight(const QueuePair& qp);

// Go-back-N: the peer, or a missing answer, reports this PSN as lost; it is retransmitted with all
// packets behind it. Each answer behind a loss reports it again; the loss costs one retry.
// `is_named`: the peer reports this PSN alone, and only once, so if it was retransmitted, it is
// lost again.
void retry_lost(Core& core, QueuePair& qp, Instant now, Psn psn, bool is_named);

// The peer had no receive for this PSN and asks to wait. `keeps_others`: it keeps the packets
// behind it.
void on_receiver_not_ready(Core& core, QueuePair& qp, Instant now, Psn psn, uint8_t timer_code,
                           bool keeps_others);

// Congestion control was told of an answer. A window of whole packets needs no pause between them:
// one that a smaller window asked for ends.
inline void end_pause(QueuePair& qp, Instant now) {
    const CongestionControl& control = qp.congestion;
    if (control.algorithm != Algorithm::swift || control.swift.window() < kSwiftOne ||
        qp.requester.next_allowed <= now)
        return;
    qp.requester.next_allowed = now;
    qp.waits_for_pace = false;  // its timer is too late for the next pause
}

// This many more packets are answered, by a packet that was marked or not: resets the retries and
// the timer, and tells congestion control.
void on_progress(Core& core, QueuePair& qp, Instant now, uint32_t packets, bool marked);

// Restarts the timeout from now; no timer if nothing is outstanding.
void start_timer(Core& core, QueuePair& qp, Instant now);
// A packet that wants an answer was sent: starts the timer if it does not run.
inline void expect_answer(Core& core, QueuePair& qp, Instant now) {
    if (qp.requester.ack_deadline == Instant::never()) start_timer(core, qp, now);
}

// The queue pair's timer expired: a timeout, or the end of a wait.
void on_time(Core& core, QueuePair& qp, Instant now);

// 4.096 us times 2 to the power of the code; no timeout with code 0 (9.7.6.1.3).
Duration ack_timeout(uint8_t code);
// The current timeout; zero: none.
Duration silence_time(const Core& core, const QueuePair& qp);

}  // namespace tulle::transport
