// A peer whose process has ended without a word. On a machine of its own a kernel would take leave
// in its place (DREQ, or REJ where nothing was agreed yet); here the owner says that it is gone,
// and its connections end as if that had been heard.
#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"

namespace tulle::transport {

void ConnectionManager::lose_endpoint(uint32_t endpoint) {
    for (const CmHandle handle : table_.at_endpoint(endpoint)) lose(*table_.find(handle));
}

void ConnectionManager::lose(Connection& c) {
    switch (c.state) {
        case State::req_sent:
            return lose_establishing(c, wire::kCmRejectConsumer, wire::kCmAnswersReq);
        case State::rep_sent:
            return lose_establishing(c, wire::kCmRejectConsumer, wire::kCmAnswersRep);
        case State::req_received:
            return lose_establishing(c, wire::kCmRejectTimeout, wire::kCmAnswersOther);
        case State::rep_received:
        case State::established:
        case State::dreq_sent:
            if (!c.end_told) tell(c, CmDisconnected{.how = CmEnd::peer_gone});
            return finish(c, CmTimeWaitOver{});
        case State::time_wait: return finish(c, CmTimeWaitOver{});
        case State::sidr_sent: return finish(c, CmUnreachable{wire::kCmSidrReq});
        case State::sidr_received: return finish(c, CmUnreachable{wire::kCmSidrRep});
        case State::refused:
        case State::sidr_answered: return table_.close(c);
        case State::redirected: return;  // to somebody else
    }
}

void ConnectionManager::lose_establishing(Connection& c, uint16_t reason,
                                          wire::CmAnswered answered) {
    finish(c, CmRejected{.message = cm::rej_message({.reason = reason}, answered, c.ids())});
}

}  // namespace tulle::transport
