// A ring buffer whose capacity is a power of two; a link keeps its packets in flight in one. It
// never allocates by itself: an owner that cannot know the size asks full() and calls grow(). A
// class that grows by itself would hide an allocation in the hot path.
#pragma once

#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"

namespace tulle::base {

template <class T>
class Ring {
public:
    // Capacity for at least `capacity` items.
    explicit Ring(size_t capacity) : places_(std::bit_ceil(capacity)) {}

    size_t size() const { return size_; }
    size_t capacity() const { return places_.size(); }
    bool empty() const { return size_ == 0; }
    bool full() const { return size_ == capacity(); }

    void push_back(T item) {
        TULLE_CHECK(!full());
        place(size_) = std::move(item);
        ++size_;
    }

    T pop_front() {
        TULLE_CHECK(!empty());
        T item = std::move(place(0));
        ++front_;
        --size_;
        return item;
    }

    T& front() { return (*this)[0]; }
    const T& front() const { return (*this)[0]; }

    // Counted from the front.
    T& operator[](size_t i) {
        TULLE_CHECK(i < size_);
        return place(i);
    }
    const T& operator[](size_t i) const {
        TULLE_CHECK(i < size_);
        return place(i);
    }

    // Doubles the capacity; the items keep their order.
    void grow() {
        Ring larger(2 * capacity());
        while (!empty()) larger.push_back(pop_front());
        *this = std::move(larger);
    }

private:
    T& place(size_t i) { return places_[(front_ + i) & (places_.size() - 1)]; }
    const T& place(size_t i) const { return places_[(front_ + i) & (places_.size() - 1)]; }

    std::vector<T> places_;
    size_t front_ = 0;  // counts all items ever removed; its low bits are the index
    size_t size_ = 0;
};

}  // namespace tulle::base
