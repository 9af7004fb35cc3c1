// Several threads for one piece of work, this one among them. Where the machine gives fewer than
// were asked for, those that there are do it: how many they are is known to each before any begins.
#pragma once

#include <cstdint>
#include <functional>

namespace tulle::drive {

// Cores that this process may use; at least one.
uint32_t usable_cores();

// Calls work(i, n) for each i below n in a thread of its own, n at most `wanted`, and waits for
// all. Returns n.
uint32_t work_together(uint32_t wanted, const std::function<void(uint32_t, uint32_t)>& work);

}  // namespace tulle::drive
