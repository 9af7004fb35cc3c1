// Objects with 32-bit handles instead of pointers. The pool grows by slabs, so objects never move;
// once it is as large as the run needs, it does not allocate.
//
// A handle has 24 bits of index and 8 bits of generation. The generation of a slot goes up when it
// is acquired and when it is released, so it is odd while the slot is in use, and a stale handle
// does not match. This is checked on every use, also in release: generations are bytes in an array
// of their own, 64 slots per cache line, and do not disturb the layout of the objects. A stale
// handle goes unnoticed only if its slot was reused a multiple of 128 times since.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"

namespace tulle::base {

template <class T>
class Pool {
public:
    // Names an object of this pool; a handle of zero names none.
    struct Handle {
        uint32_t bits = 0;
        bool operator==(const Handle&) const = default;
    };

    Handle acquire(T object = T{}) {
        if (free_.empty()) add_slab();
        const uint32_t index = free_.back();
        free_.pop_back();
        object_at(index) = std::move(object);
        return {index | uint32_t{++generation_at(index)} << kIndexBits};
    }

    // The object keeps what it owns until its slot is acquired again.
    void release(Handle handle) {
        const uint32_t index = checked_index(handle);
        ++generation_at(index);
        free_.push_back(index);
    }

    T& operator[](Handle handle) { return object_at(checked_index(handle)); }
    const T& operator[](Handle handle) const { return object_at(checked_index(handle)); }

    // True from acquire to release.
    bool holds(Handle handle) const {
        const uint32_t index = handle.bits & kIndexMask;
        const uint32_t generation = handle.bits >> kIndexBits;
        return index < capacity() && generation % 2 == 1 && generation == generation_at(index);
    }

    // Objects acquired and not released, for leak tests.
    size_t live() const { return capacity() - free_.size(); }
    size_t capacity() const { return slabs_.size() * kSlabObjects; }

private:
    static constexpr uint32_t kIndexBits = 24;
    static constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;
    static constexpr uint32_t kSlabObjects = 256;

    struct Slab {
        std::array<T, kSlabObjects> objects{};
        std::array<uint8_t, kSlabObjects> generations{};
    };

    // These return non-const objects; the public functions restore constness.
    Slab& slab_of(uint32_t index) const { return *slabs_[index / kSlabObjects]; }
    T& object_at(uint32_t index) const { return slab_of(index).objects[index % kSlabObjects]; }
    uint8_t& generation_at(uint32_t index) const {
        return slab_of(index).generations[index % kSlabObjects];
    }

    uint32_t checked_index(Handle handle) const {
        TULLE_CHECK(holds(handle));
        return handle.bits & kIndexMask;
    }

    void add_slab() {
        const size_t first = capacity();
        TULLE_CHECK(first + kSlabObjects <= kIndexMask + 1);
        slabs_.push_back(std::make_unique<Slab>());
        free_.reserve(capacity());  // so that release() never allocates
        for (size_t i = kSlabObjects; i > 0; --i)
            free_.push_back(static_cast<uint32_t>(first + i - 1));
    }

    std::vector<std::unique_ptr<Slab>> slabs_;
    std::vector<uint32_t> free_;  // last in, first out: the slot released last is in the cache
};

}  // namespace tulle::base
