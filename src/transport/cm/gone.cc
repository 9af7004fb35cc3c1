// A peer whose process ended without a message. On a separate machine, a kernel would disconnect in
// its place (DREQ, or REJ if not yet established). Here the owner reports that it is gone, and its
// connections end as if that message had arrived.
//
// A peer that was never there, as the network reports. On a machine with an adapter the kernel
// would refuse the request; here nobody has the port. Only our own questions end by that: anybody
// can forge such a report, as for connections of TCP. A report that quotes our question about a
// connection is believed (alive.cc).
#include <algorithm>

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

constexpr base::Duration kAboutToBegin{1'000'000'000'000};  // 1 s, chosen
constexpr base::Duration kAskAgain{300'000'000'000};        // 300 ms, chosen

void end_question(Desk& desk, base::Instant now, Connection& c, bool is_refused) {
    switch (c.state) {
        case State::req_sent: return desk.finish(c, CmUnreachable{wire::kCmReq, is_refused});
        case State::sidr_sent: return desk.finish(c, CmUnreachable{wire::kCmSidrReq, is_refused});
        default: return end(desk, now, c, {.how = CmEnd::no_answer});
    }
}

void on_report(Desk& desk, base::Instant now, Connection& c, bool is_refused) {
    const bool is_asking =
        c.state == State::req_sent || c.state == State::sidr_sent || c.state == State::dreq_sent;
    if (!is_asking) return;
    if (now >= c.asked_at + kAboutToBegin) return end_question(desk, now, c, is_refused);
    c.wait_after_early = {};
    desk.table.set_deadline(c, std::min(c.deadline, now + kAskAgain));
}

// The process is gone, with all of its connections. What it sent may still be on its way.
void end_all_of_process(Desk& desk, base::Instant now, const Connection& asked) {
    const uint32_t endpoint = asked.endpoint;
    const wire::Guid guid = asked.remote_guid;
    while (Connection* c = desk.table.first_established(endpoint, guid))
        end(desk, now, *c, {.how = CmEnd::peer_gone});
}

}  // namespace

}  // namespace tulle::transport::cm

namespace tulle::transport {

void ConnectionManager::lose_endpoint(uint32_t endpoint) {
    for (const CmHandle handle : desk_.table.at_endpoint(endpoint))
        cm::lose(desk_, *desk_.table.find(handle));
}

void ConnectionManager::on_unreachable(base::Instant now, uint32_t endpoint, bool is_refused,
                                       wire::Bytes quoted) {
    for (const CmHandle handle : desk_.table.at_endpoint(endpoint)) {
        Connection* c = desk_.table.find(handle);
        if (c == nullptr) continue;
        if (is_refused && cm::quotes_question(*c, quoted))
            cm::end_all_of_process(desk_, now, *c);
        else
            cm::on_report(desk_, now, *c, is_refused);
    }
}

}  // namespace tulle::transport
