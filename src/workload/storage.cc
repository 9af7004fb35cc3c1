#include "workload/storage.h"

#include <algorithm>

#include "base/check.h"
#include "workload/range.h"

namespace tulle::workload {
namespace {

uint32_t add(Program& program, const Task& pattern, Task::Kind kind, uint32_t rank, uint32_t peer,
             uint64_t bytes, uint32_t need) {
    Task task = pattern;
    task.kind = kind;
    task.rank = rank;
    task.peer = peer;
    task.bytes = bytes;
    return program.add(task, std::span(&need, need == kNoTask ? 0 : 1));
}

// One command and its answer; `need` is the answer before. Returns what the initiator waits for.
uint32_t add_command(Program& program, const Task& pattern, bool writes, uint32_t initiator,
                     uint32_t target, uint64_t bytes, uint32_t need) {
    using Kind = Task::Kind;
    const uint32_t command =
        add(program, pattern, Kind::send, initiator, target, kCommandBytes, need);
    if (!writes) return add(program, pattern, Kind::send, target, initiator, bytes, command);
    const uint32_t data = add(program, pattern, Kind::read, target, initiator, bytes, command);
    return add(program, pattern, Kind::send, target, initiator, kResponseBytes, data);
}

}  // namespace

void append_storage(Program& program, const Job& job, const Storage& storage, uint16_t channel) {
    TULLE_CHECK(!storage.initiators.empty() && !storage.targets.empty());
    TULLE_CHECK(storage.block > 0 && storage.depth > 0);
    Phase phase;
    phase.name = job.name;
    phase.collective = storage.writes ? Collective::storage_write : Collective::storage_read;
    phase.bytes = storage.bytes;
    phase.ranks = static_cast<uint32_t>(storage.initiators.size());
    phase.job = static_cast<uint32_t>(program.jobs.size());
    Task pattern;
    pattern.channel = channel;
    pattern.phase = static_cast<uint32_t>(program.phases.size());
    program.jobs.push_back(job);
    program.phases.push_back(std::move(phase));

    const uint64_t blocks = parts_of(storage.bytes, storage.block);
    std::vector<uint32_t> answers(std::min<uint64_t>(storage.depth, blocks));
    for (size_t i = 0; i < storage.initiators.size(); ++i) {
        std::fill(answers.begin(), answers.end(), kNoTask);
        for (uint64_t block = 0; block < blocks; ++block) {
            const uint64_t begin = block * storage.block;
            const uint64_t bytes = std::min(storage.block, storage.bytes - begin);
            const uint32_t target = storage.targets[(i + block) % storage.targets.size()];
            uint32_t& slot = answers[block % answers.size()];
            slot = add_command(program, pattern, storage.writes, storage.initiators[i], target,
                               bytes, slot);
        }
    }
}

}  // namespace tulle::workload
