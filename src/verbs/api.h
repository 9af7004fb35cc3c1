// The C interface that programs were compiled against. Only what it declares is visible from
// outside the library. Its macros stand for functions that are defined here.
#pragma once

#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define TULLE_EXPORT extern "C" __attribute__((visibility("default")))

// Symbols that providers share with libibverbs carry a version per release; 34 was in use longest.
// libmlx5 of a later release asks for the same name with another version. A name with several
// versions cannot be defined directly: tulle_NAME is defined, and this macro gives it the name and
// all its versions.
#define TULLE_VERSION(name, version) __asm__(".symver tulle_" #name "," #name version)
#define TULLE_PRIVATE(name)                      \
    TULLE_VERSION(name, "@@IBVERBS_PRIVATE_34"); \
    TULLE_VERSION(name, "@IBVERBS_PRIVATE_57");  \
    TULLE_VERSION(name, "@IBVERBS_PRIVATE_59");  \
    TULLE_VERSION(name, "@IBVERBS_PRIVATE_64");  \
    TULLE_VERSION(name, "@IBVERBS_PRIVATE_65")

// Calls of this library with a guard are defined under another name (guard.h).
#ifdef TULLE_GUARDED_NAMES
#include TULLE_GUARDED_NAMES
#endif
