#include "verbs/explain.h"

#include <unistd.h>

#include <cstdio>

#include "verbs/process.h"
#include "verbs/refusal.h"

namespace tulle::verbs {

void explain(live::SoftwareAdapter& host, const transport::Completion& completion) {
    if (live::is_elsewhere(completion.qpn)) return;  // the owner of the queue pair explains it
    QueuePair* qp = Process::of(host).qp(completion.qpn);
    if (completion.status == transport::Status::flushed || qp == nullptr || qp->is_explained ||
        !is_explained_at_all())
        return;
    qp->is_explained = true;
    const std::string cause = host.diagnosis().likely_cause(completion);
    char line[640];
    const int length = std::snprintf(
        line, sizeof line, "tulle: host %u, process %d, QP 0x%06x: %s (status %u)%s%s.\n",
        host.identity().rank, static_cast<int>(getpid()),
        host.world().own().outside_of(completion.qpn).value,
        ibv_wc_status_str(static_cast<ibv_wc_status>(completion.status)),
        static_cast<unsigned>(completion.status), cause.empty() ? "" : ": ", cause.c_str());
    write_sentence(line, length, sizeof line);
}

void explain_silence(live::SoftwareAdapter& host, transport::EndpointIndex peer) {
    const std::string cause = host.diagnosis().why_unheard(peer);
    if (cause.empty() || !is_explained_at_all()) return;
    char line[640];
    const int length =
        std::snprintf(line, sizeof line, "tulle: host %u, process %d: no connection: %s.\n",
                      host.identity().rank, static_cast<int>(getpid()), cause.c_str());
    write_sentence(line, length, sizeof line);
}

}  // namespace tulle::verbs
