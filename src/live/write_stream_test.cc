#include "live/write_stream.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "live/record.h"

namespace tulle::live {
namespace {

// The writer's side of a ring whose reader is this process too.
class WriteStreamTest : public testing::Test {
protected:
    void put(RecordKind kind, uint64_t place, uint64_t value) {
        const WriteRecord record{{kind}, place};
        std::byte* to = writer.reserve(sizeof record + sizeof value);
        ASSERT_NE(to, nullptr);
        std::memcpy(to, &record, sizeof record);
        std::memcpy(to + sizeof record, &value, sizeof value);
        writer.publish();
        if (kind == RecordKind::write)
            stream.push({wire::Qpn{1}, sizeof value, value, 0, writer.position()});
    }
    void write(size_t cell, uint64_t value) {
        put(RecordKind::write, reinterpret_cast<uint64_t>(&cells[cell]), value);
    }
    void take_back() { stream.take_back(*ring, writer.position(), getpid(), base::Instant{}); }
    // What the reader does with the oldest record: whether that was its to put into place.
    bool read_one() {
        EXPECT_FALSE(reader.front().empty());
        const bool is_own = claim_write(*ring, reader.position(), reader.end());
        reader.pop();
        return is_own;
    }

    std::unique_ptr<RingMemory> ring = std::make_unique<RingMemory>();
    RingWriter writer{ring.get()};
    RingReader reader{ring.get()};
    WriteStream stream;
    std::array<uint64_t, 8> cells{};
};

TEST_F(WriteStreamTest, a_write_is_done_when_the_ring_has_been_read_so_far) {
    write(0, 7);
    write(1, 8);
    EXPECT_EQ(stream.oldest_done(*ring), nullptr);
    EXPECT_TRUE(read_one());
    ASSERT_NE(stream.oldest_done(*ring), nullptr);
    EXPECT_EQ(stream.oldest_done(*ring)->id, 7u);
    stream.pop();
    EXPECT_EQ(stream.oldest_done(*ring), nullptr);
}

TEST_F(WriteStreamTest, what_is_taken_back_is_put_into_place_and_the_reader_passes_over_it) {
    write(0, 7);
    write(1, 8);
    EXPECT_TRUE(read_one());
    cells[0] = 0;  // whoever claimed it puts it there, once
    take_back();
    EXPECT_EQ(cells[0], 0u);
    EXPECT_EQ(cells[1], 8u);
    stream.pop();
    ASSERT_NE(stream.oldest_done(*ring), nullptr);
    cells[1] = 0;
    EXPECT_FALSE(read_one());
    write(2, 9);
    EXPECT_TRUE(read_one());
}

// The reader is amid the first: what comes later must not be there before it.
TEST_F(WriteStreamTest, what_is_taken_back_waits_for_the_one_that_the_reader_is_amid) {
    write(0, 7);
    write(0, 8);
    ASSERT_FALSE(reader.front().empty());
    ASSERT_TRUE(claim_write(*ring, reader.position(), reader.end()));
    take_back();
    EXPECT_TRUE(stream.is_taking_back());
    EXPECT_EQ(ring->taking_back.load(), 1u);
    EXPECT_EQ(cells[0], 0u);
    cells[0] = 7;
    reader.pop();
    take_back();
    EXPECT_FALSE(stream.is_taking_back());
    EXPECT_EQ(ring->taking_back.load(), 0u);
    EXPECT_EQ(cells[0], 8u);
}

TEST_F(WriteStreamTest, what_the_reader_has_passed_over_is_not_done_before_it_is_in_place) {
    write(0, 7);
    write(0, 8);
    ASSERT_FALSE(reader.front().empty());
    ASSERT_TRUE(claim_write(*ring, reader.position(), reader.end()));
    take_back();
    reader.pop();
    EXPECT_FALSE(read_one());
    ASSERT_NE(stream.oldest_done(*ring), nullptr);
    stream.pop();
    EXPECT_EQ(stream.oldest_done(*ring), nullptr);
    take_back();
    EXPECT_NE(stream.oldest_done(*ring), nullptr);
}

// Its reader can write the ring as well.
TEST_F(WriteStreamTest, a_ring_that_its_reader_has_spoiled_is_walked_no_further) {
    for (const uint64_t length : {uint64_t{kRingBytes}, kMaxRecord + 1, UINT64_MAX - 1}) {
        write(0, 7);
        std::memcpy(ring->bytes + (writer.position() - 64) % kRingBytes, &length, sizeof length);
        take_back();
        EXPECT_EQ(cells[0], 0u);
        stream.pop();
    }
    for (const uint64_t from : {uint64_t{1}, uint64_t{0} - 64}) {
        const RingWalk walk(*ring, from, 128);
        EXPECT_FALSE(walk);
    }
}

TEST_F(WriteStreamTest, packets_are_left_to_the_reader) {
    put(RecordKind::packet, reinterpret_cast<uint64_t>(&cells[0]), 7);
    write(1, 8);
    take_back();
    EXPECT_EQ(cells[0], 0u);
    EXPECT_EQ(cells[1], 8u);
}

TEST_F(WriteStreamTest, a_ring_that_begins_anew_is_walked_from_its_end_to_its_start) {
    constexpr size_t kRecords = kRingBytes / kRecordAlignment;
    for (size_t i = 0; i + 2 < kRecords; ++i) {
        write(0, i);
        EXPECT_TRUE(read_one());
        stream.pop();
    }
    // Two places are left, and this needs three: a mark, and it lies at the start.
    const std::array<std::byte, 2 * kRecordAlignment> payload{};
    std::byte* to = writer.reserve(sizeof(WriteRecord) + payload.size());
    const WriteRecord record{{RecordKind::packet}, 0};
    std::memcpy(to, &record, sizeof record);
    writer.publish();
    write(3, 11);
    take_back();
    EXPECT_EQ(cells[3], 11u);
}

TEST_F(WriteStreamTest, a_reader_without_a_cpu_is_left_alone_for_a_while_and_then_for_longer) {
    constexpr base::Duration kMillisecond{1'000'000'000};
    base::Instant now{};
    for (const int64_t closed : {1, 2, 4}) {
        write(0, 1);
        stream.take_back(*ring, writer.position(), getpid(), now);
        now = now + base::Duration{closed * kMillisecond.ps};
        EXPECT_FALSE(stream.is_open(now - base::Duration{1}));
        EXPECT_TRUE(stream.is_open(now));
    }
    now = now + base::Duration{1000 * kMillisecond.ps};
    write(0, 1);
    stream.take_back(*ring, writer.position(), getpid(), now);
    EXPECT_TRUE(stream.is_open(now + kMillisecond));
}

}  // namespace
}  // namespace tulle::live
