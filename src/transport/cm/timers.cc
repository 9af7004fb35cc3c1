// Timeouts: the message is retransmitted up to the agreed limit (Max CM Retries of the REQ), then
// the connection is given up.
#include <utility>

#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"
#include "transport/cm/roles.h"

namespace tulle::transport::cm {

using base::Instant;

namespace {

void send_early(Desk& desk, Instant now, Connection& c) {
    ++desk.stats.retries;
    desk.send(c, c.question);
    desk.table.set_deadline(c, now + std::exchange(c.wait_after_early, {}));
}

void send_again(Desk& desk, Instant now, Connection& c) {
    --c.retries_left;
    ++desk.stats.retries;
    desk.send(c, c.question);
    desk.table.set_deadline(c, now + c.wait);
}

// An unanswered REQ or REP ends with REJ, reason 4, so that a peer that did get it does not wait
// for us. After a REP the peer may even be sending: the QP needs time wait.
void give_up(Desk& desk, Instant now, Connection& c) {
    const auto rej = timeout_rej_message(desk.config, wire::kCmAnswersOther, c.ids());
    switch (c.state) {
        case State::req_sent:
            desk.send(c, datagram(rej, c.transaction_id));
            return desk.finish(c, CmUnreachable{wire::kCmReq});
        case State::rep_sent:
            desk.send(c, datagram(rej, c.transaction_id));
            desk.tell(c, CmUnreachable{wire::kCmRep});
            return enter_time_wait(desk, now, c);
        case State::dreq_sent: return end(desk, now, c, {.how = CmEnd::no_answer});
        case State::sidr_sent: return desk.finish(c, CmUnreachable{wire::kCmSidrReq});
        default: return desk.stop_waiting(c);
    }
}

}  // namespace

void on_deadline(Desk& desk, Instant now, Connection& c) {
    switch (c.state) {
        case State::time_wait: return desk.finish(c, CmTimeWaitOver{});
        case State::refused:
        case State::sidr_answered: return desk.table.close(c);
        case State::established: return ask_whether_known(desk, now, c);
        default: break;
    }
    if (c.wait_after_early.ps != 0)
        send_early(desk, now, c);
    else if (c.retries_left > 0)
        send_again(desk, now, c);
    else
        give_up(desk, now, c);
}

}  // namespace tulle::transport::cm

namespace tulle::transport {

using base::Instant;

void ConnectionManager::on_timer(Instant now) {
    while (Connection* c = desk_.table.due(now)) on_deadline(desk_, now, *c);
}

}  // namespace tulle::transport
