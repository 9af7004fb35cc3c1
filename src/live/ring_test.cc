#include "live/ring.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tulle::live {
namespace {

class RingTest : public testing::Test {
protected:
    bool put(size_t bytes, std::byte value) {
        std::byte* place = writer.reserve(bytes);
        if (place == nullptr) return false;
        std::memset(place, std::to_integer<int>(value), bytes);
        writer.publish();
        return true;
    }

    std::unique_ptr<RingMemory> memory = std::make_unique<RingMemory>();
    RingWriter writer{memory.get()};
    RingReader reader{memory.get()};
};

TEST_F(RingTest, what_is_not_published_is_not_seen) {
    ASSERT_NE(writer.reserve(8), nullptr);
    EXPECT_TRUE(reader.empty());
    writer.publish();
    EXPECT_EQ(reader.front().size(), 8u);
}

TEST_F(RingTest, records_come_out_as_they_went_in_around_the_ring_many_times) {
    for (uint32_t i = 0; i < 5000; ++i) {
        const size_t bytes = 1 + i * 7919 % 9000;
        const std::byte value{static_cast<uint8_t>(i)};
        ASSERT_TRUE(put(bytes, value));
        const auto record = reader.front();
        ASSERT_EQ(record.size(), bytes);
        EXPECT_EQ(record.front(), value);
        EXPECT_EQ(record.back(), value);
        reader.pop();
    }
    EXPECT_TRUE(reader.empty());
    EXPECT_FALSE(writer.is_behind());
}

TEST_F(RingTest, a_full_ring_takes_no_more_until_one_is_read) {
    size_t count = 0;
    while (put(kMaxRecord / 2, std::byte{1})) ++count;
    EXPECT_GE(count, 6u);
    EXPECT_TRUE(writer.is_behind());
    for (size_t i = 0; i < 2; ++i) {
        ASSERT_FALSE(reader.front().empty());
        reader.pop();
    }
    EXPECT_TRUE(put(kMaxRecord / 2, std::byte{2}));
}

// A peer of another user writes what it likes into memory that both share.
TEST_F(RingTest, a_length_that_cannot_be_ends_the_ring) {
    ASSERT_TRUE(put(64, std::byte{1}));
    const uint64_t absurd = kRingBytes * 2;
    std::memcpy(memory->bytes, &absurd, sizeof absurd);
    EXPECT_TRUE(reader.front().empty());
    EXPECT_TRUE(reader.is_broken());
}

TEST_F(RingTest, a_mark_of_the_end_beyond_what_was_written_ends_the_ring) {
    ASSERT_TRUE(put(64, std::byte{1}));
    std::memcpy(memory->bytes, &kWrapMark, sizeof kWrapMark);
    EXPECT_TRUE(reader.front().empty());
    EXPECT_TRUE(reader.is_broken());
}

TEST_F(RingTest, more_than_the_ring_holds_ends_it) {
    for (const uint64_t written : {uint64_t{kRingBytes + 64}, UINT64_MAX - 63, uint64_t{1}}) {
        RingReader fresh{memory.get()};
        memory->written.store(written);
        EXPECT_FALSE(fresh.empty());  // there is something to see to
        EXPECT_TRUE(fresh.front().empty());
        EXPECT_TRUE(fresh.is_broken());
    }
}

// Were it believed, the same records would be read again and again.
TEST_F(RingTest, a_ring_of_good_records_that_claims_more_than_it_holds_ends) {
    const uint64_t length = 64 - sizeof(uint64_t);
    for (size_t place = 0; place < kRingBytes; place += 64)
        std::memcpy(memory->bytes + place, &length, sizeof length);
    memory->written.store(uint64_t{1} << 40);
    EXPECT_TRUE(reader.front().empty());
    EXPECT_TRUE(reader.is_broken());
}

TEST_F(RingTest, a_record_without_bytes_ends_the_ring) {
    memory->written.store(64);
    EXPECT_TRUE(reader.front().empty());
    EXPECT_TRUE(reader.is_broken());
}

// A reader that says that it has read more than there was, or less than before, gets nothing more.
TEST_F(RingTest, a_writer_believes_no_position_that_cannot_be) {
    while (put(kMaxRecord / 2, std::byte{1})) continue;
    for (const uint64_t read : {UINT64_MAX, uint64_t{1} << 40, writer.position() + 64}) {
        memory->read.store(read);
        EXPECT_FALSE(put(kMaxRecord / 2, std::byte{2}));
    }
    memory->read.store(writer.position());
    EXPECT_TRUE(put(kMaxRecord / 2, std::byte{2}));
    memory->read.store(0);
    EXPECT_TRUE(put(kMaxRecord / 2, std::byte{2}));
}

}  // namespace
}  // namespace tulle::live
