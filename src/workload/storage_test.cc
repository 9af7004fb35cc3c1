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

TEST(storage, a_read_is_a_command_and_the_data_back) {
    Program program;
    append_storage(program, {}, small(), 5);
    EXPECT_FALSE(program.check(10));
    EXPECT_EQ(program.phases[0].collective, Collective::storage_read);
    ASSERT_EQ(program.size(), 2u * 3 * 2);
    const uint64_t sizes[] = {64, 4096, 64, 4096, 64, 10'000 - 2 * 4096};
    const uint32_t targets[] = {8, 8, 9, 9, 8, 8};
    for (uint32_t t = 0; t < 6; ++t) {
        const Task& task = program[t];
        EXPECT_EQ(task.kind, Task::Kind::send);
        EXPECT_EQ(task.bytes, sizes[t]);
        EXPECT_EQ(task.rank, t % 2 == 0 ? 0u : targets[t]);
        EXPECT_EQ(task.peer, t % 2 == 0 ? targets[t] : 0u);
        EXPECT_EQ(task.channel, 5u);
        EXPECT_EQ(task.tier, Tier::scale_out);
    }
    EXPECT_EQ(program[6].peer, 9u);  // the second initiator begins with the second target
}

TEST(storage, as_many_commands_are_outstanding_as_the_queue_is_deep) {
    Program program;
    append_storage(program, {}, small(), 0);
    EXPECT_TRUE(program.needs(0).empty());
    EXPECT_TRUE(program.needs(2).empty());
    ASSERT_EQ(program.needs(4).size(), 1u);
    EXPECT_EQ(program.needs(4)[0], 1u);  // the answer to the first command
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

}  // namespace
}  // namespace tulle::workload
