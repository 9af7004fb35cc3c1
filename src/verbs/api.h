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

// What providers share with libibverbs has a version by release; the one that was longest in use is
// 34. libmlx5 of a later release asks for the same name under another. A name of several versions
// cannot be defined as such: tulle_NAME is, and this gives it the name and all its versions.
#define TULLE_VERSION(name, version) __asm__(".symver tulle_" #name "," #name version)
#define TULLE_PRIVATE(name)                      \
    TULLE_VERSION(name, "@@IBVERBS_PRIVATE_34"); \
    TULLE_VERSION(name, "@IBVERBS_PRIVATE_57");  \
    TULLE_VERSION(name, "@IBVERBS_PRIVATE_59");  \
    TULLE_VERSION(name, "@IBVERBS_PRIVATE_64");  \
    TULLE_VERSION(name, "@IBVERBS_PRIVATE_65")

// The calls of this library that have a guard are defined under another name (guard.h).
#ifdef TULLE_GUARDED_NAMES
#include TULLE_GUARDED_NAMES
#endif
