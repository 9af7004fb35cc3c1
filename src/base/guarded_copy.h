// Copies to and from memory that may be unmapped. Registered memory belongs to the program, which
// may unmap or protect it while work on it is posted; the completion must then report an error.
//
// A guarded copy is a plain copy between two stores of a pointer. On an unusable page the kernel
// raises a signal. The handler, which is not in this room (live/fault_guard.h), calls land_copy(),
// and the copy returns false. Without a handler the program ends, as it would for its own access.
// Asking the kernel before each copy would cost more than a small copy does.
//
// Memory of another process has addresses here but no pages. The importer sets `foreign_memory` to
// say how it is copied (live/imports.h). Programs without imports pay one load of a pointer.
#pragma once

#include <atomic>
#include <cstddef>

namespace tulle::base {

// Like memmove. Returns false if some of it could not be read or written; part of it may have been
// copied.
bool guarded_copy(void* to, const void* from, size_t bytes) noexcept;

// Whether all of it can be read now: reads one byte per page.
bool is_readable_now(const void* from, size_t bytes) noexcept;

// Access to memory of other processes, by the addresses that stand for it.
struct ForeignMemory {
    bool (*has)(const void* address) noexcept;
    // At least one of the two addresses is foreign.
    bool (*copy)(void* to, const void* from, size_t bytes) noexcept;
    bool (*allows)(const void* address, size_t bytes, bool writes) noexcept;
};
inline std::atomic<const ForeignMemory*> foreign_memory = nullptr;

inline bool is_foreign(const void* address) noexcept {
    const ForeignMemory* foreign = foreign_memory.load(std::memory_order_acquire);
    return foreign != nullptr && foreign->has(address);
}

// Called by the signal handler. Does not return if the calling thread is inside one of the
// functions above.
void land_copy() noexcept;

}  // namespace tulle::base
