// What happens when time is up: the message is sent again, as often as agreed (Max CM Retries of
// the REQ), then the connection is given up.
#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"

namespace tulle::transport {

using base::Instant;

void ConnectionManager::on_timer(Instant now) {
    while (Connection* c = table_.due(now)) on_deadline(now, *c);
}

void ConnectionManager::on_deadline(Instant now, Connection& c) {
    switch (c.state) {
        case State::time_wait: return finish(c, CmTimeWaitOver{});
        case State::refused:
        case State::sidr_answered: return table_.close(c);
        default: break;
    }
    if (c.retries_left > 0)
        send_again(now, c);
    else
        give_up(now, c);
}

void ConnectionManager::send_again(Instant now, Connection& c) {
    --c.retries_left;
    ++stats_.retries;
    send(c, c.question);
    table_.set_deadline(c, now + c.wait);
}

// A REQ or REP that nobody answers ends with REJ, reason 4, so that a peer that did get it does not
// wait for us. After a REP the peer may even be sending: the QP has to rest.
void ConnectionManager::give_up(Instant now, Connection& c) {
    const auto rej = cm::timeout_rej_message(config_, wire::kCmAnswersOther, c.ids());
    switch (c.state) {
        case State::req_sent:
            send(c, cm::datagram(rej, c.transaction_id));
            return finish(c, CmUnreachable{wire::kCmReq});
        case State::rep_sent:
            send(c, cm::datagram(rej, c.transaction_id));
            tell(c, CmUnreachable{wire::kCmRep});
            return enter_time_wait(now, c);
        case State::dreq_sent: return end(now, c, {.how = CmEnd::no_answer});
        case State::sidr_sent: return finish(c, CmUnreachable{wire::kCmSidrReq});
        default: return stop_waiting(c);
    }
}

}  // namespace tulle::transport
