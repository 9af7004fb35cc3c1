// Which nodes have something to do in which window of time. Near windows have a slot each; far ones
// wait in a heap. A node may be noted more than once; the caller of take() checks whether it is
// due.
//
// One window may have all nodes and the next none, so slots share their memory: a slot is a list of
// chunks.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace tulle::cluster {

class WindowWheel {
public:
    static constexpr uint64_t kNone = UINT64_MAX;

    WindowWheel() { slots_.fill(kNoChunk); }

    // The window must not be before the one that was taken last.
    void add(uint64_t window, uint32_t node) {
        if (window - base_ < kSlots) {
            uint32_t& slot = slots_[window % kSlots];
            if (slot == kNoChunk || chunks_[slot].count == kChunk) begin_chunk(window, slot);
            Chunk& chunk = chunks_[slot];
            chunk.nodes[chunk.count++] = node;
        } else {
            far_.push_back({window, node});
            std::push_heap(far_.begin(), far_.end(), Later{});
        }
    }

    // The first window with a node in it.
    uint64_t first() const {
        const uint64_t near = first_near();
        return std::min(near, far_.empty() ? kNone : far_.front().window);
    }

    // Takes out the nodes of the first window, which must be `window`.
    void take(uint64_t window, std::vector<uint32_t>& into) {
        into.clear();
        base_ = window;
        uint32_t& slot = slots_[window % kSlots];
        while (slot != kNoChunk) {
            Chunk& chunk = chunks_[slot];
            into.insert(into.end(), chunk.nodes.begin(), chunk.nodes.begin() + chunk.count);
            const uint32_t next = std::exchange(chunk.next, free_);
            free_ = std::exchange(slot, next);
        }
        filled_[window % kSlots / 64] &= ~(uint64_t{1} << (window % 64));
        while (!far_.empty() && far_.front().window == window) {
            into.push_back(far_.front().node);
            std::pop_heap(far_.begin(), far_.end(), Later{});
            far_.pop_back();
        }
    }

private:
    static constexpr uint64_t kSlots = 256;
    static constexpr uint32_t kChunk = 30;
    static constexpr uint32_t kNoChunk = UINT32_MAX;
    struct Chunk {
        uint32_t next = kNoChunk;  // in the slot, or in the list of free ones
        uint32_t count = 0;
        std::array<uint32_t, kChunk> nodes;
    };
    struct Far {
        uint64_t window;
        uint32_t node;
    };
    struct Later {
        bool operator()(const Far& a, const Far& b) const { return a.window > b.window; }
    };

    void begin_chunk(uint64_t window, uint32_t& slot) {
        uint32_t begun = free_;
        if (begun == kNoChunk) {
            begun = static_cast<uint32_t>(chunks_.size());
            chunks_.emplace_back();
        }
        Chunk& chunk = chunks_[begun];
        free_ = std::exchange(chunk.next, slot);
        chunk.count = 0;
        slot = begun;
        filled_[window % kSlots / 64] |= uint64_t{1} << (window % 64);
    }

    uint64_t first_near() const {
        const uint64_t start = base_ % kSlots;
        for (uint64_t i = 0; i <= kSlots / 64; ++i) {
            const uint64_t word = (start / 64 + i) % (kSlots / 64);
            uint64_t bits = filled_[word];
            if (i == 0) bits &= ~uint64_t{0} << (start % 64);
            if (i == kSlots / 64) bits &= ~(~uint64_t{0} << (start % 64));
            if (bits == 0) continue;
            const uint64_t slot = word * 64 + static_cast<uint64_t>(std::countr_zero(bits));
            return base_ + (slot - start) % kSlots;
        }
        return kNone;
    }

    uint64_t base_ = 0;  // the window that was taken last
    std::vector<Chunk> chunks_;
    uint32_t free_ = kNoChunk;
    std::array<uint32_t, kSlots> slots_;  // the chunk that was begun last
    std::array<uint64_t, kSlots / 64> filled_{};
    std::vector<Far> far_;
};

}  // namespace tulle::cluster
