// Memory that GPUs of a server share: an entry `memory` of the list `work`, and training and
// serving states that are kept there.
#pragma once

#include <span>
#include <vector>

#include "scenario/gpus.h"
#include "scenario/notes.h"
#include "workload/memory.h"

namespace tulle::scenario {

std::span<const KnownKey> memory_keys();        // of the entry
std::span<const KnownKey> memory_state_keys();  // of states that are kept there

workload::MemoryAccess read_access(const Value& map, const workload::MemoryAccess& usual,
                                   Notes& notes);

// The accesses of these GPUs at the same time, one per server, each to its own server's devices.
// `bytes` are by GPU.
std::vector<workload::Storage> accesses(const Gpus& gpus, const std::vector<uint32_t>& ranks,
                                        const workload::MemoryAccess& access,
                                        const std::vector<uint64_t>& bytes);
uint64_t most_tasks(const std::vector<workload::Storage>& groups);

// Returns false, with a complaint, if servers have no such memory.
bool has_memory(const Gpus& gpus, uint32_t line, Notes& notes);

}  // namespace tulle::scenario
