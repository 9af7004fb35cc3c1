// Memory on pages of 2 MiB, where the kernel has them. Packets in flight are visited in no order
// that the machine could learn: with small pages it looks up the page for nearly each of them, and
// that takes as long as the packet itself.
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

}  // namespace tulle::drive
