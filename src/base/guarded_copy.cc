#include "base/guarded_copy.h"

#include <setjmp.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace tulle::base {
namespace {

constexpr uintptr_t kLeastPage = 4096;

// Where a thread continues after a failed copy. With initial-exec a library that is loaded late
// still finds room for one pointer in the static TLS block.
__attribute__((tls_model("initial-exec"))) thread_local jmp_buf* landing = nullptr;

void touch(uintptr_t place) {
    (void)*reinterpret_cast<const volatile std::byte*>(place);
}

// The compiler does not know that a signal handler may read `landing` in between.
void begin(jmp_buf& here) {
    landing = &here;
    std::atomic_signal_fence(std::memory_order_seq_cst);
}
void end() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    landing = nullptr;
}

}  // namespace

bool guarded_copy(void* to, const void* from, size_t bytes) noexcept {
    const ForeignMemory* foreign = foreign_memory.load(std::memory_order_acquire);
    if (foreign != nullptr && (foreign->has(to) || foreign->has(from))) [[unlikely]]
        return foreign->copy(to, from, bytes);
    jmp_buf here;
    if (_setjmp(here) != 0) return false;
    begin(here);
    std::memmove(to, from, bytes);
    end();
    return true;
}

bool is_readable_now(const void* from, size_t bytes) noexcept {
    if (bytes == 0) return true;
    if (is_foreign(from)) [[unlikely]]
        return foreign_memory.load()->allows(from, bytes, false);
    jmp_buf here;
    if (_setjmp(here) != 0) return false;
    begin(here);
    const auto first = reinterpret_cast<uintptr_t>(from);
    const uintptr_t last = first + bytes;
    touch(first);
    for (uintptr_t page = first / kLeastPage * kLeastPage + kLeastPage; page < last;
         page += kLeastPage)
        touch(page);
    end();
    return true;
}

void land_copy() noexcept {
    if (landing == nullptr) return;
    jmp_buf& there = *landing;
    landing = nullptr;
    longjmp(there, 1);
}

}  // namespace tulle::base
