// Memory that GPUs of a server share, behind ports of its own on the network inside the server.
//
// A load is a request, what the memory takes, and a line that comes back. A store is a line and its
// acknowledgement. A GPU has a limit on requests under way, so it gets at most
//   outstanding x line / round trip.
// A copy engine does the same with larger blocks. What hardware takes at either end before a
// message leaves is in the place of software; lines of an address range take turns at the devices.
#pragma once

#include "workload/storage.h"

namespace tulle::workload {

struct MemoryAccess {
    bool stores = false;
    uint64_t line = 256;              // bytes of a request
    uint32_t outstanding = 64;        // requests of a GPU under way
    base::Duration hardware{};        // zero: hosts.reaction of the network
    base::Duration latency{100'000};  // of a device, beside other requests; chosen
    base::Rate rate = base::Rate::bits_per_second(512'000'000'000);  // of a device; chosen
};
// Of a request without data and of an acknowledgement; chosen: a flit of 16 bytes.
inline constexpr uint64_t kMemoryHeaderBytes = 16;

// GPUs of one server, as many bytes each.
Storage accesses(const MemoryAccess& access, std::vector<uint32_t> initiators,
                 std::vector<uint32_t> devices, uint64_t bytes);

}  // namespace tulle::workload
