// Storage over NVMe over fabrics, as it is on the wire (NVMe over Fabrics 1.1, RDMA transport).
//
// A read is a command capsule of 64 bytes; the target asks a drive, writes the data into the
// initiator's memory and sends a response capsule of 16 bytes. A write is a capsule, with the data
// in it if they are few; otherwise the target fetches them. Then it asks a drive and responds. An
// initiator keeps `depth` commands outstanding, and sends the next when one is answered.
//
// A drive transfers the blocks of commands one after the other, in the order in which they come;
// what a command takes besides passes beside those of others. Targets of several jobs share drives.
//
// Memory that GPUs reach over the network inside their server has the same shape (memory.h).
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
    uint32_t count = 0;  // of each target; 0: nothing takes time there
    base::Duration latency{};
    base::Rate rate = base::Rate::bits_per_second(56'000'000'000);
};

struct Storage {
    std::vector<uint32_t> initiators;  // ranks
    std::vector<uint32_t> targets;     // ranks, none of which is an initiator
    bool writes = false;
    uint64_t bytes = 0;              // of each initiator
    std::vector<uint64_t> bytes_of;  // instead, by initiator; may be empty
    uint64_t block = 128 << 10;
    uint32_t depth = 32;
    uint64_t in_capsule = 0;  // bytes of a write that go along with the command at most
    Drives drives{};
    Tier tier = Tier::scale_out;
    uint64_t command_bytes = kCommandBytes;
    uint64_t response_bytes = kResponseBytes;
    bool responds_to_reads = true;  // otherwise the data are the answer
    base::Duration software{};      // before each message; zero: hosts.reaction
    std::vector<uint32_t> after{};  // by initiator: what it waits for first; may be empty

    uint64_t bytes_for(size_t initiator) const {
        return bytes_of.empty() ? bytes : bytes_of[initiator];
    }
};

// At least as many as tasks would be made.
uint64_t most_tasks(const Storage& storage);

// Adds a job of one phase. Initiators go around the targets, each beginning with another one, and
// around the drives of each. All messages are on `channel`.
void append_storage(Program& program, const Job& job, const Storage& storage, uint16_t channel);
// The same, of several groups with targets of their own, at the same time. All read or all write.
void append_storage(Program& program, const Job& job, std::span<const Storage> groups,
                    uint16_t channel);

}  // namespace tulle::workload
