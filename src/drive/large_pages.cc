#include "drive/large_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace tulle::drive {
namespace {

constexpr size_t kLargePage = 2 << 20;

std::align_val_t aligned(size_t bytes, size_t alignment) {
    return std::align_val_t{bytes < kLargePage ? alignment : std::max(alignment, kLargePage)};
}

}  // namespace

// A kernel without large pages ignores the advice; only speed depends on it.
void* LargePages::do_allocate(size_t bytes, size_t alignment) {
    void* memory = ::operator new(bytes, aligned(bytes, alignment));
    const size_t whole = bytes / kLargePage * kLargePage;
    if (whole != 0) madvise(memory, whole, MADV_HUGEPAGE);
    return memory;
}

void LargePages::do_deallocate(void* memory, size_t bytes, size_t alignment) {
    ::operator delete(memory, aligned(bytes, alignment));
}

}  // namespace tulle::drive
