// Background storage of the shape of NVMe over fabrics: a read is a command of 64 bytes and the
// data back, a write is a command, the target that fetches the data, and a response of 16 bytes.
// An initiator keeps `depth` commands outstanding, and sends the next when one is answered.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workload/program.h"

namespace tulle::workload {

inline constexpr uint64_t kCommandBytes = 64;
inline constexpr uint64_t kResponseBytes = 16;

struct Storage {
    std::vector<uint32_t> initiators;  // ranks
    std::vector<uint32_t> targets;     // ranks, none of which is an initiator
    bool writes = false;
    uint64_t bytes = 0;  // of each initiator
    uint64_t block = 128 << 10;
    uint32_t depth = 32;
};

// Adds a job of one phase. Initiators go around the targets, each beginning with another one.
// All messages are on `channel`.
void append_storage(Program& program, const Job& job, const Storage& storage, uint16_t channel);

}  // namespace tulle::workload
