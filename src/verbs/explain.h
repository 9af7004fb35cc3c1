// Messages on standard error: one for the first failed completion of a queue pair, with what both
// ends together know and a status alone does not tell; and, on request, one for each refused call.
#pragma once

#include <string>

#include "live/software_adapter.h"
#include "verbs/api.h"
#include "verbs/refusal.h"

namespace tulle::verbs {

// Call with the host's lock held. Says nothing about flushed work, nothing twice, and nothing at
// all if the program was not started by `tulle run` or TULLE_QUIET is set.
void explain(live::SoftwareAdapter& host, const transport::Completion& completion);

// The same for a peer that does not answer the connection manager, if it is on another machine.
void explain_silence(live::SoftwareAdapter& host, transport::EndpointIndex peer);

// What is wrong with the arguments of a call; empty if unknown.
std::string why_refused(ibv_qp* qp, ibv_qp_attr* attributes, int mask);
std::string why_refused(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad);
std::string why_refused(ibv_qp* qp, ibv_recv_wr* list, ibv_recv_wr** bad);
std::string why_refused(ibv_pd* pd, ibv_qp_init_attr* init);
std::string why_refused(ibv_context* context, ibv_qp_init_attr_ex* init);
std::string why_refused(ibv_pd* pd, ibv_srq_init_attr* init);
std::string why_refused(ibv_pd* pd, void* address, size_t length, int access);
std::string why_refused(ibv_pd* pd, void* address, size_t length, uint64_t iova, unsigned access);
std::string why_refused(ibv_context* context, int entries, void* user, ibv_comp_channel* channel,
                        int vector);
std::string why_refused(ibv_context* context, ibv_cq_init_attr_ex* init);
std::string why_refused(ibv_context* context, uint8_t port, int index, ibv_gid* gid);
std::string why_refused(ibv_pd* pd, ibv_ah_attr* address);

// Called for each failed call (guard.h).
template <class... Arguments>
void on_refused(const char* call, int error, Arguments... arguments) {
    if (!explains_calls()) return;
    const int before = errno;
    if constexpr (requires { why_refused(arguments...); })
        say_refused(call, error, why_refused(arguments...));
    else
        say_refused(call, error, {});
    errno = before;
}

}  // namespace tulle::verbs
