#include "verbs/shared_receive.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>

#include "verbs/objects.h"
#include "verbs/process.h"

namespace tulle::verbs {
namespace {

static_assert(kMaxSges == live::kMostPieces);

// XRC domains of this process by their file. Other processes that have opened the same file have
// domains of their own, and queues that targets here lead to (live/xrc_borrower.h).
std::vector<XrcDomain*>& file_domains() {
    static std::vector<XrcDomain*> domains;
    return domains;
}

XrcDomain* find_domain(const live::SoftwareAdapter& host, const live::DomainFile& file) {
    auto& known = file_domains();
    const auto found = std::ranges::find_if(known, [&](const XrcDomain* domain) {
        return domain->host == &host && domain->file == file;
    });
    return found == known.end() ? nullptr : *found;
}

// A queue that processes with the same domain may send to.
void show(live::SoftwareAdapter& host, const Srq& srq) {
    const XrcDomain& domain = object_of<XrcDomain>(srq.xrcd);
    if (domain.file.inode == 0) return;
    host.xrc_lender().show(srq.id, {pd_of(srq.shown.pd).id.value, domain.file});
}

ibv_srq* create(ibv_context* context, const ibv_srq_init_attr_ex& a, ibv_srq_type type) {
    const uint32_t requests = a.attr.max_wr;
    const uint32_t sges = std::max(1u, a.attr.max_sge);
    if (requests == 0 || requests > kMaxSharedWork || sges > kMaxSges) return fail(EINVAL);
    if (a.pd == nullptr) return fail(EINVAL);
    const bool is_xrc = type == IBV_SRQT_XRC;
    if (is_xrc && (a.xrcd == nullptr || a.cq == nullptr)) return fail(EINVAL);
    auto srq = std::make_unique<Srq>();
    live::SoftwareAdapter& host = host_of(context);
    const std::lock_guard guard(host.lock());
    Process::of(host).make_room();
    const auto id =
        is_xrc
            ? host.adapter().shared_receives().create_for_xrc(
                  object_of<XrcDomain>(a.xrcd).id, pd_of(a.pd).id, cq_of(a.cq).id, requests, sges)
            : host.adapter().shared_receives().create(pd_of(a.pd).id, requests, sges);
    if (!id) return fail(EINVAL);
    srq->id = *id;
    srq->type = type;
    srq->xrcd = a.xrcd;
    srq->cq = a.cq;
    srq->attributes = {requests, sges, 0};
    srq->shown.context = context;
    srq->shown.srq_context = a.srq_context;
    srq->shown.pd = a.pd;
    srq->shown.handle = id->value;
    pthread_mutex_init(&srq->shown.mutex, nullptr);
    pthread_cond_init(&srq->shown.cond, nullptr);
    Process::of(host).add(*srq);
    if (is_xrc) show(host, *srq);
    return &srq.release()->shown;
}

}  // namespace

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes) {
    constexpr uint32_t kKnown = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
                                IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    if ((attributes->comp_mask & ~kKnown) != 0) return fail(EOPNOTSUPP);
    if ((attributes->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0) return fail(EINVAL);
    const ibv_srq_type type = (attributes->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0
                                  ? attributes->srq_type
                                  : IBV_SRQT_BASIC;
    if (type != IBV_SRQT_BASIC && type != IBV_SRQT_XRC) return fail(EOPNOTSUPP);
    ibv_srq_init_attr_ex a = *attributes;
    if ((a.comp_mask & IBV_SRQ_INIT_ATTR_XRCD) == 0) a.xrcd = nullptr;
    if ((a.comp_mask & IBV_SRQ_INIT_ATTR_CQ) == 0) a.cq = nullptr;
    return create(context, a, type);
}

int get_srq_num(ibv_srq* srq, uint32_t* number) {
    if (object_of<Srq>(srq).type != IBV_SRQT_XRC) return EINVAL;
    live::SoftwareAdapter& host = host_of(srq->context);
    const std::lock_guard guard(host.lock());
    *number = host.world().own().outside_of_srq(object_of<Srq>(srq).id.value);
    return 0;
}

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes) {
    constexpr uint32_t kNeeded = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    if (attributes->comp_mask != kNeeded) return fail(EINVAL);
    if ((attributes->oflags & ~(O_CREAT | O_EXCL)) != 0) return fail(EINVAL);
    struct stat file {};
    const bool has_file = attributes->fd >= 0;
    if (has_file && fstat(attributes->fd, &file) != 0) return fail(EBADF);
    if (!has_file && (attributes->oflags & O_CREAT) == 0) return fail(EINVAL);
    live::SoftwareAdapter& host = host_of(context);
    const live::DomainFile name{file.st_dev, file.st_ino};
    const std::lock_guard guard(host.lock());
    // All processes that share a domain meet before anything is sent.
    if (has_file && find_domain(host, name) == nullptr) host.world().meet_all();
    XrcDomain* known = has_file ? find_domain(host, name) : nullptr;
    const bool exists =
        known != nullptr || (has_file && host.xrc_borrower().is_open_elsewhere(name));
    if (exists && (attributes->oflags & O_EXCL) != 0) return fail(EINVAL);
    if (!exists && (attributes->oflags & O_CREAT) == 0) return fail(ENOENT);
    if (known != nullptr) {
        ++known->users;
        return &known->shown;
    }
    auto domain = std::make_unique<XrcDomain>();
    domain->shown.context = context;
    domain->host = &host;
    domain->id = host.adapter().xrc_domains().create();
    if (!has_file) return &domain.release()->shown;
    domain->file = name;
    file_domains().push_back(domain.get());
    host.xrc_borrower().open(domain->id, name);
    return &domain.release()->shown;
}

int close_xrcd(ibv_xrcd* shown) {
    XrcDomain& domain = object_of<XrcDomain>(shown);
    live::SoftwareAdapter& host = host_of(shown->context);
    const std::lock_guard guard(host.lock());
    if (domain.users > 1) {
        --domain.users;
        return 0;
    }
    host.xrc_borrower().close(domain.id);  // includes what was borrowed for it
    const auto refusal = host.adapter().xrc_domains().destroy(domain.id);
    if (refusal != transport::Refusal::none) {
        if (domain.file.inode != 0) host.xrc_borrower().open(domain.id, domain.file);
        return errno_of(refusal);
    }
    std::erase(file_domains(), &domain);
    delete &domain;
    return 0;
}

}  // namespace tulle::verbs

using namespace tulle;
using namespace tulle::verbs;

TULLE_EXPORT ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) {
    ibv_srq_init_attr_ex extended{};
    extended.srq_context = attributes->srq_context;
    extended.attr = attributes->attr;
    extended.pd = pd;
    ibv_srq* srq = create(pd->context, extended, IBV_SRQT_BASIC);
    if (srq != nullptr) attributes->attr = object_of<Srq>(srq).attributes;
    return srq;
}

TULLE_EXPORT int ibv_modify_srq(ibv_srq* shown, ibv_srq_attr* attributes, int mask) {
    if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) return EINVAL;
    Srq& srq = object_of<Srq>(shown);
    const bool resizes = (mask & IBV_SRQ_MAX_WR) != 0;
    const bool limits = (mask & IBV_SRQ_LIMIT) != 0;
    const uint32_t places = resizes ? attributes->max_wr : srq.attributes.max_wr;
    if (places > kMaxSharedWork || (limits && attributes->srq_limit > places)) return EINVAL;
    live::SoftwareAdapter& host = host_of(shown->context);
    const std::lock_guard guard(host.lock());
    if (resizes) {
        const auto refusal = host.adapter().shared_receives().resize(srq.id, places);
        if (refusal != transport::Refusal::none) return errno_of(refusal);
        srq.attributes.max_wr = places;
    }
    if (!limits) return 0;
    const auto refusal = host.adapter().shared_receives().set_limit(srq.id, attributes->srq_limit);
    if (refusal == transport::Refusal::none) srq.attributes.srq_limit = attributes->srq_limit;
    return errno_of(refusal);
}

TULLE_EXPORT int ibv_query_srq(ibv_srq* shown, ibv_srq_attr* attributes) {
    live::SoftwareAdapter& host = host_of(shown->context);
    const std::lock_guard guard(host.lock());
    *attributes = object_of<Srq>(shown).attributes;
    return 0;
}

TULLE_EXPORT int ibv_destroy_srq(ibv_srq* shown) {
    Srq& srq = object_of<Srq>(shown);
    live::SoftwareAdapter& host = host_of(shown->context);
    {
        const std::lock_guard guard(host.lock());
        host.memory().withdraw_queue(srq.id);
        const auto refusal = host.adapter().shared_receives().destroy(srq.id);
        if (refusal != transport::Refusal::none) return errno_of(refusal);
        Process::of(host).remove(srq);
    }
    context_of(shown->context).events.remove_if([&](const ibv_async_event& event) {
        return (event.event_type == IBV_EVENT_SRQ_ERR ||
                event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED) &&
               event.element.srq == shown;
    });
    srq.asynchronous.wait();
    delete &srq;
    return 0;
}
