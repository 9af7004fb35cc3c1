// Small WRITEs that have not completed and go through the ring to a peer whose side is awake. The
// peer puts them into place (direct.h).
//
// Either side may put a WRITE into place. The side that moves the ring's `claimed` past it does so.
// The reader claims one at a time. A writer that sees no progress, because the reader has no CPU,
// claims the rest and does them by calls of the kernel.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/time.h"
#include "live/ring.h"
#include "wire/ids.h"

namespace tulle::live {

struct StreamedWrite {
    wire::Qpn qpn;
    uint32_t length = 0;
    uint64_t id = 0;
    uint8_t flags = 0;
    uint64_t end = 0;  // it is done once the ring has been read to this position
};

class WriteStream {
public:
    bool empty() const { return writes_.empty(); }
    void push(const StreamedWrite& write) { writes_.push_back(write); }

    // The oldest WRITE that is done, or nullptr.
    const StreamedWrite* oldest_done(const RingMemory& ring);
    // Whether a WRITE could not be put into place, by either side.
    bool was_refused(const RingMemory& ring, const StreamedWrite& write) const;
    // All WRITEs are completed, so the first `seen` refusals are no longer needed.
    void forget_refusals(RingMemory& ring, uint64_t seen) {
        refused_.clear();
        if (seen != 0) ring.refused_seen.store(seen);
    }
    const StreamedWrite* oldest() const { return writes_.empty() ? nullptr : &writes_.front(); }
    void pop() { writes_.pop_front(); }
    template <class Predicate>
    void remove_if(Predicate&& is_unwanted) {
        std::erase_if(writes_, is_unwanted);
    }

    // Whether the reader is expected to do WRITEs. For a while after it had no CPU it is not; then
    // the ring only collects WRITEs, and the writer does several of them at a time.
    bool is_open(base::Instant now) const { return now >= open_again_; }
    // Whether nothing was done for so long that the writer should take WRITEs back.
    bool is_stuck(base::Instant now) const {
        return !writes_.empty() && (!is_open(now) || now > last_progress_ + kPatience);
    }
    void note_progress(base::Instant now) { last_progress_ = now; }
    // Claims all WRITEs up to `end` that the reader has not claimed, and puts them into the
    // reader's memory. If the reader is still doing one, the rest waits for it: nothing is put into
    // place until this is called again. Meanwhile the ring takes nothing new.
    bool is_taking_back() const { return is_taking_back_; }
    void take_back(RingMemory& ring, uint64_t end, pid_t reader, base::Instant now) {
        if (!is_taking_back_ && !begin_to_take_back(ring, end)) return;
        if (ring.read.load(std::memory_order_acquire) < readers_end_) return;
        copy(ring, taken_from_, taking_to_, reader);
        taken_to_ = taking_to_;
        is_taking_back_ = false;
        ring.taking_back.store(0);
        if (is_open(now)) close(now);
    }

private:
    static constexpr base::Duration kPatience{100'000'000};       // 100 us
    static constexpr base::Duration kShortClosed{500'000'000};    // 0.5 ms
    static constexpr base::Duration kLongClosed{16'000'000'000};  // 16 ms

    void close(base::Instant now);
    bool begin_to_take_back(RingMemory& ring, uint64_t end);
    void copy(RingMemory& ring, uint64_t from, uint64_t end, pid_t reader);

    std::deque<StreamedWrite> writes_;
    std::vector<uint64_t> refused_;  // ends of WRITEs that we could not put into place
    uint64_t taken_to_ = 0;
    bool is_taking_back_ = false;
    uint64_t taken_from_ = 0;
    uint64_t taking_to_ = 0;
    uint64_t readers_end_ = 0;  // end of the WRITE that the reader is doing
    base::Instant last_progress_{};
    base::Instant open_again_{};
    base::Duration closed_ = kShortClosed;
};

// For the reader: claims the WRITE from `position` to `end`. False if the writer has claimed it.
bool claim_write(RingMemory& ring, uint64_t position, uint64_t end);
// For the reader: notes that the WRITE that ends at `end` could not be put into place, because its
// memory is gone or protected.
void refuse_write(RingMemory& ring, uint64_t end);

}  // namespace tulle::live
