// A completion queue: entries in the order of completion, and the armed notification.
#pragma once

#include <algorithm>
#include <utility>

#include "base/ring.h"
#include "transport/types.h"

namespace tulle::transport {

class CompletionQueue {
public:
    enum class Wish : uint8_t { none, solicited, any };

    explicit CompletionQueue(uint32_t capacity)
        : entries_(std::max(1u, capacity)), capacity_(capacity) {}

    // False if the queue is full: an overrun, after which nothing more can be trusted.
    bool push(const Completion& completion) {
        if (entries_.size() >= capacity_) return false;
        entries_.push_back(completion);
        return true;
    }

    // After a failed push: true for the first of an overrun. An overrun lasts until entries are
    // polled.
    bool begins_overrun() { return !std::exchange(overrun_, true); }

    size_t poll(std::span<Completion> into) {
        size_t count = 0;
        while (count < into.size() && !entries_.empty()) into[count++] = entries_.pop_front();
        if (count != 0) overrun_ = false;
        urgent_end_ -= std::min(urgent_end_, count);
        told_ -= std::min(told_, count);
        return count;
    }

    // Removes the completions of this queue pair.
    void remove(Qpn qpn) {
        const size_t urgent_end = urgent_end_;
        const size_t told = told_;
        for (size_t place = 0, count = entries_.size(); place < count; ++place) {
            const Completion entry = entries_.pop_front();
            if (entry.qpn != qpn) {
                entries_.push_back(entry);
                continue;
            }
            if (place < urgent_end) --urgent_end_;
            if (place < told) --told_;
        }
    }

    size_t size() const { return entries_.size(); }
    uint32_t capacity() const { return capacity_; }

    bool resize(uint32_t capacity) {
        if (capacity < entries_.size()) return false;
        while (entries_.capacity() < capacity) entries_.grow();
        capacity_ = capacity;
        return true;
    }

    // Whether an entry already in the queue fulfils the wish. The specification asks for an event
    // with the next completion only (IBTA vol 1, 11.4.2.2). Adapters also report at once entries
    // that came while the queue was not armed, and programs rely on that (UCX). An entry is
    // reported only once, because other programs arm the queue first and then poll it (perftest).
    bool arm(Wish wish) {
        wish_ = std::max(wish_, wish);
        const size_t end = wish_ == Wish::any ? entries_.size() : urgent_end_;
        if (end <= told_) return false;
        wish_ = Wish::none;
        told_ = entries_.size();
        return true;
    }

    // Called after a push: whether this completion fulfils the wish. A wish is fulfilled once (IBTA
    // vol 1, 11.4.2.2).
    bool fulfils(const Completion& completion, bool solicited) {
        const bool is_urgent = solicited || completion.status != Status::success;
        if (is_urgent) urgent_end_ = entries_.size();
        if (wish_ == Wish::none || (wish_ == Wish::solicited && !is_urgent)) return false;
        wish_ = Wish::none;
        told_ = entries_.size();
        return true;
    }

    uint32_t users = 0;  // queue pairs that complete here

private:
    base::Ring<Completion> entries_;
    uint32_t capacity_;
    size_t urgent_end_ = 0;  // behind the last solicited or failed entry; 0: none
    size_t told_ = 0;        // oldest entries that an event has reported
    bool overrun_ = false;
    Wish wish_ = Wish::none;
};

}  // namespace tulle::transport
