// The C interface that programs were compiled against. What it declares is visible from outside the
// library, and nothing else is. Its macros stand for functions that are defined here.
#pragma once

#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define TULLE_EXPORT extern "C" __attribute__((visibility("default")))
