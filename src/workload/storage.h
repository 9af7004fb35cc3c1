// Storage over NVMe over Fabrics, as it is on the wire (NVMe over Fabrics 1.1, RDMA transport).
//
// A read is a command capsule of 64 bytes. The target reads a drive, writes the data into the
// initiator's memory and sends a response capsule of 16 bytes. A write is a command capsule, which
// carries the data if they are small; otherwise the target fetches them. Then the target writes the
// drive and responds. An initiator keeps `depth` commands outstanding, and sends the next when one
// is answered.
//
// A drive transfers the blocks of commands one after the other, in order of arrival. The rest of a
// command's latency overlaps with other commands. Targets of several jobs share drives.
//
// Shared memory on the network inside a server is modeled the same way (memory.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/rate.h"
#include "workload/program.h"

namespace tulle::workload {

inline constexpr uint64_t kCommandBytes = 64;
inline constexpr uint64_t kResponseBytes = 16;

struct Drives {
    uint32_t count = 0;  // of each target; 0: the target takes no time
    base::Duration latency{};
    base::Rate rate = base::Rate::bits_per_second(56'000'000'000);
};

struct Storage {
    std::vector<uint32_t> initiators;  // ranks
    std::vector<uint32_t> targets;     // ranks, none of which is an initiator
    bool writes = false;
    uint64_t bytes = 0;              // of each initiator
    std::vector<uint64_t> bytes_of;  // by initiator, instead of `bytes`; may be empty
    uint64_t block = 128 << 10;
    uint32_t depth = 32;
    uint64_t in_capsule = 0;  // most bytes of a write that travel in the command capsule
    Drives drives{};
    Tier tier = Tier::scale_out;
    uint64_t command_bytes = kCommandBytes;
    uint64_t response_bytes = kResponseBytes;
    bool responds_to_reads = true;  // otherwise the data are the response
    base::Duration software{};      // before each message; zero: hosts.reaction
    std::vector<uint32_t> after{};  // by initiator: the task it waits for first; may be empty

    uint64_t bytes_for(size_t initiator) const {
        return bytes_of.empty() ? bytes : bytes_of[initiator];
    }
};

// An upper bound on the number of tasks.
uint64_t most_tasks(const Storage& storage);

// Adds a job of one phase. Each initiator visits the targets in turn, starting at a different one,
// and the drives of each target in turn. All messages are on `channel`.
void append_storage(Program& program, const Job& job, const Storage& storage, uint16_t channel);
// The same for several groups at the same time, each with its own targets. All read or all write.
void append_storage(Program& program, const Job& job, std::span<const Storage> groups,
                    uint16_t channel);

}  // namespace tulle::workload
