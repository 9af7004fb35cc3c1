// The devices of a process, and the files that describe them.
#pragma once

#include <string>

#include "verbs/api.h"

namespace tulle::verbs {

// The folder that replaces /sys; `tulle run` creates it.
std::string sysfs_root();

// All operations of a context (context.cc).
void fill_operations(verbs_context& verbs);
int query_device(ibv_context* context, ibv_device_attr* attributes);
int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t size);
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, size_t size);

}  // namespace tulle::verbs
