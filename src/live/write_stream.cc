#include "live/write_stream.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>

#include "live/record.h"

namespace tulle::live {
namespace {

// Parts of one call of the kernel.
struct Batch {
    static constexpr size_t kMost = 64;

    void add(const std::byte* here, uint64_t there, size_t length, pid_t process) {
        from[count] = {const_cast<std::byte*>(here), length};
        to[count] = {reinterpret_cast<void*>(there), length};
        if (++count == kMost) send(process);
    }
    // Memory that is no longer there has no reader either.
    void send(pid_t process) {
        if (count != 0) (void)process_vm_writev(process, from.data(), count, to.data(), count, 0);
        count = 0;
    }

    std::array<iovec, kMost> from;
    std::array<iovec, kMost> to;
    size_t count = 0;
};

}  // namespace

const StreamedWrite* WriteStream::oldest_done(const RingMemory& ring) {
    if (writes_.empty()) return nullptr;
    const uint64_t done = std::max(ring.read.load(std::memory_order_acquire), taken_to_);
    return writes_.front().end <= done ? &writes_.front() : nullptr;
}

// Longer each time, unless it went well for longer than that.
void WriteStream::close(base::Instant now) {
    const bool went_well = now > open_again_ + closed_;
    closed_ = went_well ? kShortClosed : std::min(closed_ + closed_, kLongClosed);
    open_again_ = now + closed_;
}

bool WriteStream::begin_to_take_back(RingMemory& ring, uint64_t end) {
    ring.taking_back.store(1);
    const uint64_t read = ring.read.load();  // first: the reader passes over what it may not do
    uint64_t claimed = ring.claimed.load();
    if (claimed >= end || !ring.claimed.compare_exchange_strong(claimed, end)) {
        ring.taking_back.store(0);
        return false;
    }
    is_taking_back_ = true;
    readers_end_ = claimed != taken_to_ ? claimed : 0;
    taken_from_ = std::max(read, claimed);
    taking_to_ = end;
    return true;
}

void WriteStream::copy(RingMemory& ring, uint64_t from, uint64_t end, pid_t reader) {
    Batch batch;
    for (RingWalk walk(ring, from, end); walk; walk.next()) {
        WriteRecord record{};
        if (walk.bytes().size() < sizeof record) continue;
        std::memcpy(&record, walk.bytes().data(), sizeof record);
        if (record.head.kind != RecordKind::write) continue;
        const auto data = walk.bytes().subspan(sizeof record);
        if (!data.empty()) batch.add(data.data(), record.place, data.size(), reader);
    }
    batch.send(reader);
}

bool claim_write(RingMemory& ring, uint64_t position, uint64_t end) {
    constexpr int kTries = 1000;  // a writer who changes it all the time gets nothing done
    uint64_t claimed = ring.claimed.load();
    for (int tries = 0; tries < kTries && claimed <= position; ++tries)
        if (ring.claimed.compare_exchange_weak(claimed, end)) return true;
    return false;
}

}  // namespace tulle::live
