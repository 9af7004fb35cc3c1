#include "verbs/explain.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "verbs/process.h"

namespace tulle::verbs {
namespace {

bool is_wanted() {
    const char* quiet = std::getenv("TULLE_QUIET");
    return std::getenv("TULLE_RANK") != nullptr && (quiet == nullptr || *quiet == 0);
}

}  // namespace

void explain(live::Host& host, const transport::Completion& completion) {
    QueuePair* qp = Process::of(host).qp(completion.qpn);
    if (completion.status == transport::Status::flushed || qp == nullptr || qp->is_explained ||
        !is_wanted())
        return;
    qp->is_explained = true;
    const std::string cause = host.likely_cause(completion);
    char line[640];
    const int length = std::snprintf(
        line, sizeof line, "tulle: host %u, process %d, QP 0x%06x: %s (status %u)%s%s.\n",
        host.identity().rank, static_cast<int>(getpid()), host.outside_of(completion.qpn).value,
        ibv_wc_status_str(static_cast<ibv_wc_status>(completion.status)),
        static_cast<unsigned>(completion.status), cause.empty() ? "" : ": ", cause.c_str());
    // By one call, so that sentences of several processes do not mix.
    (void)!write(STDERR_FILENO, line, std::min(static_cast<size_t>(length), sizeof line - 1));
}

}  // namespace tulle::verbs
