// Queue pairs, as entries of a context.
#pragma once

#include "verbs/objects.h"

namespace tulle::verbs {

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** bad);

// Builders of work requests (builders.cc). All operations in `wanted` must be supported.
bool offers_builders(uint64_t wanted);
void set_builders(QueuePair& qp, uint64_t wanted);

// The destination of an address vector; an errno if it has none.
int destination_of(live::SoftwareAdapter& host, const ibv_ah_attr& attributes,
                   live::Destination& found);

}  // namespace tulle::verbs
