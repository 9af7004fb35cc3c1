#include "live/mapped.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tulle::live {
namespace {

// Three pages, of which the one in the middle becomes what a test wants.
class MappedTest : public testing::Test {
protected:
    void SetUp() override {
        if (memory == MAP_FAILED) GTEST_SKIP() << "no memory";
        int own = 0;
        if (madvise(memory, page, 22 /* MADV_POPULATE_READ */) != 0)
            GTEST_SKIP() << "this kernel does not tell";
        ASSERT_TRUE(is_writable(&own, sizeof own));
    }
    void TearDown() override { munmap(memory, 3 * page); }

    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    char* const memory = static_cast<char*>(
        mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
};

TEST_F(MappedTest, memory_of_the_programs_own_is_read_and_written) {
    EXPECT_TRUE(is_mapped(memory + 1, 3 * page - 1));
    EXPECT_TRUE(is_readable(memory + 1, 3 * page - 1));
    EXPECT_TRUE(is_writable(memory + 1, 3 * page - 1));
}

TEST_F(MappedTest, memory_that_became_read_only_is_read_and_not_written) {
    ASSERT_EQ(mprotect(memory + page, page, PROT_READ), 0);
    EXPECT_TRUE(is_mapped(memory, 3 * page));
    EXPECT_TRUE(is_readable(memory, 3 * page));
    EXPECT_FALSE(is_writable(memory, 3 * page));
    EXPECT_FALSE(is_writable(memory + 2 * page - 1, 1));
    EXPECT_TRUE(is_writable(memory + 2 * page, page));
}

TEST_F(MappedTest, memory_that_may_not_be_touched_is_mapped_and_no_more) {
    ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
    EXPECT_TRUE(is_mapped(memory, 3 * page));
    EXPECT_FALSE(is_readable(memory + page - 1, 2));
    EXPECT_FALSE(is_writable(memory + page - 1, 2));
}

TEST_F(MappedTest, memory_that_was_unmapped_is_not_there) {
    ASSERT_EQ(munmap(memory + page, page), 0);
    EXPECT_FALSE(is_mapped(memory, 3 * page));
    EXPECT_FALSE(is_readable(memory, 3 * page));
    EXPECT_FALSE(is_writable(memory, 3 * page));
    EXPECT_TRUE(is_writable(memory, page));
}

}  // namespace
}  // namespace tulle::live
