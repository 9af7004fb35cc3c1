#include "transport/attributes.h"

#include "transport/migration.h"

namespace tulle::transport {
namespace {

// Verbs and the wire's negotiation allow only powers of two; modelled fabrics may have other MTUs.
bool is_mtu(uint32_t bytes, uint32_t most) {
    return bytes >= 256 && bytes % 4 == 0 && bytes <= most;
}

}  // namespace

bool is_legal(const Core& core, const QueuePair& qp, const QpAttributes& attributes,
              uint32_t mask) {
    const QpState to = (mask & kState) != 0 ? attributes.state : qp.state;
    if (!is_legal_change(qp.type, qp.state, to, mask)) return false;
    if ((mask & kCurrentState) != 0 && attributes.current_state != qp.state) return false;
    if ((mask & kPathMtu) != 0 && !is_mtu(attributes.path_mtu, core.config.max_payload))
        return false;
    if ((mask & kMigrationState) != 0 && !may_order(qp, attributes.migration)) return false;
    if ((mask & kTimeout) != 0 && attributes.address.ack_timeout > 31) return false;
    if ((mask & kAlternatePath) != 0 && attributes.alternate.ack_timeout > 31) return false;
    if ((mask & (kRetryCount | kRnrRetry)) != 0 &&
        (attributes.retry_count > 7 || attributes.rnr_retry > 7))
        return false;
    return (mask & kMinRnrTimer) == 0 || attributes.min_rnr_timer <= 31;
}

void apply(Core& core, QueuePair& qp, const QpAttributes& attributes, uint32_t mask) {
    const auto has = [&](Attribute attribute) { return (mask & attribute) != 0; };
    if (has(kAccessFlags)) qp.access = attributes.access;
    if (has(kPkeyIndex)) qp.pkey = attributes.pkey;
    if (has(kQkey)) qp.qkey = attributes.qkey;
    if (has(kAddress)) {
        const uint8_t timeout = qp.address.ack_timeout;
        qp.address = attributes.address;
        qp.address.ack_timeout = timeout;
        // Without an alternate path, the peer's only address is this one.
        if (qp.state == QpState::init) qp.alternate = qp.address;
    }
    if (has(kTimeout)) qp.address.ack_timeout = attributes.address.ack_timeout;
    if (has(kAlternatePath)) qp.alternate = attributes.alternate;
    if (has(kMigrationState)) change_migration(core, qp, attributes.migration);
    if (has(kPathMtu)) qp.mtu = attributes.path_mtu;
    if (has(kRetryCount)) qp.retry_count = qp.requester.retries_left = attributes.retry_count;
    if (has(kRnrRetry)) qp.rnr_retry = qp.requester.rnr_retries_left = attributes.rnr_retry;
    if (has(kMaxReads)) qp.max_reads = attributes.max_reads;
    if (has(kMaxIncomingReads)) qp.max_incoming_reads = attributes.max_incoming_reads;
    if (has(kMinRnrTimer)) qp.min_rnr_timer = attributes.min_rnr_timer;
    if (has(kDestQpn)) qp.dest_qpn = attributes.dest_qpn;
    if (has(kDestEe)) qp.dest_ee = attributes.dest_ee;
    core.on_new_path(qp);
    if (has(kDrainNotify)) qp.drain_notify = attributes.drain_notify;
    if (has(kReceivePsn)) qp.responder.expected = wire::psn_plus(attributes.receive_psn, 0);
    if (has(kSendPsn)) {
        RequesterState& r = qp.requester;
        r.next_psn = r.send_psn = r.unacknowledged = r.sent_end = r.asked_end =
            wire::psn_plus(attributes.send_psn, 0);
    }
}

}  // namespace tulle::transport
