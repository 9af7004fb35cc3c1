#include "live/mapped.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace tulle::live {
namespace {

uintptr_t page_bytes() {
    static const auto bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

int populate(uintptr_t begin, uintptr_t end, int advice) {
    begin &= ~(page_bytes() - 1);
    for (;;) {
        const int result = madvise(reinterpret_cast<void*>(begin), end - begin, advice);
        if (result == 0 || (errno != EINTR && errno != EAGAIN)) return result;
    }
}

bool knows_populate() {
    static const bool knows = [] {
        const int own = 0;
        const auto place = reinterpret_cast<uintptr_t>(&own);
        return populate(place, place + sizeof own, MADV_POPULATE_READ) == 0;
    }();
    return knows;
}

bool allows(const void* address, size_t length, int advice) {
    if (!knows_populate()) return is_mapped(address, length);
    const auto begin = reinterpret_cast<uintptr_t>(address);
    return begin + length >= begin && populate(begin, begin + length, advice) == 0;
}

}  // namespace

bool is_readable(const void* address, size_t length) {
    return allows(address, length, MADV_POPULATE_READ);
}

bool is_writable(const void* address, size_t length) {
    return allows(address, length, MADV_POPULATE_WRITE);
}

bool is_mapped(const void* address, size_t length) {
    const uintptr_t page = page_bytes();
    std::array<unsigned char, 4096> present;
    const uintptr_t end = reinterpret_cast<uintptr_t>(address) + length;
    uintptr_t at = reinterpret_cast<uintptr_t>(address) & ~(page - 1);
    while (at < end) {
        const size_t bytes = std::min<size_t>(end - at, present.size() * page);
        if (mincore(reinterpret_cast<void*>(at), bytes, present.data()) != 0) return false;
        at += present.size() * page;
    }
    return true;
}

}  // namespace tulle::live
