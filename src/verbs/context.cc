// The two tables of operations that programs call through. No entry is empty.
#include "verbs/completion.h"
#include "verbs/device.h"
#include "verbs/guard.h"
#include "verbs/memory.h"
#include "verbs/queue_pair.h"
#include "verbs/shared_receive.h"
#include "verbs/unsupported.h"

namespace tulle::verbs {
namespace {

void fill_old(ibv_context_ops& ops) {
    ops._compat_query_device = [](ibv_context* context, ibv_device_attr* attributes) {
        return query_device(context, attributes);
    };
    ops._compat_query_port = [](ibv_context* context, uint8_t port, _compat_ibv_port_attr* a) {
        return query_port(context, port, reinterpret_cast<ibv_port_attr*>(a),
                          offsetof(ibv_port_attr, port_cap_flags2));
    };
    refuse(ops._compat_alloc_pd);
    refuse(ops._compat_dealloc_pd);
    refuse(ops._compat_reg_mr);
    refuse(ops._compat_rereg_mr);
    refuse(ops._compat_dereg_mr);
    refuse(ops._compat_create_cq);
    refuse(ops._compat_cq_event);
    refuse(ops._compat_resize_cq);
    refuse(ops._compat_destroy_cq);
    refuse(ops._compat_create_srq);
    refuse(ops._compat_modify_srq);
    refuse(ops._compat_query_srq);
    refuse(ops._compat_destroy_srq);
    refuse(ops._compat_create_qp);
    refuse(ops._compat_query_qp);
    refuse(ops._compat_modify_qp);
    refuse(ops._compat_destroy_qp);
    refuse(ops._compat_create_ah);
    refuse(ops._compat_destroy_ah);
    refuse(ops._compat_attach_mcast);
    refuse(ops._compat_detach_mcast);
    refuse(ops._compat_async_event);
    ops.alloc_mw = TULLE_GUARD(alloc_mw, error_number);
    ops.bind_mw = TULLE_GUARD(bind_mw, error_number);
    ops.dealloc_mw = TULLE_GUARD(dealloc_mw, error_number);
    ops.poll_cq = TULLE_GUARD(poll_cq, negative_error);
    ops.req_notify_cq = TULLE_GUARD(req_notify_cq, error_number);
    ops.post_srq_recv = TULLE_GUARD(post_srq_recv, error_number);
    ops.post_send = TULLE_GUARD(post_send, error_number);
    ops.post_recv = TULLE_GUARD(post_recv, error_number);
}

}  // namespace

void fill_operations(verbs_context& verbs) {
    verbs.sz = sizeof verbs;
    fill_old(verbs.context.ops);
    verbs.query_port = TULLE_GUARD(query_port, error_number);
    verbs.advise_mr = TULLE_GUARD(advise_mr, error_number);
    verbs.alloc_parent_domain = TULLE_GUARD(alloc_parent_domain, error_number);
    verbs.alloc_td = TULLE_GUARD(alloc_td, error_number);
    verbs.dealloc_td = TULLE_GUARD(dealloc_td, error_number);
    verbs.modify_cq = TULLE_GUARD(modify_cq, error_number);
    verbs.query_rt_values = TULLE_GUARD(query_rt_values, error_number);
    verbs.create_cq_ex = TULLE_GUARD(create_cq_ex, error_number);
    verbs.query_device_ex = TULLE_GUARD(query_device_ex, error_number);
    verbs.create_qp_ex = TULLE_GUARD(create_qp_ex, error_number);
    verbs.open_qp = TULLE_GUARD(open_qp, error_number);
    verbs.get_srq_num = TULLE_GUARD(get_srq_num, error_number);
    verbs.create_srq_ex = TULLE_GUARD(create_srq_ex, error_number);
    verbs.open_xrcd = TULLE_GUARD(open_xrcd, error_number);
    verbs.close_xrcd = TULLE_GUARD(close_xrcd, error_number);
    verbs.alloc_null_mr = TULLE_GUARD(alloc_null_mr, error_number);
    refuse(verbs.read_counters);
    refuse(verbs.attach_counters_point_flow);
    refuse(verbs.create_counters);
    refuse(verbs.destroy_counters);
    refuse(verbs.reg_dm_mr);
    refuse(verbs.alloc_dm);
    refuse(verbs.free_dm);
    refuse(verbs.modify_flow_action_esp);
    refuse(verbs.destroy_flow_action);
    refuse(verbs.create_flow_action_esp);
    refuse(verbs.modify_qp_rate_limit);
    refuse(verbs.post_srq_ops);
    refuse(verbs.destroy_rwq_ind_table);
    refuse(verbs.create_rwq_ind_table);
    refuse(verbs.destroy_wq);
    refuse(verbs.modify_wq);
    refuse(verbs.create_wq);
    refuse(verbs.ibv_destroy_flow);
    refuse(verbs.ABI_placeholder2);
    refuse(verbs.ibv_create_flow);
    refuse(verbs.ABI_placeholder1);
}

}  // namespace tulle::verbs
