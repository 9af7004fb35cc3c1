// Handles of DMA hints and counters of completions are not offered.
#include "verbs/newer.h"

#include <sys/mman.h>

#include "verbs/memory.h"
#include "verbs/objects.h"
#include "verbs/unsupported.h"

using tulle::verbs::Buffer;
using tulle::verbs::RegionAttributes;

namespace {

enum RegionMask : uint64_t { kIova = 1, kAddress = 2, kBuffer = 32 };

bool holds(const Buffer& buffer, const void* address, size_t length) {
    const auto first = reinterpret_cast<uintptr_t>(buffer.address);
    const auto at = reinterpret_cast<uintptr_t>(address);
    return at >= first && length <= buffer.length && at - first <= buffer.length - length;
}

constexpr uint64_t kPortSpeed = 1000;  // in units of 100 Mb/s

}  // namespace

using namespace tulle::verbs;

TULLE_EXPORT ibv_mr* ibv_reg_mr_ex(ibv_pd* pd, const RegionAttributes* a) {
    if ((a->mask & ~uint64_t{kIova | kAddress | kBuffer}) != 0) return fail(EOPNOTSUPP);
    if ((a->mask & kAddress) == 0) return fail(EINVAL);
    if ((a->mask & kBuffer) != 0) {
        const auto* buffer = static_cast<const Buffer*>(a->buffer);
        if (buffer->pd != pd || !holds(*buffer, a->address, a->length)) return fail(EINVAL);
    }
    const uint64_t iova = (a->mask & kIova) != 0 ? a->iova : reinterpret_cast<uint64_t>(a->address);
    return register_region(pd, a->address, a->length, iova, static_cast<unsigned>(a->access));
}

TULLE_EXPORT void* ibv_alloc_buf(ibv_pd* pd, size_t size, Buffer** made) {
    if (pd == nullptr || size == 0 || made == nullptr) return fail(EINVAL);
    auto buffer = std::make_unique<Buffer>(Buffer{pd, nullptr, size});
    void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return fail(ENOMEM);
    buffer->address = pages;
    *made = buffer.release();
    return pages;
}

TULLE_EXPORT void ibv_free_buf(Buffer* buffer) {
    if (buffer == nullptr) return;
    munmap(buffer->address, buffer->length);
    delete buffer;
}

TULLE_EXPORT ibv_mr* ibv_reg_buf_mr(ibv_pd* pd, Buffer* buffer, void* address, size_t length,
                                    int access) {
    if (buffer->pd != pd || !holds(*buffer, address, length)) return fail(EINVAL);
    return register_region(pd, address, length, reinterpret_cast<uint64_t>(address),
                           static_cast<unsigned>(access));
}

TULLE_EXPORT int ibv_query_port_speed(ibv_context*, uint32_t port, uint64_t* speed) {
    if (port != 1) return EINVAL;
    *speed = kPortSpeed;
    return 0;
}

#define TULLE_NOT_OFFERED(type, name)             \
    TULLE_EXPORT type name() {                    \
        return tulle::verbs::unsupported<type>(); \
    }

TULLE_NOT_OFFERED(void*, ibv_alloc_dmah)
TULLE_NOT_OFFERED(int, ibv_dealloc_dmah)
TULLE_NOT_OFFERED(int, _ibv_query_comp_cntr_caps)
TULLE_NOT_OFFERED(void*, ibv_create_comp_cntr)
TULLE_NOT_OFFERED(int, ibv_destroy_comp_cntr)
TULLE_NOT_OFFERED(int, ibv_inc_comp_cntr)
TULLE_NOT_OFFERED(int, ibv_inc_err_comp_cntr)
TULLE_NOT_OFFERED(int, ibv_qp_attach_comp_cntr)
TULLE_NOT_OFFERED(int, ibv_read_comp_cntr)
TULLE_NOT_OFFERED(int, ibv_read_err_comp_cntr)
TULLE_NOT_OFFERED(int, ibv_set_comp_cntr)
TULLE_NOT_OFFERED(int, ibv_set_err_comp_cntr)

// These return a descriptor.
TULLE_EXPORT int ibv_dm_export_dmabuf_fd(ibv_dm*) {
    errno = EOPNOTSUPP;
    return -1;
}
// Ordinary memory has no such file.
TULLE_EXPORT int ibv_export_buf_dmabuf_fd(Buffer*) {
    errno = ENODATA;
    return -1;
}
