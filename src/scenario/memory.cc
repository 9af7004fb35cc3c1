#include "scenario/memory.h"

#include <map>

#include "scenario/key_reader.h"

namespace tulle::scenario {
namespace {

constexpr KnownKey kMemoryKeys[] = {
    {"ranks", "GPUs", "the GPUs that load or store; all by default"},
    {"operation", "one of load, store, copy",
     "one line at a time, or blocks of 64KiB as a copy engine does; load by default"},
    {"bytes", "size", "total of each GPU"},
    {"line", "size", "size of one request; 256 bytes by default, 64KiB for a copy"},
    {"outstanding", "number", "outstanding requests of a GPU; 64 by default, chosen"},
    {"hardware", "duration",
     "time at each end before a message is sent; by default hosts.reaction of the scale_up "
     "network"},
    {"latency", "duration", "latency of a device; requests overlap; 100ns by default, chosen"},
    {"rate", "rate", "rate of a device; 512Gbps by default, chosen"},
};

constexpr KnownKey kStateKeys[] = {
    {"line", "size", "size of one request; 1MiB by default, as of a copy engine"},
    {"outstanding", "number", "outstanding requests of a GPU; 64 by default"},
    {"hardware", "duration", "as in `memory`"},
    {"latency", "duration", "as in `memory`"},
    {"rate", "rate", "as in `memory`"},
    {"capacity", "size", "size of the KV cache of each GPU; 256GiB by default, chosen"},
};

}  // namespace

std::span<const KnownKey> memory_keys() {
    return kMemoryKeys;
}

std::span<const KnownKey> memory_state_keys() {
    return kStateKeys;
}

workload::MemoryAccess read_access(const Value& map, const workload::MemoryAccess& usual,
                                   Notes& notes) {
    workload::MemoryAccess access = usual;
    KeyReader reader(map, notes);
    reader.size("line", access.line);
    reader.number(map, "outstanding", access.outstanding, 1, 65536);
    reader.time("hardware", access.hardware);
    reader.time("latency", access.latency);
    reader.field(
        "rate", [](At<base::Rate> at) { return rate(std::move(at)); }, access.rate);
    constexpr base::Duration kLeastHardware{10'000};  // time advances in windows as long
    if (access.hardware.ps != 0 && access.hardware < kLeastHardware)
        notes.fail(map.line, "hardware: it is at least 10ns");
    return access;
}

bool has_memory(const Gpus& gpus, uint32_t line, Notes& notes) {
    if (gpus.memory_per_server == 0)
        notes.fail(line, "servers have no memory that GPUs share; write gpus: {memory: 2}");
    return gpus.memory_per_server != 0;
}

std::vector<workload::Storage> accesses(const Gpus& gpus, const std::vector<uint32_t>& ranks,
                                        const workload::MemoryAccess& access,
                                        const std::vector<uint64_t>& bytes) {
    std::map<uint32_t, std::vector<size_t>> by_server;  // indices into `ranks`
    for (size_t i = 0; i < ranks.size(); ++i) by_server[gpus.members[ranks[i]].server].push_back(i);
    std::vector<workload::Storage> groups;
    for (const auto& [server, places] : by_server) {
        std::vector<uint32_t> devices;
        for (uint32_t i = 0; i < gpus.memory_per_server; ++i)
            devices.push_back(gpus.first_memory + server * gpus.memory_per_server + i);
        std::vector<uint32_t> initiators;
        std::vector<uint64_t> own;
        for (const size_t place : places) {
            initiators.push_back(ranks[place]);
            own.push_back(bytes[place]);
        }
        groups.push_back(workload::accesses(access, std::move(initiators), std::move(devices), 0));
        groups.back().bytes_of = std::move(own);
    }
    return groups;
}

uint64_t most_tasks(const std::vector<workload::Storage>& groups) {
    uint64_t sum = 0;
    for (const workload::Storage& group : groups) sum += workload::most_tasks(group);
    return sum;
}

}  // namespace tulle::scenario
