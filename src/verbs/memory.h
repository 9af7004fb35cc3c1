// Memory operations of contexts, besides the exported functions.
#pragma once

#include "verbs/api.h"

namespace tulle::verbs {

ibv_mr* register_region(ibv_pd* pd, void* address, size_t length, uint64_t iova, unsigned access);
ibv_mr* alloc_null_mr(ibv_pd* pd);
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int dealloc_mw(ibv_mw* mw);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes);
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes);
int dealloc_td(ibv_td* td);
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, uint32_t flags, ibv_sge* sges,
              uint32_t count);

}  // namespace tulle::verbs
