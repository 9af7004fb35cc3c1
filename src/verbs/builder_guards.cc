#include "verbs/builder_guards.h"

#include <exception>
#include <system_error>

namespace tulle::verbs {
namespace {

// All queue pairs have the same function in the same entry, so one guard per entry suffices.
template <auto Member>
struct Entry;

template <class Table, class... Arguments, void (*Table::*Member)(ibv_qp_ex*, Arguments...)>
struct Entry<Member> {
    static inline void (*inner)(ibv_qp_ex*, Arguments...) = nullptr;

    static void call(ibv_qp_ex* qp, Arguments... arguments) {
        try {
            inner(qp, arguments...);
        } catch (const std::exception&) {
            object_of<QueuePair>(qp).pending_error = ENOMEM;
        }
    }
    static void guard(Table& table) {
        inner = table.*Member;
        table.*Member = call;
    }
};

template <>
struct Entry<&ibv_qp_ex::wr_complete> {
    static inline int (*inner)(ibv_qp_ex*) = nullptr;

    static int call(ibv_qp_ex* qp) {
        try {
            return inner(qp);
        } catch (const std::system_error& error) {
            return error.code().value();
        } catch (const std::exception&) {
            return ENOMEM;
        }
    }
    static void guard(ibv_qp_ex& qp) {
        inner = qp.wr_complete;
        qp.wr_complete = call;
    }
};

template <auto... Members>
void guard_all(ibv_qp_ex& qp) {
    (Entry<Members>::guard(qp), ...);
}

}  // namespace

void guard_builders(QueuePair& queue_pair) {
    Entry<&QueuePair::wr_flush>::guard(queue_pair);
    using Qp = ibv_qp_ex;
    guard_all<&Qp::wr_atomic_cmp_swp, &Qp::wr_atomic_fetch_add, &Qp::wr_atomic_write,
              &Qp::wr_bind_mw, &Qp::wr_local_inv, &Qp::wr_rdma_read, &Qp::wr_rdma_write,
              &Qp::wr_rdma_write_imm, &Qp::wr_send, &Qp::wr_send_imm, &Qp::wr_send_inv,
              &Qp::wr_set_inline_data, &Qp::wr_set_inline_data_list, &Qp::wr_set_sge,
              &Qp::wr_set_sge_list, &Qp::wr_complete>(queue_pair.shown);
}

}  // namespace tulle::verbs
