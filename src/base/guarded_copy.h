// Copies to and from memory that may not be there. Registered memory is a program's own: it may
// unmap or protect it while work on it is posted, and must hear of that by a completion.
//
// A copy is a plain one between two stores of a pointer. Where it meets a page that cannot be used
// the kernel raises a signal; its handler, which this room does not have (live/fault_guard.h),
// calls land_copy(), and the copy answers false. Without a handler the program ends, as it would
// for an access of its own. Asking the kernel before each copy would cost more than a small copy
// does.
//
// Memory of another process has addresses here and no pages behind them. Whoever has imported some
// says how it is copied (live/imports.h); programs that have none pay one look at a pointer.
#pragma once

#include <atomic>
#include <cstddef>

namespace tulle::base {

// As memmove. False: some of it could not be read or written; part of it may have been copied.
bool guarded_copy(void* to, const void* from, size_t bytes) noexcept;

// Whether all of it can be read now: looks at a byte of each page.
bool is_readable_now(const void* from, size_t bytes) noexcept;

// How memory of other processes is reached, by the addresses that stand for it.
struct ForeignMemory {
    bool (*has)(const void* address) noexcept;
    // One of the two, or both, are such addresses.
    bool (*copy)(void* to, const void* from, size_t bytes) noexcept;
    bool (*allows)(const void* address, size_t bytes, bool writes) noexcept;
};
inline std::atomic<const ForeignMemory*> foreign_memory = nullptr;

inline bool is_foreign(const void* address) noexcept {
    const ForeignMemory* foreign = foreign_memory.load(std::memory_order_acquire);
    return foreign != nullptr && foreign->has(address);
}

// Does not return if the calling thread is amid one of the two.
void land_copy() noexcept;

}  // namespace tulle::base
