// A peer whose process ended without a message. On a separate machine, a kernel would disconnect in
// its place (DREQ, or REJ if not yet established). Here the owner reports that it is gone, and its
// connections end as if that message had arrived.
#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"
#include "transport/cm/roles.h"

namespace tulle::transport::cm {
namespace {

void lose_establishing(Desk& desk, Connection& c, uint16_t reason, wire::CmAnswered answered) {
    desk.finish(c, CmRejected{.message = rej_message({.reason = reason}, answered, c.ids())});
}

void lose(Desk& desk, Connection& c) {
    switch (c.state) {
        case State::req_sent:
            return lose_establishing(desk, c, wire::kCmRejectConsumer, wire::kCmAnswersReq);
        case State::rep_sent:
            return lose_establishing(desk, c, wire::kCmRejectConsumer, wire::kCmAnswersRep);
        case State::req_received:
            return lose_establishing(desk, c, wire::kCmRejectTimeout, wire::kCmAnswersOther);
        case State::rep_received:
        case State::established:
        case State::dreq_sent:
            if (!c.end_told) desk.tell(c, CmDisconnected{.how = CmEnd::peer_gone});
            return desk.finish(c, CmTimeWaitOver{});
        case State::time_wait: return desk.finish(c, CmTimeWaitOver{});
        case State::sidr_sent: return desk.finish(c, CmUnreachable{wire::kCmSidrReq});
        case State::sidr_received: return desk.finish(c, CmUnreachable{wire::kCmSidrRep});
        case State::refused:
        case State::sidr_answered: return desk.table.close(c);
        case State::redirected: return;  // to another end point
    }
}

}  // namespace

}  // namespace tulle::transport::cm

namespace tulle::transport {

void ConnectionManager::lose_endpoint(uint32_t endpoint) {
    for (const CmHandle handle : desk_.table.at_endpoint(endpoint))
        cm::lose(desk_, *desk_.table.find(handle));
}

}  // namespace tulle::transport
