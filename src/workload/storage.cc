#include "workload/storage.h"

#include <algorithm>

#include "base/check.h"
#include "workload/range.h"

namespace tulle::workload {
namespace {

using Kind = Task::Kind;

// The tasks that an initiator waits for to know that a command is answered.
using Answer = std::vector<uint32_t>;

class StorageBuilder {
public:
    StorageBuilder(Program& program, const Storage& storage, uint32_t phase, uint16_t channel)
        : program_(program), storage_(storage) {
        pattern_.phase = phase;
        pattern_.channel = channel;
        pattern_.tier = storage.tier;
    }

    // Adds the commands of one initiator, which keeps as many outstanding as there are answers.
    void add(size_t index) {
        const uint64_t bytes = storage_.bytes_for(index);
        const uint64_t blocks = bytes == 0 ? 0 : parts_of(bytes, storage_.block);
        Answer first;
        if (!storage_.after.empty() && storage_.after[index] != kNoTask)
            first.push_back(storage_.after[index]);
        std::vector<Answer> answers(std::min<uint64_t>(storage_.depth, blocks), first);
        const size_t targets = storage_.targets.size();
        for (uint64_t block = 0; block < blocks; ++block) {
            const uint64_t size = std::min(storage_.block, bytes - block * storage_.block);
            const uint32_t target = storage_.targets[(index + block) % targets];
            Answer& slot = answers[block % answers.size()];
            drive_ = storage_.drives.count == 0
                         ? 0
                         : static_cast<uint16_t>((index + block / targets) % storage_.drives.count);
            slot = storage_.writes ? write(storage_.initiators[index], target, size, slot)
                                   : read(storage_.initiators[index], target, size, slot);
        }
    }

private:
    uint32_t task(Kind kind, uint32_t rank, uint32_t peer, uint64_t bytes,
                  std::span<const uint32_t> needs) {
        Task task = pattern_;
        task.kind = kind;
        task.rank = rank;
        task.peer = peer;
        task.bytes = bytes;
        task.duration = storage_.software;
        return program_.add(task, needs);
    }

    // Adds the drive's transfer and the rest of the command's latency. Returns the last task.
    uint32_t ask_drive(uint32_t target, uint64_t bytes, uint32_t need) {
        if (storage_.drives.count == 0) return need;
        Task turn = pattern_;
        turn.kind = Kind::compute;
        turn.rank = turn.peer = target;
        turn.channel = drive_;
        turn.is_in_turn = true;
        turn.duration = storage_.drives.rate.time_for(bytes);
        uint32_t last = program_.add(turn, std::span(&need, 1));
        if (storage_.drives.latency.ps == 0) return last;
        turn.is_in_turn = false;
        turn.duration = storage_.drives.latency;
        last = program_.add(turn, std::span(&last, 1));
        return last;
    }

    Answer read(uint32_t initiator, uint32_t target, uint64_t bytes, const Answer& before) {
        const uint32_t command =
            task(Kind::send, initiator, target, storage_.command_bytes, before);
        const uint32_t found = ask_drive(target, bytes, command);
        const uint32_t data = task(Kind::send, target, initiator, bytes, std::span(&found, 1));
        if (!storage_.responds_to_reads) return {data};
        const uint32_t response =
            task(Kind::send, target, initiator, storage_.response_bytes, std::span(&found, 1));
        return {data, response};
    }

    Answer write(uint32_t initiator, uint32_t target, uint64_t bytes, const Answer& before) {
        const bool is_along = bytes <= storage_.in_capsule;
        uint32_t last = task(Kind::send, initiator, target,
                             storage_.command_bytes + (is_along ? bytes : 0), before);
        if (!is_along) last = task(Kind::read, target, initiator, bytes, std::span(&last, 1));
        last = ask_drive(target, bytes, last);
        return {task(Kind::send, target, initiator, storage_.response_bytes, std::span(&last, 1))};
    }

    Program& program_;
    const Storage& storage_;
    Task pattern_;
    uint16_t drive_ = 0;
};

}  // namespace

uint64_t most_tasks(const Storage& storage) {
    constexpr uint64_t kOfCommand = 5;
    uint64_t blocks = 0;
    for (size_t i = 0; i < storage.initiators.size(); ++i)
        blocks += parts_of(storage.bytes_for(i), storage.block);
    return kOfCommand * blocks;
}

void append_storage(Program& program, const Job& job, const Storage& storage, uint16_t channel) {
    append_storage(program, job, std::span(&storage, 1), channel);
}

void append_storage(Program& program, const Job& job, std::span<const Storage> groups,
                    uint16_t channel) {
    Phase phase;
    phase.name = job.name;
    phase.collective = groups.front().writes ? Collective::storage_write : Collective::storage_read;
    for (const Storage& storage : groups) {
        TULLE_CHECK(!storage.initiators.empty() && !storage.targets.empty());
        TULLE_CHECK(storage.block > 0 && storage.depth > 0);
        TULLE_CHECK(storage.writes == groups.front().writes);
        for (size_t i = 0; i < storage.initiators.size(); ++i)
            phase.bytes = std::max(phase.bytes, storage.bytes_for(i));
        phase.ranks += static_cast<uint32_t>(storage.initiators.size());
    }
    phase.job = static_cast<uint32_t>(program.jobs.size());
    const auto number = static_cast<uint32_t>(program.phases.size());
    program.jobs.push_back(job);
    program.phases.push_back(std::move(phase));
    for (const Storage& storage : groups) {
        StorageBuilder builder(program, storage, number, channel);
        for (size_t i = 0; i < storage.initiators.size(); ++i) builder.add(i);
    }
}

}  // namespace tulle::workload
