// Memory that GPUs of a server share: an entry `memory` of the list `work`, and states of training
// and serving that live there.
#pragma once

#include <span>
#include <vector>

#include "scenario/gpus.h"
#include "scenario/notes.h"
#include "workload/memory.h"

namespace tulle::scenario {

std::span<const KnownKey> memory_keys();        // of the entry
std::span<const KnownKey> memory_state_keys();  // of states that live there

workload::MemoryAccess read_access(const Value& map, const workload::MemoryAccess& usual,
                                   Notes& notes);

// What these GPUs do at the same time, server by server; the devices are those of their servers.
// `bytes` are by GPU.
std::vector<workload::Storage> accesses(const Gpus& gpus, const std::vector<uint32_t>& ranks,
                                        const workload::MemoryAccess& access,
                                        const std::vector<uint64_t>& bytes);
uint64_t most_tasks(const std::vector<workload::Storage>& groups);

// Complains where servers have no such memory.
bool has_memory(const Gpus& gpus, uint32_t line, Notes& notes);

}  // namespace tulle::scenario
