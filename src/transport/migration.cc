#include "transport/migration.h"

#include <utility>

namespace tulle::transport {
namespace {

// An old packet: it may have been delayed while both ends agreed on a path.
bool is_late(const QueuePair& qp, const Packet& packet) {
    const bool response = wire::opcode_info(static_cast<uint8_t>(packet.opcode)).response;
    return wire::psn_before(packet.psn(),
                            response ? qp.requester.unacknowledged : qp.responder.expected);
}

// The peer migrated to another path than agreed: the connection keeps its path. The user is told
// only once, because each packet of the peer repeats the request.
void refuse(Core& core, QueuePair& qp) {
    if (std::exchange(qp.migration_refused, true)) return;
    core.raise(EventKind::path_migration_error, qp.number.value);
}

}  // namespace

void migrate(Core& core, QueuePair& qp) {
    std::swap(qp.address, qp.alternate);
    qp.migration = Migration::migrated;
    core.on_new_path(qp);
    core.raise(EventKind::path_migrated, qp.number.value);
}

void heed_migration(Core& core, QueuePair& qp, const Packet& packet) {
    if (qp.migration == Migration::migrated || is_late(qp, packet)) return;
    const bool peer_has_migrated = packet.migrated;
    if (qp.migration == Migration::rearm) {
        if (!peer_has_migrated) qp.migration = Migration::armed;
    } else if (peer_has_migrated) {
        if (packet.source == qp.alternate.endpoint.value)
            migrate(core, qp);
        else
            refuse(core, qp);
    }
}

void change_migration(Core& core, QueuePair& qp, Migration wanted) {
    if (wanted == Migration::migrated && qp.migration == Migration::armed) return migrate(core, qp);
    qp.migration = wanted;
    qp.migration_refused = false;
}

bool may_order(const QueuePair& qp, Migration wanted) {
    switch (wanted) {
        case Migration::rearm: return true;
        case Migration::migrated: return qp.migration != Migration::rearm;
        case Migration::armed: return false;
    }
    return false;
}

}  // namespace tulle::transport
