// Memory on pages of 2 MiB, if the kernel has them. Packets in flight are visited in no predictable
// order: with small pages nearly each of them misses the TLB, which takes as long as the packet
// itself.
#pragma once

#include <memory_resource>

namespace tulle::drive {

class LargePages : public std::pmr::memory_resource {
private:
    void* do_allocate(size_t bytes, size_t alignment) override;
    void do_deallocate(void* memory, size_t bytes, size_t alignment) override;
    bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }
};

// Has small objects on such pages too, from now on: those that malloc() takes from the heap. What
// nodes and queue pairs keep is as hard to predict, and at size it is more than a gigabyte.
void put_heap_on_large_pages();

}  // namespace tulle::drive
