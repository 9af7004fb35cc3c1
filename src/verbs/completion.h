// Completion queues, as entries of a context.
#pragma once

#include "verbs/objects.h"

namespace tulle::verbs {

int poll_cq(ibv_cq* cq, int count, ibv_wc* completions);
int req_notify_cq(ibv_cq* cq, int solicited_only);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attributes);
int query_rt_values(ibv_context* context, ibv_values_ex* values);

// A completion in the form of verbs.
void show(live::SoftwareAdapter& host, const transport::Completion& completion, ibv_wc& shown);

}  // namespace tulle::verbs
