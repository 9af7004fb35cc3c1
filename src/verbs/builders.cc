// The extended way to post work: calls between start and complete build requests; complete posts
// all of them or none.
#include <cstring>

#include "verbs/builder_guards.h"
#include "verbs/queue_pair.h"

namespace tulle::verbs {
namespace {

// Names that rdma-core has added since release 44.
constexpr uint64_t kWithFlush = 1 << 11;
constexpr auto kFlush = static_cast<ibv_wr_opcode>(transport::Work::flush);

constexpr uint64_t kOffered =
    IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
    IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
    IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_ATOMIC_WRITE | kWithFlush;

QueuePair& qp_of(ibv_qp_ex* qp) {
    return object_of<QueuePair>(qp);
}

// Begins a request. An operation that was not requested at creation makes complete() fail.
ibv_send_wr& begin(ibv_qp_ex* shown, ibv_wr_opcode opcode, uint64_t needs) {
    QueuePair& qp = qp_of(shown);
    if ((qp.builders & needs) == 0) qp.pending_error = EINVAL;
    ibv_send_wr& request = qp.pending.emplace_back().request;
    request.wr_id = shown->wr_id;
    request.send_flags = shown->wr_flags & ~unsigned{IBV_SEND_INLINE};
    request.opcode = opcode;
    return request;
}

// The request that setters modify: the one begun last.
PendingWork* last(ibv_qp_ex* shown) {
    QueuePair& qp = qp_of(shown);
    if (!qp.pending.empty()) return &qp.pending.back();
    qp.pending_error = EINVAL;
    return nullptr;
}

void rdma(ibv_qp_ex* qp, ibv_wr_opcode opcode, uint64_t needs, uint32_t rkey, uint64_t address,
          __be32 immediate = 0) {
    ibv_send_wr& request = begin(qp, opcode, needs);
    request.wr.rdma.remote_addr = address;
    request.wr.rdma.rkey = rkey;
    request.imm_data = immediate;
}

void atomic(ibv_qp_ex* qp, ibv_wr_opcode opcode, uint64_t needs, uint32_t rkey, uint64_t address,
            uint64_t compare_or_add, uint64_t swap) {
    ibv_send_wr& request = begin(qp, opcode, needs);
    request.wr.atomic.remote_addr = address;
    request.wr.atomic.compare_add = compare_or_add;
    request.wr.atomic.swap = swap;
    request.wr.atomic.rkey = rkey;
}

void set_inline(ibv_qp_ex* shown, size_t count, const ibv_data_buf* buffers) {
    PendingWork* work = last(shown);
    if (work == nullptr) return;
    work->request.send_flags |= IBV_SEND_INLINE;
    work->sges.clear();
    work->inline_data.clear();
    for (size_t i = 0; i < count; ++i) {
        const auto* bytes = static_cast<const std::byte*>(buffers[i].addr);
        work->inline_data.insert(work->inline_data.end(), bytes, bytes + buffers[i].length);
    }
    if (work->inline_data.size() > qp_of(shown).init.cap.max_inline_data)
        qp_of(shown).pending_error = EINVAL;
}

void set_sges(ibv_qp_ex* shown, size_t count, const ibv_sge* sges) {
    if (PendingWork* work = last(shown)) work->sges.assign(sges, sges + count);
}

// Sets the pointers to a request's data, which does not move any more.
void tie(PendingWork& work) {
    if ((work.request.send_flags & IBV_SEND_INLINE) != 0) {
        const auto address = reinterpret_cast<uint64_t>(work.inline_data.data());
        work.sges = {{address, static_cast<uint32_t>(work.inline_data.size()), 0}};
    }
    work.request.sg_list = work.sges.data();
    work.request.num_sge = static_cast<int>(work.sges.size());
}

// The range is stored as a piece without memory, type and level in the immediate data.
void flush(ibv_qp_ex* qp, uint32_t rkey, uint64_t address, size_t length, uint8_t type,
           uint8_t level) {
    rdma(qp, kFlush, kWithFlush, rkey, address, static_cast<__be32>(type | level << 4));
    // For a whole region the length is ignored; one byte makes its key be checked.
    constexpr uint8_t kWholeRegion = 1;
    if (level == kWholeRegion) length = 1;
    const ibv_sge range{0, static_cast<uint32_t>(length), 0};
    set_sges(qp, 1, &range);
    if (length > UINT32_MAX || type > 3 || level > kWholeRegion) qp_of(qp).pending_error = EINVAL;
}

void start(ibv_qp_ex* shown) {
    qp_of(shown).pending.clear();
    qp_of(shown).pending_error = 0;
}

int complete(ibv_qp_ex* shown) {
    QueuePair& qp = qp_of(shown);
    if (qp.pending_error != 0) return qp.pending_error;
    if (qp.pending.empty()) return 0;
    if (qp.pending.size() > qp.init.cap.max_send_wr) return ENOMEM;
    for (size_t i = 0; i < qp.pending.size(); ++i) {
        tie(qp.pending[i]);
        const bool is_last = i + 1 == qp.pending.size();
        qp.pending[i].request.next = is_last ? nullptr : &qp.pending[i + 1].request;
    }
    ibv_send_wr* bad = nullptr;
    const int error = post_send(&qp.plain(), &qp.pending[0].request, &bad);
    qp.pending.clear();
    return error;
}

void set_operations(ibv_qp_ex& qp) {
    qp.wr_rdma_write = [](ibv_qp_ex* q, uint32_t rkey, uint64_t address) {
        rdma(q, IBV_WR_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE, rkey, address);
    };
    qp.wr_rdma_write_imm = [](ibv_qp_ex* q, uint32_t rkey, uint64_t address, __be32 immediate) {
        rdma(q, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, rkey, address,
             immediate);
    };
    qp.wr_rdma_read = [](ibv_qp_ex* q, uint32_t rkey, uint64_t address) {
        rdma(q, IBV_WR_RDMA_READ, IBV_QP_EX_WITH_RDMA_READ, rkey, address);
    };
    qp.wr_atomic_cmp_swp = [](ibv_qp_ex* q, uint32_t rkey, uint64_t address, uint64_t compare,
                              uint64_t swap) {
        atomic(q, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, rkey, address,
               compare, swap);
    };
    qp.wr_atomic_fetch_add = [](ibv_qp_ex* q, uint32_t rkey, uint64_t address, uint64_t add) {
        atomic(q, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, rkey, address,
               add, 0);
    };
    qp.wr_atomic_write = [](ibv_qp_ex* q, uint32_t rkey, uint64_t address, const void* word) {
        rdma(q, IBV_WR_ATOMIC_WRITE, IBV_QP_EX_WITH_ATOMIC_WRITE, rkey, address);
        ibv_data_buf buffer{const_cast<void*>(word), 8};
        set_inline(q, 1, &buffer);
    };
    qp.wr_send = [](ibv_qp_ex* q) { begin(q, IBV_WR_SEND, IBV_QP_EX_WITH_SEND); };
    qp.wr_send_imm = [](ibv_qp_ex* q, __be32 immediate) {
        begin(q, IBV_WR_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM).imm_data = immediate;
    };
    qp.wr_send_inv = [](ibv_qp_ex* q, uint32_t rkey) {
        begin(q, IBV_WR_SEND_WITH_INV, IBV_QP_EX_WITH_SEND_WITH_INV).invalidate_rkey = rkey;
    };
    qp.wr_local_inv = [](ibv_qp_ex* q, uint32_t rkey) {
        begin(q, IBV_WR_LOCAL_INV, IBV_QP_EX_WITH_LOCAL_INV).invalidate_rkey = rkey;
    };
    qp.wr_bind_mw = [](ibv_qp_ex* q, ibv_mw* mw, uint32_t rkey, const ibv_mw_bind_info* info) {
        begin(q, IBV_WR_BIND_MW, IBV_QP_EX_WITH_BIND_MW).bind_mw = {mw, rkey, *info};
    };
    qp.wr_send_tso = [](ibv_qp_ex* q, void*, uint16_t, uint16_t) {
        qp_of(q).pending_error = EOPNOTSUPP;
    };
}

void set_setters(ibv_qp_ex& qp) {
    qp.wr_set_ud_addr = [](ibv_qp_ex* q, ibv_ah* ah, uint32_t qpn, uint32_t qkey) {
        if (PendingWork* work = last(q)) work->request.wr.ud = {ah, qpn, qkey};
    };
    qp.wr_set_xrc_srqn = [](ibv_qp_ex* q, uint32_t number) {
        if (PendingWork* work = last(q)) work->request.qp_type.xrc.remote_srqn = number;
    };
    qp.wr_set_inline_data = [](ibv_qp_ex* q, void* address, size_t length) {
        const ibv_data_buf buffer{address, length};
        set_inline(q, 1, &buffer);
    };
    qp.wr_set_inline_data_list = set_inline;
    qp.wr_set_sge = [](ibv_qp_ex* q, uint32_t lkey, uint64_t address, uint32_t length) {
        const ibv_sge sge{address, length, lkey};
        set_sges(q, 1, &sge);
    };
    qp.wr_set_sge_list = set_sges;
    qp.wr_start = start;
    qp.wr_complete = complete;
    qp.wr_abort = start;
}

}  // namespace

bool offers_builders(uint64_t wanted) {
    return (wanted & ~kOffered) == 0;
}

void set_builders(QueuePair& qp, uint64_t wanted) {
    qp.has_builders = true;
    qp.builders = wanted;
    set_operations(qp.shown);
    set_setters(qp.shown);
    qp.wr_flush = flush;
    guard_builders(qp);
}

}  // namespace tulle::verbs
