// Path migration: LAP proposes another path for an established connection, APR answers (12.8). Our
// programs cannot propose one, and proposals of peers are declined.
#include "transport/cm/messages.h"
#include "transport/cm/roles.h"

namespace tulle::transport::cm {

// The answer is always the same, so a repeated LAP needs no state.
void on_lap(Desk& desk, const Arrival& from, const wire::CmLap& lap) {
    const Ids ids{lap.remote_communication_id.value, lap.local_communication_id.value};
    Connection* c = desk.by_ids(from, ids.local, ids.remote);
    if (c == nullptr)
        return desk.answer_unknown(from, apr_message(wire::kAprInvalidCommunicationId, ids));
    if (c->local_qpn != lap.remote_qpn)
        return desk.answer_unknown(from, apr_message(wire::kAprQpnMismatch, ids));
    if (c->state != State::established) {
        ++desk.stats.wrong_state;
        return;
    }
    desk.send(*c, datagram(apr_message(wire::kAprUnsupported, ids), from.transaction_id));
}

}  // namespace tulle::transport::cm
