// Several threads for one piece of work, including the calling one. If the system grants fewer
// threads than wanted, those do the work; each knows the number before any begins.
#pragma once

#include <cstdint>
#include <functional>

namespace tulle::drive {

// The number of cores that this process may use, at least one.
uint32_t usable_cores();

// Calls work(i, n) in a separate thread for each i below n, with n at most `wanted`, and waits for
// all. Returns n.
uint32_t work_together(uint32_t wanted, const std::function<void(uint32_t, uint32_t)>& work);

}  // namespace tulle::drive
