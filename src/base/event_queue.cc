#include "base/event_queue.h"

#include <utility>

namespace tulle::base {
namespace {

// The standard heap keeps its greatest element in front: the one that leaves first.
bool leaves_after(const Event& a, const Event& b) {
    return leaves_before(b, a);
}

}  // namespace

void EventQueue::put_in_span(const Event& event) {
    span_heap_.push_back(event);
    std::push_heap(span_heap_.begin(), span_heap_.end(), leaves_after);
}

Event EventQueue::pop_span_heap() {
    std::pop_heap(span_heap_.begin(), span_heap_.end(), leaves_after);
    const Event event = span_heap_.back();
    span_heap_.pop_back();
    last_popped_ = event.at;
    return event;
}

// Puts an empty block on top of a bucket, which is filled from now on.
void EventQueue::add_block(Position position) {
    if (free_block_ == kNoBlock) {
        free_block_ = static_cast<uint32_t>(blocks_.size());
        blocks_.emplace_back().next = kNoBlock;
    }
    Bucket& target = bucket(position);
    const uint32_t block = std::exchange(free_block_, blocks_[free_block_].next);
    blocks_[block].next = std::exchange(target.first_block, block);
    target.first_used = 0;
    filled_slots_[position.level] |= uint64_t{1} << position.slot;
    filled_levels_ |= uint32_t{1} << position.level;
}

EventQueue::Bucket EventQueue::take(Position position) {
    uint64_t& slots = filled_slots_[position.level];
    slots &= ~(uint64_t{1} << position.slot);
    if (slots == 0) filled_levels_ &= ~(uint32_t{1} << position.level);
    return std::exchange(bucket(position), Bucket{});
}

// Moves the wheel's time to the first event: the events of its span become the run, the rest of
// its bucket moves to lower levels. Other buckets stay: they differ from the new time in the same
// digit as from the old one.
void EventQueue::advance() {
    const Position first = first_filled();
    Bucket source = take(first);
    wheel_time_ = source.earliest;
    span_bits_ = span_bits_of(first.level, source);
    while (source.first_block != kNoBlock) {
        const uint32_t block = source.first_block;
        for (uint32_t i = 0; i < source.first_used; ++i) {
            const Event event = blocks_[block].events[i];  // a copy: blocks_ may grow
            if (const uint64_t bits = difference(event.at); in_drained_span(bits))
                run_.push_back(event);
            else
                put_in_wheel(event, bits);
        }
        source.first_block = std::exchange(blocks_[block].next, free_block_);
        source.first_used = kBlockEvents;
        free_block_ = block;
    }
    std::sort(run_.begin(), run_.end(), leaves_after);
}

// A single block is drained whole, but only up to level 1: everything that is pushed into a longer
// span would go through the heap.
int EventQueue::span_bits_of(int level, const Bucket& bucket) const {
    const bool whole = level <= 1 && blocks_[bucket.first_block].next == kNoBlock;
    return kTickBits + (whole ? level * kDigitBits : 0);
}

}  // namespace tulle::base
