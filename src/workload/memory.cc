#include "workload/memory.h"

namespace tulle::workload {

Storage accesses(const MemoryAccess& access, std::vector<uint32_t> initiators,
                 std::vector<uint32_t> devices, uint64_t bytes) {
    Storage storage;
    storage.initiators = std::move(initiators);
    storage.targets = std::move(devices);
    storage.writes = access.stores;
    storage.bytes = bytes;
    storage.block = access.line;
    storage.depth = access.outstanding;
    storage.in_capsule = access.line;
    storage.drives = {1, access.latency, access.rate};
    storage.tier = Tier::scale_up;
    storage.command_bytes = storage.response_bytes = kMemoryHeaderBytes;
    storage.responds_to_reads = false;
    storage.software = access.hardware;
    return storage;
}

}  // namespace tulle::workload
