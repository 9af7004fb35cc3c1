#include "transport/failure.h"

#include <utility>

#include "transport/completer.h"
#include "transport/rd.h"

namespace tulle::transport {

void break_queue_pair(Core& core, QueuePair& qp, Status status) {
    if (qp.state == QpState::reset || qp.state == QpState::error) return;
    if (qp.type == QpType::rd) withdraw_request(core, qp);
    const RequesterState& r = qp.requester;
    if (r.oldest != r.begun) fail_request(core, qp, r.oldest, status);
    enter_error(core, qp);
}

void break_adapter(Core& core) {
    core.is_broken = true;
    core.for_each([&](QueuePair& qp) {
        if (qp.owner == qp.number) break_queue_pair(core, qp, Status::fatal);
    });
    for (auto& ee : core.ee_contexts)
        if (ee) change_end_to_end(core, *ee, QpState::error);
    core.raise(EventKind::device_fatal, 0);
}

// 11.6.3.2: a work queue that cannot report completions is a fatal error of its queue pair.
void end_losers(Core& core) {
    for (const Qpn qpn : std::exchange(core.losers, {})) {
        QueuePair* qp = core.find(qpn);
        if (qp == nullptr || qp->state == QpState::error) continue;
        core.raise(EventKind::qp_fatal, qpn.value);
        enter_error(core, *qp);
    }
}

}  // namespace tulle::transport
