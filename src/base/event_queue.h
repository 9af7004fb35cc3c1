// The priority queue of the simulator: events leave strictly by (at, order).
//
// The problem: a heap compares its way through log n cache misses for each event. Simulated time
// only moves forward, though, and most events lie within a few microseconds.
//
// The idea: a hierarchical timing wheel. An instant is cut into digits of 6 bits above a finest
// tick of 64 ps. An event waits on the level of the highest digit in which it differs from the
// wheel's own time, in the slot of that digit's value. All events of a level precede those of the
// next one, and a level knows its filled slots by one word, so the first bucket is found without a
// search. When time reaches a bucket, its events move to lower levels; those of the first tick are
// sorted and leave one by one. Ten levels cover 63 bits: any spread of times will do.
//
// What would spoil it:
// - Events that are pushed into the span that is being drained. They go to a small binary heap
//   beside the sorted run, so a storm at one instant costs log n, never n.
// - Lists of single events, which scatter over the memory. Buckets are lists of 512-byte blocks
//   instead: four times faster at a million pending events, a little slower at a thousand.
// - Sparse events, each of which would climb down alone. A bucket of 4 ns that is a single block
//   is drained as it is: a quarter fewer instructions at a thousand pending events.
//
// Cost (bench/results.md): 230 to 320 instructions for a push and a pop, 30 to 40 ns.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/int128.h"
#include "base/time.h"

namespace tulle::base {

// Ordered by (at, order). `order` is made of the entity that caused the event and that entity's own
// counter, so two events at one instant run in the same order for any number of threads or ranks.
struct Event {
    Instant at;
    uint64_t order = 0;
    uint32_t who = 0;   // index into the table that `kind` names
    uint16_t kind = 0;  // the owner's enumeration
    uint16_t arg = 0;
};
static_assert(sizeof(Event) == 24);

// True if `a` leaves before `b`. One wide comparison has no branch to mispredict; it relies on
// instants not being negative.
inline bool leaves_before(const Event& a, const Event& b) {
    const auto key = [](const Event& e) {
        return uint128_t{static_cast<uint64_t>(e.at.ps)} << 64 | e.order;
    };
    return key(a) < key(b);
}

class EventQueue {
public:
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

    // No event may lie before the one that was popped last, and no two may have the same
    // (at, order).
    void push(const Event& event);

    // When the next event leaves; never() if there is none.
    Instant next_at() const;

    // The queue must not be empty.
    Event pop();

    // The next event, if it lies before `horizon`.
    std::optional<Event> pop_before(Instant horizon);

private:
    static constexpr int kTickBits = 6;
    static constexpr int kDigitBits = 6;
    static constexpr int kSlots = 1 << kDigitBits;
    static constexpr int kLevels = (63 - kTickBits + kDigitBits - 1) / kDigitBits;
    static constexpr uint32_t kBlockEvents = 21;
    static constexpr uint32_t kNoBlock = UINT32_MAX;

    struct Block {
        std::array<Event, kBlockEvents> events;
        uint32_t next;
    };
    static_assert(sizeof(Block) == 512);

    // A stack of blocks, all full but the first.
    struct Bucket {
        Instant earliest = Instant::never();
        uint32_t first_block = kNoBlock;
        uint32_t first_used = kBlockEvents;
    };

    struct Position {
        int level;
        int slot;
    };

    // The bits in which `at` differs from the wheel's time.
    uint64_t difference(Instant at) const { return static_cast<uint64_t>(at.ps ^ wheel_time_.ps); }
    bool in_drained_span(uint64_t difference) const { return difference >> span_bits_ == 0; }

    Position first_filled() const;
    Bucket& bucket(Position p) { return buckets_[p.level * kSlots + p.slot]; }
    const Bucket& bucket(Position p) const { return buckets_[p.level * kSlots + p.slot]; }

    void put_in_wheel(const Event& event, uint64_t difference);
    void put_in_span(const Event& event);
    void add_block(Position position);
    Bucket take(Position position);
    void advance();
    int span_bits_of(int level, const Bucket& bucket) const;
    Event pop_span_heap();

    size_t size_ = 0;
    Instant last_popped_;

    // The span that is being drained: the instants that differ from the wheel's time in no higher
    // bit than these. Its events are those that advance() found, sorted, the next one last, and
    // those that were pushed since.
    Instant wheel_time_;
    int span_bits_ = kTickBits;
    std::vector<Event> run_;
    std::vector<Event> span_heap_;

    // Everything later. A bit is set for each level with a filled slot and for each filled slot.
    uint32_t filled_levels_ = 0;
    std::array<uint64_t, kLevels> filled_slots_{};
    std::array<Bucket, kLevels * kSlots> buckets_;

    std::vector<Block> blocks_;
    uint32_t free_block_ = kNoBlock;
};

inline EventQueue::Position EventQueue::first_filled() const {
    const int level = std::countr_zero(filled_levels_);
    return {level, std::countr_zero(filled_slots_[level])};
}

inline void EventQueue::put_in_wheel(const Event& event, uint64_t difference) {
    const int level = (std::bit_width(difference >> kTickBits) - 1) / kDigitBits;
    const uint64_t digits = static_cast<uint64_t>(event.at.ps) >> (kTickBits + level * kDigitBits);
    const Position position{level, static_cast<int>(digits % kSlots)};
    Bucket& target = bucket(position);
    if (target.first_used == kBlockEvents) add_block(position);
    blocks_[target.first_block].events[target.first_used++] = event;
    if (event.at < target.earliest) target.earliest = event.at;
}

inline void EventQueue::push(const Event& event) {
    TULLE_CHECK(event.at >= last_popped_ && event.at < Instant::never());
    ++size_;
    if (const uint64_t bits = difference(event.at); in_drained_span(bits))
        put_in_span(event);
    else
        put_in_wheel(event, bits);
}

inline Instant EventQueue::next_at() const {
    if (run_.empty() && span_heap_.empty())
        return empty() ? Instant::never() : bucket(first_filled()).earliest;
    if (run_.empty()) return span_heap_.front().at;
    if (span_heap_.empty()) return run_.back().at;
    return std::min(run_.back().at, span_heap_.front().at);
}

inline Event EventQueue::pop() {
    TULLE_CHECK(!empty());
    if (run_.empty() && span_heap_.empty()) advance();
    --size_;
    if (!span_heap_.empty() && (run_.empty() || leaves_before(span_heap_.front(), run_.back())))
        return pop_span_heap();
    const Event event = run_.back();
    run_.pop_back();
    last_popped_ = event.at;
    return event;
}

inline std::optional<Event> EventQueue::pop_before(Instant horizon) {
    if (next_at() >= horizon) return std::nullopt;
    return pop();
}

}  // namespace tulle::base
