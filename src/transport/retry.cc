#include "transport/retry.h"

#include <algorithm>

#include "transport/completer.h"
#include "transport/migration.h"
#include "transport/rd.h"
#include "transport/selective.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using wire::psn_before;

constexpr int64_t kPatientLooks = 512;  // retries of a not-ready receiver within the patience
constexpr uint32_t kMostDoublings = 6;  // chosen; limit of a timeout's exponential backoff

// Sets the requester's position back to this PSN.
void go_back(QueuePair& qp, Psn psn) {
    RequesterState& r = qp.requester;
    r.current = request_of(qp, psn);
    r.send_psn = psn;
    close_repairs(qp);
    r.trimmed.reset();
    r.timed.reset();  // an answer might be to the earlier packet or to its copy
}

bool is_outstanding(const QueuePair& qp) {
    return qp.requester.unacknowledged != qp.requester.sent_end;
}

// Spends a retry. False if none was left and the connection has failed.
bool spend_retry(Core& core, QueuePair& qp) {
    RequesterState& r = qp.requester;
    if (r.retries_left > 0) {
        --r.retries_left;
        return true;
    }
    if (qp.migration == Migration::armed) {
        migrate(core, qp);
        r.retries_left = qp.retry_count;
        return true;
    }
    fail_request(core, qp, r.oldest, Status::retry_exceeded);
    return false;
}

void on_silence(Core& core, QueuePair& qp, Instant now) {
    ++core.counters.local_ack_timeout_err;
    on_signal(qp.congestion, now, {.kind = Signal::Kind::timeout});
    if (qp.spread) qp.spread->on_lost(now, qp.requester.unacknowledged);
    if (!spend_retry(core, qp)) return;
    qp.requester.recovering = false;
    if (repeats_selectively(core, qp))
        repair_oldest(core, qp, now);
    else
        go_back(qp, qp.requester.unacknowledged);
    // Its pace may keep the retry from going at once.
    start_timer(core, qp, std::max(now, qp.requester.next_allowed));
}

void return_telemetry(const Core& core, QueuePair& qp, Signal& signal) {
    signal.telemetry = core.telemetry;
    signal.telemetry_before = qp.told.get();
    if (!qp.told) qp.told = std::make_unique<wire::Telemetry>();
}

}  // namespace

uint32_t packets_in_flight(const QueuePair& qp) {
    const RequesterState& r = qp.requester;
    return wire::psn_distance(r.unacknowledged, r.sent_end) - r.settled_ahead;
}

Duration ack_timeout(uint8_t code) {
    return Duration{4'096'000} * (int64_t{1} << code);
}

Duration silence_time(const Core& core, const QueuePair& qp) {
    const TimeoutSettings& timeouts = core.config.timeouts;
    if (timeouts.high.ps == 0)
        return qp.address.ack_timeout == 0 ? Duration{} : ack_timeout(qp.address.ack_timeout);
    const bool are_few = timeouts.low.ps != 0 && packets_in_flight(qp) <= timeouts.few_packets;
    const uint32_t spent = uint32_t{qp.retry_count} - qp.requester.retries_left;
    return (are_few ? timeouts.low : timeouts.high) *
           (int64_t{1} << std::min(spent, kMostDoublings));
}

uint32_t request_of(const QueuePair& qp, Psn psn) {
    const RequesterState& r = qp.requester;
    for (uint32_t number = r.oldest; number != r.begun; ++number) {
        const SendWork& work = (*qp.send_queue)[number];
        if (work.packets != 0 && psn_before(psn, work.end_psn())) return number;
    }
    return r.begun;
}

void retry_lost(Core& core, QueuePair& qp, Instant now, Psn psn, bool is_named) {
    RequesterState& r = qp.requester;
    if (r.recovering) {
        // The timer of the first retry keeps running, so that this ends at some time.
        if (!is_named || !psn_before(psn, r.send_psn)) return;
        go_back(qp, psn);
        return core.wake(qp);
    }
    if (!spend_retry(core, qp)) return;
    r.recovering = true;
    on_signal(qp.congestion, now,
              {.kind = Signal::Kind::loss, .packets_in_flight = packets_in_flight(qp)});
    go_back(qp, psn);
    start_timer(core, qp, now);
    core.wake(qp);
}

void on_receiver_not_ready(Core& core, QueuePair& qp, Instant now, Psn psn, uint8_t timer_code,
                           bool keeps_others) {
    RequesterState& r = qp.requester;
    Duration wait{int64_t{wire::rnr_wait_microseconds(timer_code)} * 1'000'000};
    r.not_ready_since = std::min(r.not_ready_since, now);
    if (qp.rnr_retry != kRetryForEver) {
        if (r.rnr_retries_left != 0)
            --r.rnr_retries_left;
        else if (now - r.not_ready_since < core.config.rnr_patience)
            wait = std::min(wait, core.config.rnr_patience / kPatientLooks);
        else
            return fail_request(core, qp, r.oldest, Status::rnr_retry_exceeded);
    }
    if (qp.type == QpType::ee_requester) return suspend_message(core, qp, now + wait);
    r.recovering = false;
    if (keeps_others)
        repair(core, qp, now, psn);
    else
        go_back(qp, psn);
    r.wait_until = now + wait;
    // The peer is alive: the timeout starts when the wait is over. What goes again sets it then.
    // With others in flight the window may let nothing go, and the answers to those may be lost.
    r.ack_deadline = Instant::never();
    if (keeps_others) start_timer(core, qp, r.wait_until);
    core.look_again(qp, r.wait_until);
}

void on_progress(Core& core, QueuePair& qp, Instant now, uint32_t packets, bool marked) {
    RequesterState& r = qp.requester;
    if (qp.congestion.algorithm != Algorithm::none && !qp.spread) {  // told by unordered.h
        Signal signal{.kind = Signal::Kind::ack,
                      .marked = marked,
                      .acknowledged_packets = packets,
                      .packets_in_flight = packets_in_flight(qp)};
        if (r.timed && psn_before(*r.timed, r.unacknowledged)) {
            signal.round_trip = Duration{now.ps - r.timed_at.ps};
            r.timed.reset();
        }
        if (core.telemetry != nullptr) [[unlikely]]
            return_telemetry(core, qp, signal);
        on_signal(qp.congestion, now, signal);
        end_pause(qp, now);
        if (signal.telemetry != nullptr) [[unlikely]]
            *qp.told = *signal.telemetry;
    }
    r.retries_left = qp.retry_count;
    r.rnr_retries_left = qp.rnr_retry;
    r.not_ready_since = Instant::never();
    r.recovering = false;
    // Acknowledged packets need not be retransmitted, wherever the position was set back to.
    if (psn_before(r.send_psn, r.unacknowledged)) {
        r.send_psn = r.unacknowledged;
        r.current = request_of(qp, r.send_psn);
    }
    if (r.repairing) [[unlikely]]
        on_repaired(core, qp, now);
    start_timer(core, qp, now);
}

void start_timer(Core& core, QueuePair& qp, Instant now) {
    RequesterState& r = qp.requester;
    const Duration silence = silence_time(core, qp);
    if (silence.ps == 0 || !is_outstanding(qp)) {
        r.ack_deadline = Instant::never();
        return;
    }
    r.ack_deadline = now + silence;
    core.look_again(qp, r.ack_deadline);
}

void on_time(Core& core, QueuePair& qp, Instant now) {
    RequesterState& r = qp.requester;
    if (qp.state == QpState::rts || qp.state == QpState::sqd) {
        if (r.ack_deadline <= now && is_outstanding(qp))
            on_silence(core, qp, now);
        else if (r.ack_deadline != Instant::never())
            core.look_again(qp, r.ack_deadline);
    }
    core.wake(qp);
}

}  // namespace tulle::transport
