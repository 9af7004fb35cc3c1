// Shared receive queues and XRC domains, as entries of a context.
#pragma once

#include "verbs/api.h"

namespace tulle::verbs {

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes);
int get_srq_num(ibv_srq* srq, uint32_t* number);
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes);
int close_xrcd(ibv_xrcd* domain);

}  // namespace tulle::verbs
