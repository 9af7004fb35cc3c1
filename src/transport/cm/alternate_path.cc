// Path migration: LAP proposes another path for an established connection, APR answers (12.8). No
// program can ask for it through us, and what others propose is declined.
#include "transport/cm/connection_manager.h"
#include "transport/cm/messages.h"

namespace tulle::transport {

// The answer is the same each time, so a LAP that comes twice needs no memory.
void ConnectionManager::on_lap(const Arrival& from, const wire::CmLap& lap) {
    const cm::Ids ids{lap.remote_communication_id.value, lap.local_communication_id.value};
    Connection* c = by_ids(ids.local, ids.remote);
    if (c == nullptr)
        return answer_unknown(from, cm::apr_message(wire::kAprInvalidCommunicationId, ids));
    if (c->local_qpn != lap.remote_qpn)
        return answer_unknown(from, cm::apr_message(wire::kAprQpnMismatch, ids));
    if (c->state != State::established) {
        ++stats_.wrong_state;
        return;
    }
    send(*c, cm::datagram(cm::apr_message(wire::kAprUnsupported, ids), from.transaction_id));
}

}  // namespace tulle::transport
