#include "verbs/translation.h"

#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tulle::verbs {

using transport::QpAttributes;
using transport::QpState;
using transport::QpType;
using transport::SendRequest;
using transport::Work;

// ---- work ---------------------------------------------------------------------------------------

namespace {

int gather_inline(const ibv_send_wr& from, Scratch& scratch, SendRequest& to) {
    size_t length = 0;
    for (int i = 0; i < from.num_sge; ++i) {
        const ibv_sge& sge = from.sg_list[i];
        if (length + sge.length > kMaxInline) return EINVAL;
        if (sge.length != 0)
            std::memcpy(scratch.inline_data.data() + length,
                        reinterpret_cast<const void*>(sge.addr), sge.length);
        length += sge.length;
    }
    to.inline_data = std::span(scratch.inline_data).first(length);
    return 0;
}

void list_sges(std::span<const ibv_sge> from, Scratch& scratch) {
    for (size_t i = 0; i < from.size(); ++i)
        scratch.sges[i] = {from[i].addr, from[i].length, from[i].lkey};
}

// What an operation needs besides its own memory.
void set_operands(const ibv_send_wr& from, SendRequest& to) {
    switch (to.work) {
        case Work::compare_swap:
        case Work::fetch_add:
            to.remote_address = from.wr.atomic.remote_addr;
            to.compare_or_add = from.wr.atomic.compare_add;
            to.swap = from.wr.atomic.swap;
            to.rkey = from.wr.atomic.rkey;
            break;
        case Work::local_invalidate:
        case Work::send_with_invalidate: to.rkey = from.invalidate_rkey; break;
        case Work::flush:
            to.remote_address = from.wr.rdma.remote_addr;
            to.rkey = from.wr.rdma.rkey;
            to.flush_placement = from.imm_data & 3;
            to.flush_selectivity = from.imm_data >> 4 & 3;
            break;
        case Work::bind_window: {
            const ibv_mw_bind_info& info = from.bind_mw.bind_info;
            to.binding = {from.bind_mw.mw->rkey,
                          from.bind_mw.rkey,
                          info.mr != nullptr ? info.mr->lkey : 0,
                          info.addr,
                          info.length,
                          info.mw_access_flags};
            break;
        }
        default:
            to.remote_address = from.wr.rdma.remote_addr;
            to.rkey = from.wr.rdma.rkey;
            to.immediate = be32toh(from.imm_data);
            break;
    }
}

}  // namespace

int translate_send(const ibv_send_wr& from, Scratch& scratch, SendRequest& to) {
    constexpr unsigned kKnownFlags = 0xf;  // fence, signalled, solicited, inline
    const auto work = static_cast<Work>(from.opcode);
    if (from.num_sge < 0 || from.num_sge > kMaxSges) return EINVAL;
    if (from.opcode > IBV_WR_SEND_WITH_INV && work != Work::atomic_write && work != Work::flush)
        return EINVAL;
    to.id = from.wr_id;
    to.work = work;
    to.flags = static_cast<uint8_t>(from.send_flags & kKnownFlags);
    if ((from.send_flags & IBV_SEND_INLINE) != 0) {
        const bool may_be =
            work != Work::read && work != Work::compare_swap && work != Work::fetch_add;
        if (!may_be) return EINVAL;
        if (const int error = gather_inline(from, scratch, to)) return error;
    } else {
        const auto count = static_cast<size_t>(from.num_sge);
        list_sges({from.sg_list, count}, scratch);
        to.sges = std::span(scratch.sges).first(count);
    }
    set_operands(from, to);
    return 0;
}

int translate_receive(const ibv_recv_wr& from, Scratch& scratch, transport::ReceiveRequest& to) {
    if (from.num_sge < 0 || from.num_sge > kMaxSges) return EINVAL;
    const auto count = static_cast<size_t>(from.num_sge);
    list_sges({from.sg_list, count}, scratch);
    to = {from.wr_id, std::span(scratch.sges).first(count)};
    return 0;
}

// ---- queue pairs --------------------------------------------------------------------------------

std::optional<QpType> type_of(ibv_qp_type type) {
    switch (type) {
        case IBV_QPT_RC: return QpType::rc;
        case IBV_QPT_UC: return QpType::uc;
        case IBV_QPT_UD: return QpType::ud;
        case IBV_QPT_XRC_SEND: return QpType::xrc_initiator;
        case IBV_QPT_XRC_RECV: return QpType::xrc_target;
        default: return std::nullopt;
    }
}

std::optional<QpState> state_of(ibv_qp_state state) {
    switch (state) {
        case IBV_QPS_RESET: return QpState::reset;
        case IBV_QPS_INIT: return QpState::init;
        case IBV_QPS_RTR: return QpState::rtr;
        case IBV_QPS_RTS: return QpState::rts;
        case IBV_QPS_SQD: return QpState::sqd;
        case IBV_QPS_SQE: return QpState::sqe;
        case IBV_QPS_ERR: return QpState::error;
        default: return std::nullopt;
    }
}

ibv_qp_state shown_state(QpState state) {
    switch (state) {
        case QpState::reset: return IBV_QPS_RESET;
        case QpState::init: return IBV_QPS_INIT;
        case QpState::rtr: return IBV_QPS_RTR;
        case QpState::rts: return IBV_QPS_RTS;
        case QpState::sqd: return IBV_QPS_SQD;
        case QpState::sqe: return IBV_QPS_SQE;
        case QpState::error: return IBV_QPS_ERR;
    }
    return IBV_QPS_UNKNOWN;
}

// The inline capacity in blocks of 64 bytes, which adapters divide a send queue into, after 32
// bytes of headers and 4 of length (as mlx5 does): programs send that much inline whatever they
// requested.
uint32_t inline_room(const ibv_qp_cap& cap) {
    constexpr uint32_t kHeaders = 32;
    constexpr uint32_t kLength = 4;
    constexpr uint32_t kPiece = 16;
    constexpr uint32_t kBlock = 64;
    const auto align = [](uint32_t size, uint32_t to) { return (size + to - 1) / to * to; };
    const uint32_t pieces = std::max(1u, cap.max_send_sge) * kPiece;
    const uint32_t data = align(kLength + cap.max_inline_data, kPiece);
    const uint32_t room = align(kHeaders + std::max(pieces, data), kBlock) - kHeaders - kLength;
    return std::min(room, static_cast<uint32_t>(kMaxInline));
}

int check_attributes(const live::Identity& device, const ibv_qp_attr& a, int mask) {
    const auto has = [&](int bit) { return (mask & bit) != 0; };
    if (has(IBV_QP_STATE) && !state_of(a.qp_state)) return EINVAL;
    if (has(IBV_QP_CUR_STATE) && !state_of(a.cur_qp_state)) return EINVAL;
    if (has(IBV_QP_PORT) && !device.has_port(a.port_num)) return EINVAL;
    if (has(IBV_QP_PKEY_INDEX) && a.pkey_index != 0) return EINVAL;
    if (has(IBV_QP_ALT_PATH) && (a.alt_pkey_index != 0 || !device.has_port(a.alt_port_num)))
        return EINVAL;
    if (has(IBV_QP_PATH_MTU) && (a.path_mtu < IBV_MTU_256 || a.path_mtu > IBV_MTU_4096))
        return EINVAL;
    if (has(IBV_QP_MAX_QP_RD_ATOMIC) && a.max_rd_atomic > kMaxReads) return EINVAL;
    if (has(IBV_QP_MAX_DEST_RD_ATOMIC) && a.max_dest_rd_atomic > kMaxReads) return EINVAL;
    if (has(IBV_QP_DEST_QPN) && a.dest_qp_num > 0xff'ffff) return EINVAL;
    if (has(IBV_QP_PATH_MIG_STATE) && a.path_mig_state > IBV_MIG_ARMED) return EINVAL;
    return 0;
}

void translate_attributes(const ibv_qp_attr& a, int mask, QpAttributes& to) {
    const auto has = [&](int bit) { return (mask & bit) != 0; };
    if (has(IBV_QP_STATE)) to.state = *state_of(a.qp_state);
    if (has(IBV_QP_CUR_STATE)) to.current_state = *state_of(a.cur_qp_state);
    if (has(IBV_QP_PATH_MIG_STATE))
        to.migration = static_cast<transport::Migration>(a.path_mig_state);
    to.drain_notify = a.en_sqd_async_notify != 0;
    to.access = a.qp_access_flags;
    to.qkey = transport::QKey{a.qkey};
    to.path_mtu = 128u << std::clamp<unsigned>(a.path_mtu, 1, 5);
    to.address.ack_timeout = a.timeout;
    to.alternate.ack_timeout = a.alt_timeout;
    to.retry_count = a.retry_cnt;
    to.rnr_retry = a.rnr_retry;
    to.receive_psn = transport::Psn{a.rq_psn & 0xff'ffff};
    to.send_psn = transport::Psn{a.sq_psn & 0xff'ffff};
    to.max_reads = a.max_rd_atomic;
    to.max_incoming_reads = a.max_dest_rd_atomic;
    to.min_rnr_timer = a.min_rnr_timer;
    to.dest_qpn = transport::Qpn{a.dest_qp_num};
}

int own_part(QpType type, int mask) {
    if (type == QpType::xrc_initiator)
        return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (type == QpType::xrc_target)
        return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
    return mask;
}

void remember(ibv_qp_attr& kept, const ibv_qp_attr& a, int mask) {
    const auto has = [&](int bit) { return (mask & bit) != 0; };
    if (has(IBV_QP_ACCESS_FLAGS)) kept.qp_access_flags = a.qp_access_flags;
    if (has(IBV_QP_PKEY_INDEX)) kept.pkey_index = a.pkey_index;
    if (has(IBV_QP_PORT)) kept.port_num = a.port_num;
    if (has(IBV_QP_QKEY)) kept.qkey = a.qkey;
    if (has(IBV_QP_AV)) kept.ah_attr = a.ah_attr;
    if (has(IBV_QP_PATH_MTU)) kept.path_mtu = a.path_mtu;
    if (has(IBV_QP_TIMEOUT)) kept.timeout = a.timeout;
    if (has(IBV_QP_RETRY_CNT)) kept.retry_cnt = a.retry_cnt;
    if (has(IBV_QP_RNR_RETRY)) kept.rnr_retry = a.rnr_retry;
    if (has(IBV_QP_RQ_PSN)) kept.rq_psn = a.rq_psn & 0xff'ffff;
    if (has(IBV_QP_MAX_QP_RD_ATOMIC)) kept.max_rd_atomic = a.max_rd_atomic;
    if (has(IBV_QP_MIN_RNR_TIMER)) kept.min_rnr_timer = a.min_rnr_timer;
    if (has(IBV_QP_SQ_PSN)) kept.sq_psn = a.sq_psn & 0xff'ffff;
    if (has(IBV_QP_MAX_DEST_RD_ATOMIC)) kept.max_dest_rd_atomic = a.max_dest_rd_atomic;
    if (has(IBV_QP_DEST_QPN)) kept.dest_qp_num = a.dest_qp_num;
    if (has(IBV_QP_ALT_PATH)) {
        kept.alt_ah_attr = a.alt_ah_attr;
        kept.alt_pkey_index = a.alt_pkey_index;
        kept.alt_port_num = a.alt_port_num;
        kept.alt_timeout = a.alt_timeout;
    }
    if (has(IBV_QP_STATE) && a.qp_state == IBV_QPS_RESET) {
        const ibv_qp_cap cap = kept.cap;
        kept = {};
        kept.cap = cap;
        kept.path_mtu = IBV_MTU_4096;
    }
}

}  // namespace tulle::verbs
