#include "verbs/queue_pair.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "verbs/process.h"
#include "verbs/translation.h"
#include "verbs/undo.h"

namespace tulle::verbs {
namespace {

using transport::QpAttributes;
using transport::QpState;
using transport::QpType;

// Checks at creation, so that nothing is refused later: an errno, or 0.
int check_setup(const ibv_qp_init_attr_ex& a) {
    constexpr uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                                IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    if (!type_of(a.qp_type)) return EOPNOTSUPP;
    if ((a.comp_mask & ~kKnown) != 0) return EOPNOTSUPP;
    if ((a.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && a.create_flags != 0)
        return EOPNOTSUPP;
    if ((a.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 && !offers_builders(a.send_ops_flags))
        return EOPNOTSUPP;
    if (a.qp_type == IBV_QPT_XRC_RECV)
        return (a.comp_mask & IBV_QP_INIT_ATTR_XRCD) != 0 && a.xrcd != nullptr ? 0 : EINVAL;
    if ((a.comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || a.pd == nullptr || a.send_cq == nullptr)
        return EINVAL;
    if (a.qp_type != IBV_QPT_XRC_SEND && a.recv_cq == nullptr) return EINVAL;
    const ibv_qp_cap& cap = a.cap;
    const bool fits = cap.max_send_wr <= kMaxWork && cap.max_send_sge <= kMaxSges &&
                      cap.max_recv_sge <= kMaxSges && cap.max_inline_data <= kMaxInline &&
                      (a.srq != nullptr || cap.max_recv_wr <= kMaxWork);
    return fits ? 0 : EINVAL;
}

transport::QpSetup setup_of(const ibv_qp_init_attr_ex& a) {
    transport::QpSetup setup;
    setup.type = *type_of(a.qp_type);
    if (setup.type == QpType::xrc_target) {
        setup.xrc_domain = object_of<XrcDomain>(a.xrcd).id;
        setup.send = {};
        return setup;
    }
    setup.pd = pd_of(a.pd).id;
    setup.send_cq = cq_of(a.send_cq).id;
    setup.send = {a.cap.max_send_wr, std::max(1u, a.cap.max_send_sge), a.cap.max_inline_data};
    setup.signal_all = a.sq_sig_all != 0;
    if (setup.type == QpType::xrc_initiator) return setup;
    setup.receive_cq = cq_of(a.recv_cq).id;
    if (a.srq != nullptr) setup.srq = object_of<Srq>(a.srq).id;
    setup.receive_requests = a.srq != nullptr ? 0 : a.cap.max_recv_wr;
    setup.receive_sges = std::max(1u, a.cap.max_recv_sge);
    return setup;
}

void fill_shown(QueuePair& qp, ibv_context* context, const ibv_qp_init_attr_ex& a,
                uint32_t number) {
    ibv_qp& shown = qp.plain();
    shown.context = context;
    shown.qp_context = a.qp_context;
    shown.pd = (a.comp_mask & IBV_QP_INIT_ATTR_PD) != 0 ? a.pd : nullptr;
    shown.send_cq = a.send_cq;
    shown.recv_cq = a.recv_cq;
    shown.srq = a.srq;
    shown.handle = shown.qp_num = number;
    shown.state = IBV_QPS_RESET;
    shown.qp_type = a.qp_type;
    pthread_mutex_init(&shown.mutex, nullptr);
    pthread_cond_init(&shown.cond, nullptr);
    qp.init = {a.qp_context, a.send_cq, a.recv_cq, a.srq, a.cap, a.qp_type, a.sq_sig_all};
    qp.attributes.cap = a.cap;
    qp.attributes.path_mtu = IBV_MTU_4096;
}

// The address of a peer. False if the attributes do not name one.
int address_of(live::SoftwareAdapter& host, const ibv_ah_attr& a, uint32_t peer,
               transport::Address& address) {
    live::Destination destination;
    if (const int error = destination_of(host, a, destination)) return error;
    host.world().notice_death(transport::Qpn{peer});
    address.endpoint = host.world().resolve(destination, transport::Qpn{peer});
    address.service_level = a.sl & 0xf;
    address.traffic_class = a.is_global != 0 ? a.grh.traffic_class : 0;
    address.hop_limit = a.is_global != 0 && a.grh.hop_limit != 0 ? a.grh.hop_limit : 64;
    address.entropy = static_cast<uint16_t>(0xc000 | ((peer ^ peer >> 14) & 0x3fff));
    return 0;
}

// The two ports of a connection. Adapters take the port of the address as that of the queue pair.
live::SoftwareAdapter::Addressing addressing_of(live::SoftwareAdapter& host, const ibv_qp_attr& a,
                                                int mask, const QpAttributes& to) {
    live::SoftwareAdapter::Addressing found;
    if ((mask & IBV_QP_PORT) != 0) found.port = a.port_num;
    live::Destination destination;
    if ((mask & IBV_QP_AV) == 0 || destination_of(host, a.ah_attr, destination) != 0) return found;
    if (a.ah_attr.is_global != 0) found.gid_index = a.ah_attr.grh.sgid_index;
    found.port = a.ah_attr.port_num;
    found.peer_address = destination.gid;
    if (to.address.endpoint != live::SoftwareAdapter::kNowhere)
        found.peer_port = static_cast<uint8_t>(
            std::max(1u, host.world().port_at(to.address.endpoint, destination)));
    return found;
}

int translate(live::SoftwareAdapter& host, const QueuePair& qp, const ibv_qp_attr& a, int mask,
              QpAttributes& to) {
    if (const int error = check_attributes(host.identity(), a, mask)) return error;
    const bool names_peer = (mask & IBV_QP_DEST_QPN) != 0;
    const uint32_t peer = names_peer ? a.dest_qp_num : qp.attributes.dest_qp_num;
    if ((mask & IBV_QP_AV) != 0)
        if (const int error = address_of(host, a.ah_attr, peer, to.address)) return error;
    if ((mask & IBV_QP_ALT_PATH) != 0)
        if (const int error = address_of(host, a.alt_ah_attr, peer, to.alternate)) return error;
    translate_attributes(a, mask, to);
    return 0;
}

}  // namespace

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
    if (const int error = check_setup(*attributes)) return fail(error);
    if (attributes->qp_type != IBV_QPT_XRC_RECV)
        attributes->cap.max_inline_data = inline_room(attributes->cap);
    auto qp = std::make_unique<QueuePair>();
    qp->type = *type_of(attributes->qp_type);
    live::SoftwareAdapter& host = host_of(context);
    const std::lock_guard guard(host.lock());
    const auto number = host.create_qp(setup_of(*attributes));
    if (!number) return fail(ENOMEM);
    Undo undo([&] { (void)host.destroy_qp(*number); });
    qp->qpn = *number;
    fill_shown(*qp, context, *attributes, host.world().own().outside_of(*number).value);
    if ((attributes->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0)
        set_builders(*qp, attributes->send_ops_flags);
    Process::of(host).add(*qp);
    undo.done();
    if (attributes->qp_type == IBV_QPT_XRC_RECV)
        host.xrc_borrower().show_target({qp->plain().qp_num},
                                        object_of<XrcDomain>(attributes->xrcd).id);
    return &qp.release()->plain();
}

// What this process knows of a target that another one has.
std::optional<QpState> state_elsewhere(live::SoftwareAdapter& host, const QueuePair& qp) {
    return host.xrc_borrower().target_elsewhere(qp.qpn, *qp.elsewhere);
}

ibv_qp* open_elsewhere(ibv_context* context, live::SoftwareAdapter& host,
                       const ibv_qp_open_attr& attributes) {
    auto qp = std::make_unique<QueuePair>();
    qp->qpn = transport::Qpn{attributes.qp_num};
    qp->type = QpType::xrc_target;
    qp->elsewhere = object_of<XrcDomain>(attributes.xrcd).id;
    (void)host.world().resolve_slot(live::slot_of(qp->qpn));
    const auto state = state_elsewhere(host, *qp);
    if (!state) return fail(EINVAL);
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_XRC_RECV;
    if ((attributes.comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0)
        init.qp_context = attributes.qp_context;
    fill_shown(*qp, context, init, attributes.qp_num);
    qp->plain().state = shown_state(*state);
    return &qp.release()->plain();
}

// Another handle of an XRC target, for a process that has opened its domain. The queue pair ends
// with the last handle in its own process.
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes) {
    constexpr uint32_t kNeeded =
        IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
    const uint32_t mask = attributes->comp_mask;
    if ((mask & ~IBV_QP_OPEN_ATTR_CONTEXT) != kNeeded || attributes->qp_type != IBV_QPT_XRC_RECV ||
        attributes->xrcd == nullptr)
        return fail(EINVAL);
    live::SoftwareAdapter& host = host_of(context);
    const std::lock_guard guard(host.lock());
    const transport::Qpn number{attributes->qp_num};
    const auto inner = host.world().own().inside_of(number);
    if (!inner) return open_elsewhere(context, host, *attributes);
    QueuePair* first = Process::of(host).qp(*inner);
    if (first == nullptr || first->plain().qp_num != number.value) return fail(EINVAL);
    const transport::QueuePair* target = host.adapter().queue_pairs().find(first->qpn);
    if (target->xrc_domain != object_of<XrcDomain>(attributes->xrcd).id) return fail(EINVAL);
    auto qp = std::make_unique<QueuePair>();
    qp->qpn = first->qpn;
    qp->type = first->type;
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_XRC_RECV;
    if ((mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0) init.qp_context = attributes->qp_context;
    fill_shown(*qp, context, init, number.value);
    qp->attributes = first->attributes;
    qp->plain().state = first->plain().state;
    Process::of(host).add(*qp);
    return &qp.release()->plain();
}

}  // namespace tulle::verbs

using namespace tulle;
using namespace tulle::verbs;

TULLE_EXPORT ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
    ibv_qp_init_attr_ex extended{};
    std::memcpy(static_cast<void*>(&extended), attributes, sizeof *attributes);
    extended.comp_mask = IBV_QP_INIT_ATTR_PD;
    extended.pd = pd;
    ibv_qp* qp = create_qp_ex(pd->context, &extended);
    if (qp != nullptr) attributes->cap = extended.cap;
    return qp;
}

TULLE_EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
    return qp_of(qp).has_builders ? &qp_of(qp).shown : nullptr;
}

TULLE_EXPORT int ibv_modify_qp(ibv_qp* shown, ibv_qp_attr* attributes, int mask) {
    QueuePair& qp = qp_of(shown);
    live::SoftwareAdapter& host = host_of(shown->context);
    const std::lock_guard guard(host.lock());
    if ((mask & (IBV_QP_CAP | IBV_QP_RATE_LIMIT)) != 0) return EINVAL;
    if (qp.elsewhere) return EOPNOTSUPP;  // its owner's affair
    mask = own_part(qp.type, mask);
    QpAttributes to;
    if (const int error = translate(host, qp, *attributes, mask, to)) return error;
    const auto refusal = host.modify_qp(qp.qpn, to, static_cast<uint32_t>(mask),
                                        addressing_of(host, *attributes, mask, to));
    if (refusal != transport::Refusal::none) return errno_of(refusal);
    remember(qp.attributes, *attributes, mask);
    if ((mask & IBV_QP_STATE) != 0) shown->state = attributes->qp_state;
    host.posting().finish();
    return 0;
}

TULLE_EXPORT int ibv_query_qp(ibv_qp* shown, ibv_qp_attr* attributes, int, ibv_qp_init_attr* init) {
    QueuePair& qp = qp_of(shown);
    live::SoftwareAdapter& host = host_of(shown->context);
    const std::lock_guard guard(host.lock());
    if (qp.elsewhere) {
        *attributes = qp.attributes;
        shown->state = shown_state(state_elsewhere(host, qp).value_or(QpState::error));
        attributes->qp_state = attributes->cur_qp_state = shown->state;
        if (init != nullptr) *init = qp.init;
        return 0;
    }
    const transport::QueuePair* now = host.adapter().queue_pairs().find(qp.qpn);
    if (now == nullptr) return EINVAL;
    *attributes = qp.attributes;
    attributes->qp_state = attributes->cur_qp_state = shown_state(now->state);
    attributes->path_mig_state = static_cast<ibv_mig_state>(now->migration);
    attributes->sq_draining =
        now->state == QpState::sqd && now->requester.oldest != now->requester.begun ? 1 : 0;
    shown->state = attributes->qp_state;
    if (init != nullptr) *init = qp.init;
    return 0;
}

TULLE_EXPORT int ibv_destroy_qp(ibv_qp* shown) {
    QueuePair& qp = qp_of(shown);
    live::SoftwareAdapter& host = host_of(shown->context);
    if (qp.elsewhere) {
        delete &qp;
        return 0;
    }
    {
        const std::lock_guard guard(host.lock());
        Process& process = Process::of(host);
        const bool is_last = process.qp(qp.qpn) == &qp && qp.other == nullptr;
        const auto refusal = is_last ? host.destroy_qp(qp.qpn) : transport::Refusal::none;
        if (refusal != transport::Refusal::none) return errno_of(refusal);
        if (is_last && qp.type == QpType::xrc_target)
            host.xrc_borrower().hide_target({shown->qp_num});
        process.remove(qp);
    }
    context_of(shown->context).events.remove_if([&](const ibv_async_event& event) {
        const bool is_qp_event =
            event.event_type >= IBV_EVENT_QP_FATAL && event.event_type <= IBV_EVENT_PATH_MIG_ERR;
        return (is_qp_event || event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED) &&
               event.element.qp == shown;
    });
    qp.asynchronous.wait();
    delete &qp;
    return 0;
}

TULLE_EXPORT int ibv_query_ece(ibv_qp*, ibv_ece*) {
    return EOPNOTSUPP;
}

TULLE_EXPORT int ibv_set_ece(ibv_qp*, ibv_ece*) {
    return EOPNOTSUPP;
}

TULLE_EXPORT int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, uint32_t) {
    return 0;
}
