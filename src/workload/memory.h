// Memory that the GPUs of a server share, with its own ports on the network inside the server.
//
// A load is a request, the memory's latency, and a line that returns. A store is a line and its
// acknowledgement. A GPU limits its outstanding requests, so it gets at most
//   outstanding x line / round trip.
// A copy engine does the same with larger blocks. The time that hardware takes at either end before
// a message leaves stands in for software time. Lines of an address range alternate between
// devices.
#pragma once

#include "workload/storage.h"

namespace tulle::workload {

struct MemoryAccess {
    bool stores = false;
    uint64_t line = 256;              // bytes of one request
    uint32_t outstanding = 64;        // outstanding requests of a GPU
    base::Duration hardware{};        // zero: hosts.reaction of the network
    base::Duration latency{100'000};  // of a device, in parallel with other requests; chosen
    base::Rate rate = base::Rate::bits_per_second(512'000'000'000);  // of a device; chosen
};
// The size of a request without data and of an acknowledgement; chosen: a flit of 16 bytes.
inline constexpr uint64_t kMemoryHeaderBytes = 16;

// Each GPU in `initiators`, all of one server, moves `bytes`.
Storage accesses(const MemoryAccess& access, std::vector<uint32_t> initiators,
                 std::vector<uint32_t> devices, uint64_t bytes);

}  // namespace tulle::workload
