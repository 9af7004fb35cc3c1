// Protection domains, memory regions and windows.
#include "verbs/memory.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "live/fault_guard.h"
#include "live/mapped.h"
#include "verbs/imports.h"
#include "verbs/process.h"
#include "verbs/undo.h"

namespace tulle::verbs {
namespace {

// Flags that this device knows; optional ones, from bit 20 on, may be ignored.
constexpr unsigned kKnownAccess = 0x3ff;
constexpr unsigned kOptionalAccess = 0x3ffu << 20;

// Whether the kernel's list of mappings allows it. This allocates no page, but its cost grows with
// the number of mappings.
bool is_listed(const void* address, size_t length, bool writes) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> list(std::fopen("/proc/self/maps", "re"),
                                                               std::fclose);
    if (!list) return true;  // without the list the program is trusted
    auto at = reinterpret_cast<uintptr_t>(address);
    const uintptr_t end = at + length;
    std::array<char, 512> line;
    while (at < end && std::fgets(line.data(), line.size(), list.get()) != nullptr) {
        unsigned long first = 0;
        unsigned long last = 0;
        char may_read = '-';
        char may_write = '-';
        // Lines fit into the buffer unless the path is long, and the rest of such a line is
        // ignored.
        if (std::sscanf(line.data(), "%lx-%lx %c%c", &first, &last, &may_read, &may_write) != 4 ||
            last <= at)
            continue;
        if (first > at || may_read != 'r' || (writes && may_write != 'w')) return false;
        at = last;
    }
    return at >= end;
}

// Checks what pinning would check: touches a few pages, and reads the list of mappings for more.
bool is_usable(const void* address, size_t length, unsigned access) {
    constexpr size_t kFew = 2 * 4096;
    const bool writes = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
    if (length > kFew) return is_listed(address, length, writes);
    return writes ? live::is_writable(address, length) : live::is_readable(address, length);
}

// A region of the whole address space: on-demand paging without an address.
bool is_implicit(void* address, size_t length, unsigned access) {
    return address == nullptr && length == SIZE_MAX && (access & IBV_ACCESS_ON_DEMAND) != 0;
}

int check_request(void* address, size_t length, unsigned access) {
    if ((access & ~(kKnownAccess | kOptionalAccess)) != 0) return EINVAL;
    const bool writes = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
    if (writes && (access & IBV_ACCESS_LOCAL_WRITE) == 0) return EINVAL;
    if (is_implicit(address, length, access)) return 0;
    if (length == 0 || reinterpret_cast<uintptr_t>(address) + length < length) return EINVAL;
    return is_usable(address, length, access) ? 0 : EFAULT;
}

transport::RegionRequest request_for(ibv_pd* pd, void* address, size_t length, uint64_t iova,
                                     unsigned access) {
    transport::RegionRequest request;
    request.pd = pd_of(pd).id;
    request.address = iova;
    request.length = length;
    request.host = static_cast<std::byte*>(address);
    request.access = access & kKnownAccess;
    if (is_implicit(address, length, access)) {
        // Without the first page, because address zero means no memory.
        request.address = 4096;
        request.host = reinterpret_cast<std::byte*>(4096);
        request.length = (uint64_t{1} << 47) - 4096;
    }
    return request;
}

}  // namespace

ibv_mr* register_region(ibv_pd* pd, void* address, size_t length, uint64_t iova, unsigned access) {
    if (const int error = check_request(address, length, access)) return fail(error);
    if ((access & IBV_ACCESS_ZERO_BASED) != 0) iova = 0;
    auto region = std::make_unique<Region>();
    region->request = request_for(pd, address, length, iova, access);
    live::guard_against_faults();
    live::SoftwareAdapter& host = host_of(pd->context);
    const std::lock_guard guard(host.lock());
    const auto key = host.adapter().memory().register_region(region->request);
    if (!key) return fail(ENOMEM);
    Undo undo([&] {
        host.memory().withdraw_region(*key);
        (void)host.adapter().memory().deregister_region(*key);
    });
    host.memory().publish_region(*key, region->request);
    region->shown = {pd->context, pd, address, length, *key, *key, *key};
    Process::of(host).add(*region);
    undo.done();
    return &region.release()->shown;
}

// Writes are discarded, and reads return zeros.
ibv_mr* alloc_null_mr(ibv_pd* pd) {
    auto region = std::make_unique<Region>();
    region->request = {.pd = pd_of(pd).id,
                       .address = 0,
                       .length = UINT64_MAX,
                       .host = nullptr,
                       .access = transport::kLocalWrite};
    live::SoftwareAdapter& host = host_of(pd->context);
    const std::lock_guard guard(host.lock());
    const auto key = host.adapter().memory().register_region(region->request);
    if (!key) return fail(ENOMEM);
    region->shown = {pd->context, pd, nullptr, SIZE_MAX, *key, *key, *key};
    Process::of(host).add(*region);
    return &region.release()->shown;
}

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
    if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return fail(EINVAL);
    live::SoftwareAdapter& host = host_of(pd->context);
    const std::lock_guard guard(host.lock());
    const auto key = host.adapter().memory().create_window(
        pd_of(pd).id,
        type == IBV_MW_TYPE_1 ? transport::WindowType::type1 : transport::WindowType::type2);
    if (!key) return fail(ENOMEM);
    auto window = std::make_unique<Window>();
    window->shown = {pd->context, pd, *key, *key, type};
    return &window.release()->shown;
}

int dealloc_mw(ibv_mw* mw) {
    live::SoftwareAdapter& host = host_of(mw->context);
    const std::lock_guard guard(host.lock());
    const auto refusal = host.adapter().memory().destroy_window(mw->rkey);
    if (refusal == transport::Refusal::none) delete &object_of<Window>(mw);
    return errno_of(refusal);
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
    // Added after release 44: device memory need not be hidden from the administrator.
    constexpr uint32_t kUnprotected = 1 << 2;
    constexpr uint32_t kKnown = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
                                IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT | kUnprotected;
    if (attributes->pd == nullptr || (attributes->comp_mask & ~kKnown) != 0) return fail(EINVAL);
    ProtectionDomain& parent = pd_of(attributes->pd);
    auto domain = std::make_unique<ProtectionDomain>();
    domain->shown.context = context;
    domain->id = parent.id;
    domain->parent = &parent;
    live::SoftwareAdapter& host = host_of(context);
    const std::lock_guard guard(host.lock());
    ++parent.children;
    if (attributes->td != nullptr) {
        domain->threads = &object_of<ThreadDomain>(attributes->td);
        ++domain->threads->users;
    }
    return &domain.release()->shown;
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes) {
    if (attributes != nullptr && attributes->comp_mask != 0) return fail(EOPNOTSUPP);
    auto domain = std::make_unique<ThreadDomain>();
    domain->shown.context = context;
    return &domain.release()->shown;
}

int dealloc_td(ibv_td* td) {
    ThreadDomain& domain = object_of<ThreadDomain>(td);
    {
        live::SoftwareAdapter& host = host_of(td->context);
        const std::lock_guard guard(host.lock());
        if (domain.users != 0) return EBUSY;
    }
    delete &domain;
    return 0;
}

// Pages are mapped on access; the advised range must exist all the same.
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, uint32_t flags, ibv_sge* sges,
              uint32_t count) {
    if ((flags & ~uint32_t{IBV_ADVISE_MR_FLAG_FLUSH}) != 0 || (sges == nullptr && count != 0))
        return EINVAL;
    if (advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) return EOPNOTSUPP;
    const uint32_t access =
        advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE ? uint32_t{transport::kLocalWrite} : 0;
    live::SoftwareAdapter& host = host_of(pd->context);
    const std::lock_guard guard(host.lock());
    const transport::Asker asker{pd_of(pd).id, {}};
    for (const ibv_sge& sge : std::span(sges, count))
        if (!host.adapter().memory().check(sge.lkey, asker, sge.addr, sge.length, access))
            return EFAULT;
    return 0;
}

}  // namespace tulle::verbs

using namespace tulle;
using namespace tulle::verbs;

TULLE_EXPORT ibv_pd* ibv_alloc_pd(ibv_context* context) {
    auto domain = std::make_unique<ProtectionDomain>();
    live::SoftwareAdapter& host = host_of(context);
    const std::lock_guard guard(host.lock());
    domain->id = host.adapter().memory().create_pd();
    domain->shown = {context, domain->id.value};
    Process::of(host).add(*domain);
    host.memory().publish_domain(domain->id);
    return &domain.release()->shown;
}

TULLE_EXPORT int ibv_dealloc_pd(ibv_pd* pd) {
    ProtectionDomain& domain = pd_of(pd);
    live::SoftwareAdapter& host = host_of(pd->context);
    const std::lock_guard guard(host.lock());
    if (domain.children != 0) return EBUSY;
    if (domain.parent != nullptr) {
        --domain.parent->children;
        if (domain.threads != nullptr) --domain.threads->users;
        delete &domain;
        return 0;
    }
    const auto refusal = host.adapter().memory().destroy_pd(domain.id);
    if (refusal != transport::Refusal::none) return errno_of(refusal);
    Process::of(host).remove(domain);
    host.memory().withdraw_domain(domain.id);
    delete &domain;
    return 0;
}

TULLE_EXPORT ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t length, int access) {
    return register_region(pd, address, length, reinterpret_cast<uint64_t>(address),
                           static_cast<unsigned>(access));
}

TULLE_EXPORT ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, size_t length, uint64_t iova,
                                     int access) {
    return register_region(pd, address, length, iova, static_cast<unsigned>(access));
}

TULLE_EXPORT ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t length, uint64_t iova,
                                      unsigned int access) {
    return register_region(pd, address, length, iova, access);
}

TULLE_EXPORT ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, uint64_t, size_t, uint64_t, int, int) {
    return fail(EOPNOTSUPP);
}

TULLE_EXPORT int ibv_dereg_mr(ibv_mr* mr) {
    if (object_of<Region>(mr).imported) return forget_import(*mr);
    live::SoftwareAdapter& host = host_of(mr->context);
    const std::lock_guard guard(host.lock());
    // The peers release it first; then it belongs to the program alone.
    host.memory().withdraw_region(mr->rkey);
    const auto refusal = host.adapter().memory().deregister_region(mr->lkey);
    if (refusal == transport::Refusal::none) {
        Process::of(host).remove(object_of<Region>(mr));
        delete &object_of<Region>(mr);
    } else {
        host.memory().publish_region(mr->rkey, object_of<Region>(mr).request);
    }
    return errno_of(refusal);
}

TULLE_EXPORT int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, size_t length,
                              int access) {
    constexpr int kKnown =
        IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
    const auto refuse = [](int error, int code) {
        errno = error;
        return code;
    };
    if (flags == 0 || (flags & ~kKnown) != 0) return refuse(EINVAL, IBV_REREG_MR_ERR_INPUT);
    Region& region = object_of<Region>(mr);
    if (region.imported) return refuse(EOPNOTSUPP, IBV_REREG_MR_ERR_INPUT);
    const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
    if (moves && (address == nullptr || length == 0)) return refuse(EINVAL, IBV_REREG_MR_ERR_INPUT);
    if ((flags & IBV_REREG_MR_CHANGE_PD) != 0 && pd == nullptr)
        return refuse(EINVAL, IBV_REREG_MR_ERR_INPUT);
    ibv_pd* new_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0 ? pd : mr->pd;
    void* new_address = moves ? address : mr->addr;
    const size_t new_length = moves ? length : mr->length;
    const unsigned new_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0
                                    ? static_cast<unsigned>(access)
                                    : region.request.access;
    if (const int error = check_request(new_address, new_length, new_access))
        return refuse(error, IBV_REREG_MR_ERR_INPUT);
    const uint64_t iova = moves ? reinterpret_cast<uint64_t>(new_address) : region.request.address;
    const auto request = request_for(new_pd, new_address, new_length, iova, new_access);
    live::SoftwareAdapter& host = host_of(mr->context);
    const std::lock_guard guard(host.lock());
    host.memory().withdraw_region(mr->rkey);
    const auto refusal = host.adapter().memory().reregister_region(mr->lkey, request);
    if (refusal == transport::Refusal::none) {
        region.request = request;
        mr->pd = new_pd;
        mr->addr = new_address;
        mr->length = new_length;
    }
    host.memory().publish_region(mr->rkey, region.request);
    return refusal == transport::Refusal::none ? 0
                                               : refuse(errno_of(refusal), IBV_REREG_MR_ERR_CMD);
}
