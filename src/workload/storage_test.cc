#include "workload/storage.h"

#include <gtest/gtest.h>

namespace tulle::workload {
namespace {

Storage small() {
    Storage storage;
    storage.initiators = {0, 1};
    storage.targets = {8, 9};
    storage.bytes = 10'000;
    storage.block = 4096;
    storage.depth = 2;
    return storage;
}

uint64_t messages_of(const Program& program, uint64_t bytes) {
    uint64_t count = 0;
    for (const Task& task : program.tasks())
        count += task.kind == Task::Kind::send && task.bytes == bytes ? 1 : 0;
    return count;
}

TEST(storage, a_read_is_a_command_the_data_back_and_a_response) {
    Program program;
    append_storage(program, {}, small(), 5);
    EXPECT_FALSE(program.check(10));
    EXPECT_EQ(program.phases[0].collective, Collective::storage_read);
    ASSERT_EQ(program.size(), 3u * 3 * 2);
    const uint64_t sizes[] = {64, 4096, 16, 64, 4096, 16, 64, 10'000 - 2 * 4096, 16};
    const uint32_t targets[] = {8, 8, 8, 9, 9, 9, 8, 8, 8};
    for (uint32_t t = 0; t < 9; ++t) {
        const Task& task = program[t];
        EXPECT_EQ(task.kind, Task::Kind::send);
        EXPECT_EQ(task.bytes, sizes[t]);
        EXPECT_EQ(task.rank, t % 3 == 0 ? 0u : targets[t]);
        EXPECT_EQ(task.peer, t % 3 == 0 ? targets[t] : 0u);
        EXPECT_EQ(task.channel, 5u);
        EXPECT_EQ(task.tier, Tier::scale_out);
    }
    EXPECT_EQ(program[9].peer, 9u);  // the second initiator begins with the second target
}

TEST(storage, as_many_commands_are_outstanding_as_the_queue_is_deep) {
    Program program;
    append_storage(program, {}, small(), 0);
    EXPECT_TRUE(program.needs(0).empty());
    EXPECT_TRUE(program.needs(3).empty());
    ASSERT_EQ(program.needs(6).size(), 2u);
    EXPECT_EQ(program.needs(6)[0], 1u);  // the data of the first command, ...
    EXPECT_EQ(program.needs(6)[1], 2u);  // ... and its response
}

TEST(storage, the_target_fetches_what_is_written_and_then_responds) {
    Program program;
    Storage storage = small();
    storage.writes = true;
    append_storage(program, {}, storage, 0);
    EXPECT_FALSE(program.check(10));
    EXPECT_EQ(program.phases[0].collective, Collective::storage_write);
    ASSERT_EQ(program.size(), 3u * 3 * 2);
    EXPECT_EQ(program[1].kind, Task::Kind::read);
    EXPECT_EQ(program[1].rank, 8u);
    EXPECT_EQ(program[1].peer, 0u);
    EXPECT_EQ(program[1].bytes, 4096u);
    EXPECT_EQ(program.needs(1)[0], 0u);
    EXPECT_EQ(program[2].bytes, 16u);
    EXPECT_EQ(program.needs(2)[0], 1u);
    EXPECT_EQ(program.needs(6)[0], 2u);
}

TEST(storage, has_as_many_capsules_as_blocks) {
    for (const uint64_t bytes : {1u, 4096u, 4097u, 1'000'000u})
        for (const bool writes : {false, true}) {
            Program program;
            Storage storage = small();
            storage.writes = writes;
            storage.bytes = bytes;
            storage.block = 4096;
            append_storage(program, {}, storage, 0);
            const uint64_t blocks = 2 * ((bytes + 4095) / 4096);
            EXPECT_EQ(messages_of(program, kCommandBytes), blocks);
            EXPECT_EQ(messages_of(program, kResponseBytes), blocks);
            EXPECT_LE(program.size(), most_tasks(storage));
        }
}

TEST(storage, few_bytes_are_written_along_with_their_command) {
    Program program;
    Storage storage = small();
    storage.writes = true;
    storage.in_capsule = 4096;
    append_storage(program, {}, storage, 0);
    EXPECT_EQ(program.size(), 2u * 3 * 2);
    EXPECT_EQ(program[0].bytes, 64u + 4096);
    for (const Task& task : program.tasks()) EXPECT_NE(task.kind, Task::Kind::read);
}

TEST(storage, drives_take_their_turns_and_then_their_latency) {
    Program program;
    Storage storage = small();
    storage.drives.count = 2;
    storage.drives.latency = base::Duration{80'000'000};
    storage.drives.rate = base::Rate::bits_per_second(8'000'000'000);  // 1 ns a byte
    append_storage(program, {}, storage, 0);
    EXPECT_FALSE(program.check(10));
    EXPECT_TRUE(program[1].is_in_turn);
    EXPECT_EQ(program[1].rank, 8u);
    EXPECT_EQ(program[1].duration, base::Duration{4'096'000});
    EXPECT_FALSE(program[2].is_in_turn);
    EXPECT_EQ(program[2].duration, base::Duration{80'000'000});
    EXPECT_EQ(program.needs(3)[0], 2u);  // the data
    // Blocks 0 and 2 of the first initiator meet the same target, and its two drives.
    EXPECT_EQ(program[1].channel, 0u);
    EXPECT_EQ(program[11].channel, 1u);
}

TEST(storage, waits_for_what_comes_before_it) {
    Program program;
    program.jobs.push_back({"step"});
    program.phases.push_back({"compute"});
    Task computing;
    computing.kind = Task::Kind::compute;
    const uint32_t last = program.add(computing, {});
    Storage storage = small();
    storage.after = {last, kNoTask};
    append_storage(program, {}, storage, 0);
    EXPECT_FALSE(program.check(10));
    ASSERT_EQ(program.needs(1).size(), 1u);
    EXPECT_EQ(program.needs(1)[0], last);
    EXPECT_TRUE(program.needs(10).empty());
}

}  // namespace
}  // namespace tulle::workload
