// Whether a peer on another machine still knows an established connection. When a process is
// killed, the kernel of a machine with an adapter disconnects in its place. Ours ends with its
// process, so the living side asks now and then: by LAP, which every manager answers by APR. The
// kernel's RoCE does not answer, and a peer that never has is asked more and more seldom. Of all
// connections to a process, which its GUID tells, one is asked about.
//
// Silence ends nothing: the process may be stopped. Two answers end a connection: an APR that does
// not know it, and the network's report that nobody has the port there. Anybody can forge either,
// so both must repeat the transaction ID of our question: 64 bits that only the way to the peer has
// seen.
#include <algorithm>

#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"
#include "transport/cm/roles.h"

namespace tulle::transport::cm {
namespace {

using base::Instant;

constexpr uint8_t kMostUnanswered = 6;  // chosen: the longest interval is 32 times the first

// Questions go out at multiples of the interval, so that a process wakes once for all connections.
// The interval doubles for a peer that has never answered.
Instant next_question(const Desk& desk, Instant now, const Connection& asker) {
    const int doublings = asker.has_vouched ? 0 : std::max(asker.unanswered - 1, 0);
    const int64_t every = desk.config.ask_every.ps << doublings;
    return Instant{(now.ps / every + 1) * every};
}

wire::CmLap question_about(const Connection& c) {
    auto lap = plain_message<wire::CmLap>(c.ids());
    lap.remote_qpn = c.remote_qpn;
    return lap;
}

// All connections to a killed process are over. The next one is asked about at once.
void end_unknown(Desk& desk, Instant now, Connection& c) {
    const uint32_t endpoint = c.endpoint;
    const wire::Guid guid = c.remote_guid;
    end(desk, now, c, {.how = CmEnd::peer_unaware});
    if (Connection* next = desk.table.first_established(endpoint, guid); next && next->is_watched)
        desk.table.set_deadline(*next, now);
}

}  // namespace

void begin_watch(Desk& desk, Instant now, Connection& c) {
    if (!c.is_watched || desk.config.ask_every.ps == 0) return desk.stop_waiting(c);
    desk.table.set_deadline(c, next_question(desk, now, c) + desk.config.ask_every);
}

void ask_whether_known(Desk& desk, Instant now, Connection& c) {
    const Connection* asker = desk.table.first_established(c.endpoint, c.remote_guid);
    if (asker == &c) {
        // The report about an earlier question may come late, so all have one ID until an answer
        // comes.
        if (c.unanswered == 0) c.asked_by = desk.table.new_transaction_id();
        c.unanswered = static_cast<uint8_t>(std::min<int>(c.unanswered + 1, kMostUnanswered));
        desk.send(c, datagram(question_about(c), c.asked_by));
    }
    desk.table.set_deadline(c, next_question(desk, now, asker != nullptr ? *asker : c));
}

void on_apr(Desk& desk, const Arrival& from, const wire::CmApr& apr) {
    Connection* c =
        desk.by_ids(from, apr.remote_communication_id.value, apr.local_communication_id.value);
    if (c == nullptr) return;
    const bool is_answer = c->unanswered != 0 && c->asked_by == from.transaction_id;
    if (c->state != State::established || !is_answer) {
        ++desk.stats.wrong_state;
        return;
    }
    c->unanswered = 0;
    c->has_vouched = true;
    if (apr.status == wire::kAprInvalidCommunicationId) end_unknown(desk, from.now, *c);
}

bool quotes_question(const Connection& c, wire::Bytes quoted) {
    return c.state == State::established && c.unanswered != 0 &&
           std::ranges::equal(quoted, datagram(question_about(c), c.asked_by));
}

}  // namespace tulle::transport::cm
