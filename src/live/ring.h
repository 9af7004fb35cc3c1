// A ring of records in shared memory, from one process to another: one writes, one reads.
//
// A record is a 64-bit length and that many bytes, at a multiple of 64. It is contiguous. If it
// does not fit at the end of the ring, a mark there says that the next record is at the start.
//
// Both processes can write all of it, so neither trusts what it finds there. Each keeps its own
// position in its own memory, reads the other's position once and checks it. The reader takes an
// impossible length, or none, as the end of the ring.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>

namespace tulle::live {

inline constexpr size_t kRingBytes = 1 << 20;
inline constexpr size_t kRecordAlignment = 64;
inline constexpr size_t kMaxRecord = kRingBytes / 4;

inline constexpr size_t kRefusals = 16;

struct RingMemory {
    alignas(64) std::atomic<uint64_t> written;
    alignas(64) std::atomic<uint64_t> read;
    alignas(64) std::atomic<uint32_t> bell_rung;  // the reader was rung and has not looked since
    // Odd while the writer copies into the reader's memory, or out of it, by itself (direct.h).
    alignas(64) std::atomic<uint32_t> at_work;
    // Not zero once the reader has the ring and knows which writer to wait for. Before that the
    // writer does not touch the reader's memory.
    std::atomic<uint32_t> is_taken;
    // WRITEs up to this position are claimed: one of the two puts them into place (write_stream.h).
    alignas(64) std::atomic<uint64_t> claimed;
    // Not zero while the writer takes WRITEs back and waits for the reader to finish one of them.
    std::atomic<uint32_t> taking_back;
    // The word that the writer has read in the reader's private memory (board.h). The reader does
    // WRITEs only for a writer that reaches that memory anyway.
    alignas(64) std::atomic<uint64_t> proof;
    // The ends of WRITEs that the reader could not put into place: the first ones since the writer
    // last looked.
    std::atomic<uint64_t> refused_count;
    std::atomic<uint64_t> refused_seen;
    std::atomic<uint64_t> refused[kRefusals];
    alignas(64) std::byte bytes[kRingBytes];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

inline constexpr uint64_t kWrapMark = UINT64_MAX;

constexpr size_t record_space(size_t bytes) {
    return (bytes + sizeof(uint64_t) + kRecordAlignment - 1) & ~(kRecordAlignment - 1);
}

// Walks over the records between two positions. Ends early at an impossible record.
class RingWalk {
public:
    RingWalk(const RingMemory& memory, uint64_t position, uint64_t end)
        : memory_(memory), position_(position), end_(end) {
        if (position % kRecordAlignment != 0 || end - position > kRingBytes) position_ = end_;
        read_length();
    }
    explicit operator bool() const { return position_ < end_; }
    std::span<const std::byte> bytes() const {
        return {memory_.bytes + position_ % kRingBytes + sizeof length_, length_};
    }
    // The end of this record.
    uint64_t end() const { return position_ + record_space(length_); }
    void next() {
        position_ += record_space(length_);
        read_length();
    }

private:
    void read_length() {
        while (position_ < end_) {
            const size_t left = kRingBytes - position_ % kRingBytes;
            std::memcpy(&length_, memory_.bytes + position_ % kRingBytes, sizeof length_);
            if (length_ == kWrapMark) {
                position_ += left;
                continue;
            }
            if (length_ > kMaxRecord || record_space(length_) > std::min(left, end_ - position_))
                position_ = end_;
            return;
        }
    }

    const RingMemory& memory_;
    uint64_t position_;
    uint64_t end_;
    uint64_t length_ = 0;
};

class RingWriter {
public:
    explicit RingWriter(RingMemory* memory = nullptr) : memory_(memory) {}

    // Room for a record of `bytes` bytes; nullptr if the ring is full. The reader sees the record
    // after publish().
    std::byte* reserve(size_t bytes) {
        const size_t space = record_space(bytes);
        const size_t place = written_ % kRingBytes;
        const size_t left = kRingBytes - place;
        const size_t needed = space <= left ? space : left + space;
        if (written_ + needed - read_ > kRingBytes) {
            const uint64_t seen = memory_->read.load(std::memory_order_acquire);
            if (seen - read_ <= written_ - read_) read_ = seen;  // else the reader lies
            if (written_ + needed - read_ > kRingBytes) return nullptr;
        }
        if (space > left) {
            std::memcpy(memory_->bytes + place, &kWrapMark, sizeof kWrapMark);
            written_ += left;
        }
        std::byte* record = memory_->bytes + written_ % kRingBytes;
        const uint64_t length = bytes;
        std::memcpy(record, &length, sizeof length);
        written_ += space;
        return record + sizeof length;
    }

    uint64_t position() const { return written_; }
    size_t unread() const { return written_ - memory_->read.load(std::memory_order_acquire); }
    bool is_behind() const { return unread() != 0; }
    bool has_unpublished() const { return written_ != published_; }
    void publish() {
        published_ = written_;
        memory_->written.store(written_);
    }

private:
    RingMemory* memory_;
    uint64_t written_ = 0;
    uint64_t published_ = 0;
    uint64_t read_ = 0;
};

class RingReader {
public:
    explicit RingReader(RingMemory* memory = nullptr) : memory_(memory) {}

    // False also if the ring is broken, since the caller must handle that.
    bool empty() {
        if (is_broken_ || read_ != written_) return false;
        const uint64_t seen = memory_->written.load();
        is_broken_ = seen - read_ > kRingBytes || seen % kRecordAlignment != 0;
        if (!is_broken_) written_ = seen;
        return !is_broken_ && read_ == written_;
    }

    // The oldest record; empty if there is none. It stays until pop().
    std::span<const std::byte> front() {
        while (!is_broken_ && !empty()) {
            const size_t place = read_ % kRingBytes;
            uint64_t length = 0;
            std::memcpy(&length, memory_->bytes + place, sizeof length);
            if (length == kWrapMark) {
                advance(kRingBytes - place);
                continue;
            }
            const size_t left = kRingBytes - place;
            if (length == 0 || length > kMaxRecord || record_space(length) > left ||
                record_space(length) > written_ - read_) {
                is_broken_ = true;
                break;
            }
            space_ = record_space(length);
            return {memory_->bytes + place + sizeof length, length};
        }
        return {};
    }

    void pop() { advance(space_); }
    bool is_broken() const { return is_broken_; }
    // The contents of a record made no sense: nothing more is read.
    void give_up() { is_broken_ = true; }
    // The begin and the end of the oldest record, once front() has returned it.
    uint64_t position() const { return read_; }
    uint64_t end() const { return read_ + space_; }

private:
    void advance(size_t space) {
        if (space > written_ - read_) {
            is_broken_ = true;
            return;
        }
        read_ += space;
        memory_->read.store(read_, std::memory_order_release);
    }

    RingMemory* memory_;
    uint64_t read_ = 0;
    uint64_t written_ = 0;
    size_t space_ = 0;
    bool is_broken_ = false;
};

}  // namespace tulle::live
