#include "drive/large_pages.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
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

// The heap is extended to half of the machine's memory, advised, and given back to malloc(), which
// keeps it. Only addresses are taken; where they are not to be had, nothing changes. A sanitizer
// has a malloc() of its own.
void put_heap_on_large_pages() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    [[maybe_unused]] static const bool is_done = [] {
        constexpr int kNeverTrim = -1;
        constexpr int kUsualMappings = 65'536;  // glibc's default
        const auto all = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<size_t>(sysconf(_SC_PAGESIZE));
        mallopt(M_TRIM_THRESHOLD, kNeverTrim);
        mallopt(M_MMAP_MAX, 0);
        void* heap = std::malloc(all / 2);
        mallopt(M_MMAP_MAX, kUsualMappings);
        if (heap == nullptr) return true;
        const auto first = reinterpret_cast<uintptr_t>(heap);
        const uintptr_t begin = (first + kLargePage - 1) / kLargePage * kLargePage;
        const uintptr_t end = (first + all / 2) / kLargePage * kLargePage;
        if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
        std::free(heap);
        return true;
    }();
#endif
}

}  // namespace tulle::drive
