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
    uint64_t claimed = ring.claimed.load();
    while (claimed <= position)
        if (ring.claimed.compare_exchange_weak(claimed, end)) return true;
    return false;
}

}  // namespace tulle::live
