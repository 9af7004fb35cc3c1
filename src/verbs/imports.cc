#include "verbs/imports.h"

#include <cerrno>
#include <memory>

#include "live/fault_guard.h"
#include "verbs/process.h"
#include "verbs/undo.h"

namespace tulle::verbs {
namespace {

int errno_of_import(live::ImportRefusal refusal) {
    switch (refusal) {
        case live::ImportRefusal::none: return 0;
        case live::ImportRefusal::nobody: return ENODEV;
        case live::ImportRefusal::not_allowed: return EPERM;
        case live::ImportRefusal::unknown: return EINVAL;
        case live::ImportRefusal::no_memory: return ENOMEM;
    }
    return EINVAL;
}

// All functions below are called with the host's lock held.

// Another handle of a domain that this process knows.
ibv_pd* share_domain(ibv_context* context, ProtectionDomain& original) {
    auto domain = std::make_unique<ProtectionDomain>();
    domain->shown = {context, original.shown.handle};
    domain->id = original.id;
    domain->parent = &original;
    ++original.children;
    return &domain.release()->shown;
}

// A domain of our own adapter represents that of the other process.
ibv_pd* import_domain(ibv_context* context, const live::DeviceOwner& owner, uint32_t handle) {
    live::SoftwareAdapter& host = host_of(context);
    auto domain = std::make_unique<ProtectionDomain>();
    const auto refusal = host.imports().find_domain(owner, handle);
    if (refusal != live::ImportRefusal::none) return fail(errno_of_import(refusal));
    domain->id = host.adapter().memory().create_pd();
    domain->shown = {context, handle};
    domain->foreign = owner;
    Process::of(host).add(*domain);
    return &domain.release()->shown;
}

// The address in the owner's address space is not known.
ibv_mr* show(ibv_pd* pd, uint32_t handle, std::unique_ptr<Region> region) {
    region->shown = {pd->context, pd, nullptr, region->request.length, handle, handle, handle};
    return &region.release()->shown;
}

// A region that is already imported.
bool share_region(live::SoftwareAdapter& host, const ProtectionDomain& domain, uint32_t handle,
                  Region& region) {
    const auto& known = Process::of(host).imported_regions;
    const auto found = known.find(handle);
    const auto imported = found == known.end() ? nullptr : found->second.lock();
    if (!imported || imported->terms().pd != domain.shown.handle) return false;
    region.imported = imported;
    region.request = imported->request(domain.id);
    return true;
}

// Imports it under the key that its owner gave. False and errno if that fails.
bool fetch_region(live::SoftwareAdapter& host, ProtectionDomain& domain, uint32_t handle,
                  Region& region) {
    live::guard_against_faults();
    live::ImportRefusal refusal = live::ImportRefusal::none;
    region.imported =
        host.imports().import_region(*domain.foreign, domain.shown.handle, handle, refusal);
    errno = errno_of_import(refusal);
    if (!region.imported) return false;
    // The lock was released in between, and another thread may have been faster.
    if (share_region(host, domain, handle, region)) return true;
    region.request = region.imported->request(domain.id);
    transport::Memory& memory = host.adapter().memory();
    const auto key = memory.register_region(region.request);
    errno = ENOMEM;
    if (!key) return false;
    Undo undo([&] { (void)memory.deregister_region(*key); });
    errno = EBUSY;  // one of our own keys happens to be equal
    if (!memory.add_name(*key, handle)) return false;
    Process::of(host).imported_regions[handle] = region.imported;
    undo.done();
    return true;
}

ibv_mr* import_region(ibv_pd* pd, uint32_t handle) {
    live::SoftwareAdapter& host = host_of(pd->context);
    ProtectionDomain& domain = pd_of(pd).root();
    auto region = std::make_unique<Region>();
    if (!share_region(host, domain, handle, *region) &&
        !fetch_region(host, domain, handle, *region))
        return nullptr;
    return show(pd, handle, std::move(region));
}

}  // namespace

int forget_import(ibv_mr& mr) {
    live::SoftwareAdapter& host = host_of(mr.context);
    const std::lock_guard guard(host.lock());
    Region& region = object_of<Region>(&mr);
    if (region.imported.use_count() == 1) {
        const auto refusal = host.adapter().memory().deregister_region(mr.lkey);
        if (refusal != transport::Refusal::none) return errno_of(refusal);
        Process::of(host).imported_regions.erase(mr.handle);
    }
    delete &region;
    return 0;
}

}  // namespace tulle::verbs

using namespace tulle;
using namespace tulle::verbs;

TULLE_EXPORT ibv_pd* ibv_import_pd(ibv_context* context, uint32_t handle) {
    live::SoftwareAdapter& host = host_of(context);
    const std::lock_guard guard(host.lock());
    Process& process = Process::of(host);
    if (const auto& owner = context_of(context).foreign) {
        ProtectionDomain* known = process.imported_pd(*owner, handle);
        return known != nullptr ? share_domain(context, *known)
                                : import_domain(context, *owner, handle);
    }
    ProtectionDomain* original = process.pd(handle);
    if (original == nullptr || original->foreign) return fail(EINVAL);
    return share_domain(context, *original);
}

TULLE_EXPORT void ibv_unimport_pd(ibv_pd* pd) {
    (void)ibv_dealloc_pd(pd);
}

TULLE_EXPORT ibv_mr* ibv_import_mr(ibv_pd* pd, uint32_t handle) {
    live::SoftwareAdapter& host = host_of(pd->context);
    const std::lock_guard guard(host.lock());
    if (pd_of(pd).root().foreign) return import_region(pd, handle);
    const Region* original = Process::of(host).region(handle);
    if (original == nullptr || original->request.pd != pd_of(pd).id) return fail(EINVAL);
    auto region = std::make_unique<Region>(*original);
    region->shown.context = pd->context;
    region->shown.pd = pd;
    region->shown.addr = nullptr;
    return &region.release()->shown;
}

TULLE_EXPORT void ibv_unimport_mr(ibv_mr* mr) {
    if (object_of<Region>(mr).imported) return (void)forget_import(*mr);
    delete &object_of<Region>(mr);
}
