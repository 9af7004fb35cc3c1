// Queue pairs, receive queues and end points of ids.
#include <cstring>

#include "verbs/rdmacm/connect.h"
#include "verbs/rdmacm/manager.h"

namespace tulle::verbs {
namespace {

// Once nothing of the id uses them.
void destroy_queues(Id& id) {
    rdma_cm_id& shown = id.shown;
    if (!id.owns_cqs || shown.qp != nullptr || shown.srq != nullptr) return;
    if (shown.recv_cq != nullptr) ibv_destroy_cq(shown.recv_cq);
    if (shown.send_cq != nullptr && shown.send_cq != shown.recv_cq) ibv_destroy_cq(shown.send_cq);
    if (shown.recv_cq_channel != nullptr) ibv_destroy_comp_channel(shown.recv_cq_channel);
    if (shown.send_cq_channel != nullptr && shown.send_cq_channel != shown.recv_cq_channel)
        ibv_destroy_comp_channel(shown.send_cq_channel);
    shown.recv_cq = shown.send_cq = nullptr;
    shown.recv_cq_channel = shown.send_cq_channel = nullptr;
    id.owns_cqs = false;
}

int create_queue(Id& id, uint32_t entries, ibv_comp_channel*& channel, ibv_cq*& queue) {
    rdma_cm_id& shown = id.shown;
    channel = ibv_create_comp_channel(shown.verbs);
    if (channel == nullptr) return ENOMEM;
    id.owns_cqs = true;
    queue = ibv_create_cq(shown.verbs, std::max(1, static_cast<int>(entries)), &shown, channel, 0);
    return queue == nullptr ? ENOMEM : 0;
}

int create_receive_queue(Id& id, uint32_t entries) {
    return create_queue(id, entries, id.shown.recv_cq_channel, id.shown.recv_cq);
}

// Completion queues for a program that passed none. What a target of XRC receives completes in the
// queue of its shared receive queue.
int create_queues(Id& id, const ibv_qp_init_attr_ex& a) {
    if (a.qp_type == IBV_QPT_XRC_RECV) return 0;
    if (a.recv_cq == nullptr && a.qp_type != IBV_QPT_XRC_SEND)
        if (const int error = create_receive_queue(id, a.cap.max_recv_wr)) return error;
    if (a.send_cq != nullptr) return 0;
    return create_queue(id, a.cap.max_send_wr, id.shown.send_cq_channel, id.shown.send_cq);
}

// A shared receive queue of XRC has a domain and a completion queue: the id's, if none is given.
int complete_for_xrc(Id& id, ibv_srq_init_attr_ex& a) {
    if ((a.comp_mask & IBV_SRQ_INIT_ATTR_XRCD) == 0 || a.xrcd == nullptr)
        a.xrcd = Manager::of(id).xrc_domain();
    if ((a.comp_mask & IBV_SRQ_INIT_ATTR_CQ) == 0 || a.cq == nullptr) {
        if (id.shown.recv_cq == nullptr)
            if (const int error = create_receive_queue(id, a.attr.max_wr)) return error;
        a.cq = id.shown.recv_cq;
    }
    a.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    return 0;
}

bool is_xrc(const rdma_cm_id& shown) {
    return shown.qp_type == IBV_QPT_XRC_SEND || shown.qp_type == IBV_QPT_XRC_RECV;
}

}  // namespace
}  // namespace tulle::verbs

using namespace tulle;
using namespace tulle::verbs;

TULLE_EXPORT int rdma_create_qp_ex(rdma_cm_id* shown, ibv_qp_init_attr_ex* wanted) {
    Id& id = id_of(shown);
    if (shown->qp != nullptr || shown->verbs == nullptr) return refuse_call(EINVAL);
    ibv_qp_init_attr_ex a = *wanted;
    if ((a.comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || a.pd == nullptr) {
        a.comp_mask |= IBV_QP_INIT_ATTR_PD;
        a.pd = shown->pd != nullptr ? shown->pd : Manager::of(id_of(shown)).domain();
    }
    const bool has_target = (a.comp_mask & IBV_QP_INIT_ATTR_XRCD) != 0 && a.xrcd != nullptr;
    if (a.qp_type == IBV_QPT_XRC_RECV && !has_target) {
        a.comp_mask |= IBV_QP_INIT_ATTR_XRCD;
        a.xrcd = Manager::of(id).xrc_domain();
    }
    if (const int error = create_queues(id, a)) {
        destroy_queues(id);
        return refuse_call(error);
    }
    if (a.send_cq == nullptr) a.send_cq = shown->send_cq;
    if (a.recv_cq == nullptr) a.recv_cq = shown->recv_cq;
    if (a.srq == nullptr && shown->srq != nullptr) a.srq = shown->srq;
    ibv_qp* qp = ibv_create_qp_ex(a.pd->context, &a);
    if (qp == nullptr) {
        const int error = errno;
        destroy_queues(id);
        return refuse_call(error);
    }
    const int error = a.qp_type == IBV_QPT_UD ? start_datagrams(id, qp) : to_init(id, qp);
    if (error != 0) {
        ibv_destroy_qp(qp);
        destroy_queues(id);
        return refuse_call(error);
    }
    wanted->cap = a.cap;
    shown->pd = a.pd;
    shown->send_cq = a.send_cq;
    shown->recv_cq = a.recv_cq;
    shown->qp = qp;
    return 0;
}

TULLE_EXPORT int rdma_create_qp(rdma_cm_id* shown, ibv_pd* pd, ibv_qp_init_attr* attributes) {
    ibv_qp_init_attr_ex extended{};
    std::memcpy(static_cast<void*>(&extended), attributes, sizeof *attributes);
    extended.comp_mask = IBV_QP_INIT_ATTR_PD;
    extended.pd = pd != nullptr ? pd : shown->pd;
    const int result = rdma_create_qp_ex(shown, &extended);
    if (result == 0) attributes->cap = extended.cap;
    return result;
}

TULLE_EXPORT void rdma_destroy_qp(rdma_cm_id* shown) {
    if (shown->qp == nullptr) return;
    Id& id = id_of(shown);
    for (Multicast& group : id.groups)
        if (group.is_attached) {
            ibv_detach_mcast(shown->qp, &group.group, 0);
            group.is_attached = false;
        }
    ibv_destroy_qp(shown->qp);
    shown->qp = nullptr;
    destroy_queues(id);
}

TULLE_EXPORT int rdma_create_srq_ex(rdma_cm_id* shown, ibv_srq_init_attr_ex* attributes) {
    if (shown->srq != nullptr || shown->verbs == nullptr) return refuse_call(EINVAL);
    if ((attributes->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attributes->pd == nullptr) {
        attributes->pd = shown->pd != nullptr ? shown->pd : Manager::of(id_of(shown)).domain();
        attributes->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
    }
    if ((attributes->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 &&
        attributes->srq_type == IBV_SRQT_XRC)
        if (const int error = complete_for_xrc(id_of(shown), *attributes))
            return refuse_call(error);
    shown->srq = ibv_create_srq_ex(attributes->pd->context, attributes);
    if (shown->srq == nullptr) {
        const int error = errno;
        destroy_queues(id_of(shown));
        return refuse_call(error);
    }
    if (shown->pd == nullptr) shown->pd = attributes->pd;
    return 0;
}

TULLE_EXPORT int rdma_create_srq(rdma_cm_id* shown, ibv_pd* pd, ibv_srq_init_attr* attributes) {
    ibv_srq_init_attr_ex extended{};
    extended.srq_context = attributes->srq_context;
    extended.attr = attributes->attr;
    extended.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
    extended.srq_type = is_xrc(*shown) ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
    extended.pd = pd;
    return rdma_create_srq_ex(shown, &extended);
}

TULLE_EXPORT void rdma_destroy_srq(rdma_cm_id* shown) {
    if (shown->srq == nullptr) return;
    ibv_destroy_srq(shown->srq);
    shown->srq = nullptr;
    destroy_queues(id_of(shown));
}

TULLE_EXPORT int rdma_create_ep(rdma_cm_id** result, rdma_addrinfo* where, ibv_pd* pd,
                                ibv_qp_init_attr* attributes) {
    rdma_cm_id* shown = nullptr;
    if (rdma_create_id(nullptr, &shown, nullptr,
                       static_cast<rdma_port_space>(where->ai_port_space)) != 0)
        return -1;
    Id& id = id_of(shown);
    shown->qp_type = static_cast<ibv_qp_type>(where->ai_qp_type);
    const bool is_passive = (where->ai_flags & RAI_PASSIVE) != 0;
    bool done = is_passive
                    ? rdma_bind_addr(shown, where->ai_src_addr) == 0
                    : rdma_resolve_addr(shown, where->ai_src_addr, where->ai_dst_addr, 2000) == 0 &&
                          rdma_resolve_route(shown, 2000) == 0;
    if (done && attributes != nullptr) {
        attributes->qp_type = shown->qp_type;
        if (is_passive && shown->ps != RDMA_PS_UDP) {
            if (pd != nullptr) shown->pd = pd;
            id.qp_attributes = *attributes;
            id.creates_qp = true;
        } else {
            done = rdma_create_qp(shown, pd, attributes) == 0;
        }
    }
    if (!done) {
        const int error = errno;
        rdma_destroy_ep(shown);
        return refuse_call(error);
    }
    *result = shown;
    return 0;
}

TULLE_EXPORT void rdma_destroy_ep(rdma_cm_id* shown) {
    rdma_destroy_qp(shown);
    rdma_destroy_srq(shown);
    rdma_destroy_id(shown);
}
