#include "workload/memory.h"

#include <gtest/gtest.h>

namespace tulle::workload {
namespace {

struct Counted {
    uint64_t to_device = 0;
    uint64_t from_device = 0;
    uint64_t messages = 0;
};

// GPUs are ranks 0 and 1, devices are 2 and 3.
Counted counted(const MemoryAccess& access, uint64_t bytes) {
    Program program;
    append_storage(program, Job{"memory"}, accesses(access, {0, 1}, {2, 3}, bytes), 0);
    EXPECT_FALSE(program.check(4));
    Counted found;
    for (const Task& task : program.tasks()) {
        if (task.kind != Task::Kind::send) continue;
        EXPECT_EQ(task.tier, Tier::scale_up);
        (task.rank < 2 ? found.to_device : found.from_device) += task.bytes;
        ++found.messages;
    }
    return found;
}

TEST(memory, a_load_is_a_request_and_a_line) {
    const Counted found = counted({.line = 128}, 1280);
    EXPECT_EQ(found.messages, 2u * 20);
    EXPECT_EQ(found.to_device, 20 * kMemoryHeaderBytes);
    EXPECT_EQ(found.from_device, 2u * 1280);
}

TEST(memory, a_store_is_a_line_and_an_acknowledgement) {
    const Counted found = counted({.stores = true, .line = 128}, 1280);
    EXPECT_EQ(found.messages, 2u * 20);
    EXPECT_EQ(found.to_device, 2 * 1280 + 20 * kMemoryHeaderBytes);
    EXPECT_EQ(found.from_device, 20 * kMemoryHeaderBytes);
}

// A request waits for the answer to the one so many before it.
TEST(memory, requests_under_way_are_limited) {
    Program program;
    append_storage(program, Job{"memory"}, accesses({.line = 64, .outstanding = 4}, {0}, {1}, 640),
                   0);
    uint32_t free = 0;
    uint32_t bound = 0;
    for (uint32_t i = 0; i < program.size(); ++i)
        if (program[i].kind == Task::Kind::send && program[i].rank == 0)
            ++(program.needs(i).empty() ? free : bound);
    EXPECT_EQ(free, 4u);
    EXPECT_EQ(bound, 6u);
}

}  // namespace
}  // namespace tulle::workload
