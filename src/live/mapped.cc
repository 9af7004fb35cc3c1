#include "live/mapped.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace tulle::live {

bool is_mapped(const void* address, size_t length) {
    static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
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
