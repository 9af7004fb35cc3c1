// The one device of a process, and where files say something of it.
#pragma once

#include <string>

#include "verbs/api.h"

namespace tulle::verbs {

// Where the files of /sys are; `tulle run` has made a tree of its own.
std::string sysfs_root();

// Everything that a context can do (context.cc).
void fill_operations(verbs_context& verbs);
int query_device(ibv_context* context, ibv_device_attr* attributes);
int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t size);
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, size_t size);

}  // namespace tulle::verbs
