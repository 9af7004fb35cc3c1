// Finds what is wrong with the arguments of a refused call. The rules are those of the
// specification (IBTA vol 1, 11.2.5.2 and table 91 for attributes of queue pairs) and the limits of
// this adapter. It runs after the refusal and does not change it.
#include <array>

#include "live/printed.h"
#include "verbs/explain.h"
#include "verbs/objects.h"

namespace tulle::verbs {
namespace {

const char* name_of(int state) {
    constexpr std::array kNames = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    return state >= 0 && static_cast<size_t>(state) < kNames.size()
               ? kNames[static_cast<size_t>(state)]
               : "no state";
}

struct AttributeName {
    int bit;
    const char* name;
};
constexpr AttributeName kAttributes[] = {
    {IBV_QP_STATE, "IBV_QP_STATE"},
    {IBV_QP_ACCESS_FLAGS, "IBV_QP_ACCESS_FLAGS"},
    {IBV_QP_PKEY_INDEX, "IBV_QP_PKEY_INDEX"},
    {IBV_QP_PORT, "IBV_QP_PORT"},
    {IBV_QP_QKEY, "IBV_QP_QKEY"},
    {IBV_QP_AV, "IBV_QP_AV"},
    {IBV_QP_PATH_MTU, "IBV_QP_PATH_MTU"},
    {IBV_QP_TIMEOUT, "IBV_QP_TIMEOUT"},
    {IBV_QP_RETRY_CNT, "IBV_QP_RETRY_CNT"},
    {IBV_QP_RNR_RETRY, "IBV_QP_RNR_RETRY"},
    {IBV_QP_RQ_PSN, "IBV_QP_RQ_PSN"},
    {IBV_QP_MAX_QP_RD_ATOMIC, "IBV_QP_MAX_QP_RD_ATOMIC"},
    {IBV_QP_MIN_RNR_TIMER, "IBV_QP_MIN_RNR_TIMER"},
    {IBV_QP_SQ_PSN, "IBV_QP_SQ_PSN"},
    {IBV_QP_MAX_DEST_RD_ATOMIC, "IBV_QP_MAX_DEST_RD_ATOMIC"},
    {IBV_QP_DEST_QPN, "IBV_QP_DEST_QPN"},
};

std::string names_of(int mask) {
    std::string names;
    for (const AttributeName& one : kAttributes)
        if ((mask & one.bit) != 0) names.append(names.empty() ? "" : ", ").append(one.name);
    return names;
}

// Attributes that a transition on the usual path needs besides the state.
int needed_for(ibv_qp_type type, int from, int to) {
    const bool is_reliable = type != IBV_QPT_UD && type != IBV_QPT_UC;
    if (from == IBV_QPS_RESET && to == IBV_QPS_INIT)
        return IBV_QP_PKEY_INDEX | IBV_QP_PORT |
               (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
    if (from == IBV_QPS_INIT && to == IBV_QPS_RTR && type != IBV_QPT_UD)
        return IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               (is_reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
    if (from == IBV_QPS_RTR && to == IBV_QPS_RTS)
        return IBV_QP_SQ_PSN | (is_reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                                  IBV_QP_MAX_QP_RD_ATOMIC
                                            : 0);
    return 0;
}

bool is_step(int from, int to) {
    if (to == IBV_QPS_RESET || to == IBV_QPS_ERR || to == from) return true;
    if (to == IBV_QPS_INIT) return from == IBV_QPS_RESET;
    if (to == IBV_QPS_RTR) return from == IBV_QPS_INIT;
    if (to == IBV_QPS_RTS) return from != IBV_QPS_RESET && from != IBV_QPS_INIT;
    return to == IBV_QPS_SQD && from == IBV_QPS_RTS;
}

int state_of(ibv_qp* shown) {
    live::SoftwareAdapter& host = host_of(shown->context);
    const std::lock_guard guard(host.lock());
    const transport::QueuePair* qp = host.adapter().queue_pairs().find(qp_of(shown).qpn);
    return qp == nullptr ? IBV_QPS_ERR : static_cast<int>(qp->state);
}

std::string ports_of(const live::Identity& who) {
    return who.port_count() == 1 ? "port 1 only" : live::printed("ports 1 to %u", who.port_count());
}

std::string why_address(const ibv_ah_attr& address, const ibv_context* context) {
    const auto& identity = host_of(const_cast<ibv_context*>(context)).identity();
    if (!identity.has_port(address.port_num))
        return live::printed("ah_attr.port_num is %u, and the adapter has %s", address.port_num,
                             ports_of(identity).c_str());
    if (identity.is_ethernet && address.is_global == 0)
        return "ah_attr.is_global is 0: on Ethernet an address has a GRH";
    const size_t gids = identity.gids_of(address.port_num).size();
    if (address.is_global != 0 && address.grh.sgid_index >= gids)
        return live::printed("ah_attr.grh.sgid_index is %u, and the table has %zu GIDs",
                             address.grh.sgid_index, gids);
    return {};
}

// The same for both structures that describe a queue pair.
template <class Attributes>
std::string why_no_queue_pair(const Attributes& init) {
    const ibv_qp_cap& cap = init.cap;
    if (init.qp_type == IBV_QPT_XRC_RECV) return {};
    if (init.send_cq == nullptr) return "send_cq is NULL";
    if (init.recv_cq == nullptr && init.qp_type != IBV_QPT_XRC_SEND) return "recv_cq is NULL";
    if (cap.max_send_wr > kMaxWork || (init.srq == nullptr && cap.max_recv_wr > kMaxWork))
        return live::printed("max_send_wr %u or max_recv_wr %u is more than %d", cap.max_send_wr,
                             cap.max_recv_wr, kMaxWork);
    if (cap.max_send_sge > kMaxSges || cap.max_recv_sge > kMaxSges)
        return live::printed("max_send_sge %u or max_recv_sge %u is more than %d", cap.max_send_sge,
                             cap.max_recv_sge, kMaxSges);
    if (cap.max_inline_data > kMaxInline)
        return live::printed("max_inline_data %u is more than %d", cap.max_inline_data, kMaxInline);
    return {};
}

}  // namespace

std::string why_refused(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
    const int now = state_of(qp);
    const int from = (mask & IBV_QP_CUR_STATE) != 0 ? attributes->cur_qp_state : now;
    const int to = (mask & IBV_QP_STATE) != 0 ? attributes->qp_state : now;
    if (from != now)
        return live::printed("cur_qp_state is %s, and the queue pair is in %s", name_of(from),
                             name_of(now));
    if (!is_step(from, to))
        return live::printed(
            "there is no way from %s to %s; the usual one is RESET, INIT, RTR, RTS", name_of(from),
            name_of(to));
    if (const int missing = needed_for(qp->qp_type, from, to) & ~mask)
        return live::printed("the step from %s to %s also needs %s", name_of(from), name_of(to),
                             names_of(missing).c_str());
    const live::Identity& who = host_of(qp->context).identity();
    if ((mask & IBV_QP_PORT) != 0 && !who.has_port(attributes->port_num))
        return live::printed("port_num is %u, and the adapter has %s", attributes->port_num,
                             ports_of(who).c_str());
    if ((mask & IBV_QP_PKEY_INDEX) != 0 && attributes->pkey_index != 0)
        return live::printed("pkey_index is %u, and the table has one P_Key",
                             attributes->pkey_index);
    if ((mask & IBV_QP_AV) != 0)
        if (std::string why = why_address(attributes->ah_attr, qp->context); !why.empty())
            return why;
    if ((mask & IBV_QP_PATH_MTU) != 0 &&
        (attributes->path_mtu < IBV_MTU_256 || attributes->path_mtu > IBV_MTU_4096))
        return live::printed("path_mtu is %d, and IBV_MTU_256 to IBV_MTU_4096 are 1 to 5",
                             static_cast<int>(attributes->path_mtu));
    if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && attributes->max_rd_atomic > kMaxReads)
        return live::printed("max_rd_atomic is %u, and the adapter has %d",
                             attributes->max_rd_atomic, kMaxReads);
    if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0 && attributes->max_dest_rd_atomic > kMaxReads)
        return live::printed("max_dest_rd_atomic is %u, and the adapter has %d",
                             attributes->max_dest_rd_atomic, kMaxReads);
    return live::printed("an attribute of %s does not go with the step from %s to %s",
                         names_of(mask).c_str(), name_of(from), name_of(to));
}

std::string why_refused(ibv_qp* shown, ibv_send_wr* list, ibv_send_wr** bad) {
    const ibv_qp_cap& cap = qp_of(shown).init.cap;
    const ibv_send_wr* wr = bad != nullptr && *bad != nullptr ? *bad : list;
    const int state = state_of(shown);
    if (state == IBV_QPS_RESET || state == IBV_QPS_INIT || state == IBV_QPS_RTR)
        return live::printed("the queue pair is in %s, and sends from RTS on", name_of(state));
    if (wr->num_sge < 0 || static_cast<uint32_t>(wr->num_sge) > cap.max_send_sge)
        return live::printed("num_sge is %d, and the queue pair was created with max_send_sge %u",
                             wr->num_sge, cap.max_send_sge);
    uint64_t bytes = 0;
    for (int i = 0; i < wr->num_sge; ++i) bytes += wr->sg_list[i].length;
    if ((wr->send_flags & IBV_SEND_INLINE) != 0 && bytes > cap.max_inline_data)
        return live::printed(
            "%llu bytes are inline, and the queue pair was created with max_inline_data %u",
            static_cast<unsigned long long>(bytes), cap.max_inline_data);
    if (shown->qp_type == IBV_QPT_UD && wr->wr.ud.ah == nullptr)
        return "a datagram needs an address handle (wr.ud.ah)";
    return live::printed(
        "the send queue of %u requests may be full: places come back when completions are "
        "polled, or opcode %d does not go with the queue pair",
        cap.max_send_wr, static_cast<int>(wr->opcode));
}

std::string why_refused(ibv_qp* shown, ibv_recv_wr* list, ibv_recv_wr** bad) {
    const ibv_qp_cap& cap = qp_of(shown).init.cap;
    const ibv_recv_wr* wr = bad != nullptr && *bad != nullptr ? *bad : list;
    if (shown->srq != nullptr) return "the queue pair receives through its shared receive queue";
    if (state_of(shown) == IBV_QPS_RESET)
        return "the queue pair is in RESET, and takes receives from INIT on";
    if (wr->num_sge < 0 || static_cast<uint32_t>(wr->num_sge) > cap.max_recv_sge)
        return live::printed("num_sge is %d, and the queue pair was created with max_recv_sge %u",
                             wr->num_sge, cap.max_recv_sge);
    return live::printed("the receive queue of %u requests is full", cap.max_recv_wr);
}

std::string why_refused(ibv_pd*, ibv_qp_init_attr* init) {
    return why_no_queue_pair(*init);
}

std::string why_refused(ibv_context*, ibv_qp_init_attr_ex* init) {
    const bool has_target = (init->comp_mask & IBV_QP_INIT_ATTR_XRCD) != 0;
    if (init->qp_type == IBV_QPT_XRC_RECV && (!has_target || init->xrcd == nullptr))
        return "a target of XRC needs its domain (IBV_QP_INIT_ATTR_XRCD)";
    const bool has_domain = (init->comp_mask & IBV_QP_INIT_ATTR_PD) != 0 && init->pd != nullptr;
    if (init->qp_type != IBV_QPT_XRC_RECV && !has_domain)
        return "there is no protection domain (IBV_QP_INIT_ATTR_PD)";
    return why_no_queue_pair(*init);
}

std::string why_refused(ibv_pd*, ibv_srq_init_attr* init) {
    if (init->attr.max_wr == 0 || init->attr.max_wr > kMaxSharedWork)
        return live::printed("max_wr is %u, and a shared receive queue has 1 to %d",
                             init->attr.max_wr, kMaxSharedWork);
    if (init->attr.max_sge > kMaxSges)
        return live::printed("max_sge %u is more than %d", init->attr.max_sge, kMaxSges);
    return {};
}

std::string why_refused(ibv_pd*, void* address, size_t length, int access) {
    if (length == 0) return "a region of no bytes";
    constexpr int kWritten = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    if ((access & kWritten) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0)
        return "IBV_ACCESS_REMOTE_WRITE and IBV_ACCESS_REMOTE_ATOMIC need IBV_ACCESS_LOCAL_WRITE";
    return live::printed(
        "%zu bytes at %p are not all memory of the program that these rights are for", length,
        address);
}

std::string why_refused(ibv_pd* pd, void* address, size_t length, uint64_t, unsigned access) {
    return why_refused(pd, address, length, static_cast<int>(access));
}

std::string why_refused(ibv_context* context, int entries, void*, ibv_comp_channel*, int vector) {
    if (entries <= 0 || entries > kMaxCqe)
        return live::printed("%d entries, and a queue has 1 to %d", entries, kMaxCqe);
    if (vector < 0 || vector >= context->num_comp_vectors)
        return live::printed("comp_vector is %d, and there are %d", vector,
                             context->num_comp_vectors);
    return {};
}

std::string why_refused(ibv_context* context, ibv_cq_init_attr_ex* init) {
    return why_refused(context, static_cast<int>(init->cqe), nullptr, init->channel,
                       static_cast<int>(init->comp_vector));
}

std::string why_refused(ibv_context* context, uint8_t port, int index, ibv_gid*) {
    const live::Identity& who = host_of(context).identity();
    if (!who.has_port(port))
        return live::printed("the port is %u, and the adapter has %s", port, ports_of(who).c_str());
    return live::printed("the index is %d, and the table has %zu GIDs", index,
                         who.gids_of(port).size());
}

std::string why_refused(ibv_pd* pd, ibv_ah_attr* address) {
    return why_address(*address, pd->context);
}

}  // namespace tulle::verbs
