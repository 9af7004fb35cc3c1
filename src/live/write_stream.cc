#include "live/write_stream.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "live/record.h"

namespace tulle::live {
namespace {

// Parts of one call of the kernel.
struct Batch {
    static constexpr size_t kMost = 64;

    void add(std::span<const std::byte> here, uint64_t there, uint64_t end) {
        from[count] = {const_cast<std::byte*>(here.data()), here.size()};
        to[count] = {reinterpret_cast<void*>(there), here.size()};
        ends[count++] = end;
    }
    // The call stops at memory that is gone or protected; another call does the rest.
    void send(pid_t process, std::vector<uint64_t>& refused) {
        for (size_t first = 0; first < count; ++first) {
            const size_t left = count - first;
            ssize_t done =
                process_vm_writev(process, from.data() + first, left, to.data() + first, left, 0);
            if (done < 0 && errno != EFAULT) break;  // the process has ended
            for (; first < count && done >= static_cast<ssize_t>(from[first].iov_len); ++first)
                done -= static_cast<ssize_t>(from[first].iov_len);
            if (first < count) refused.push_back(ends[first]);
        }
        count = 0;
    }

    std::array<iovec, kMost> from;
    std::array<iovec, kMost> to;
    std::array<uint64_t, kMost> ends;
    size_t count = 0;
};

}  // namespace

const StreamedWrite* WriteStream::oldest_done(const RingMemory& ring) {
    if (writes_.empty()) return nullptr;
    uint64_t done = std::max(ring.read.load(std::memory_order_acquire), taken_to_);
    // The reader has passed over WRITEs that we claimed and have not done yet.
    if (is_taking_back_) done = std::min(done, taken_from_);
    return writes_.front().end <= done ? &writes_.front() : nullptr;
}

bool WriteStream::was_refused(const RingMemory& ring, const StreamedWrite& write) const {
    if (!refused_.empty() && std::ranges::find(refused_, write.end) != refused_.end()) return true;
    if (ring.refused_count.load(std::memory_order_relaxed) == 0) return false;
    return std::ranges::any_of(ring.refused,
                               [&](const auto& end) { return end.load() == write.end; });
}

// Closes the stream, longer each time, unless it went well for longer than the last time.
void WriteStream::close(base::Instant now) {
    const bool went_well = now > open_again_ + closed_;
    closed_ = went_well ? kShortClosed : std::min(closed_ + closed_, kLongClosed);
    open_again_ = now + closed_;
}

bool WriteStream::begin_to_take_back(RingMemory& ring, uint64_t end) {
    ring.taking_back.store(1);
    const uint64_t read = ring.read.load();  // first: the reader skips WRITEs that are not its own
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
        if (data.empty()) continue;
        batch.add(data, record.place, walk.end());
        if (batch.count == Batch::kMost) batch.send(reader, refused_);
    }
    batch.send(reader, refused_);
}

bool claim_write(RingMemory& ring, uint64_t position, uint64_t end) {
    constexpr int kTries = 1000;  // bounded, since a hostile writer may change it all the time
    uint64_t claimed = ring.claimed.load();
    for (int tries = 0; tries < kTries && claimed <= position; ++tries)
        if (ring.claimed.compare_exchange_weak(claimed, end)) return true;
    return false;
}

void refuse_write(RingMemory& ring, uint64_t end) {
    const uint64_t count = ring.refused_count.load();
    if (count - ring.refused_seen.load() >= kRefusals) return;  // their queue pairs fail anyway
    ring.refused[count % kRefusals].store(end);
    ring.refused_count.store(count + 1);
}

}  // namespace tulle::live
