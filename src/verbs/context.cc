// What a context can do: the two tables that programs call through. No entry is empty.
#include "verbs/completion.h"
#include "verbs/device.h"
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
    ops.alloc_mw = alloc_mw;
    ops.bind_mw = bind_mw;
    ops.dealloc_mw = dealloc_mw;
    ops.poll_cq = poll_cq;
    ops.req_notify_cq = req_notify_cq;
    ops.post_srq_recv = post_srq_recv;
    ops.post_send = post_send;
    ops.post_recv = post_recv;
}

}  // namespace

void fill_operations(verbs_context& verbs) {
    verbs.sz = sizeof verbs;
    fill_old(verbs.context.ops);
    verbs.query_port = query_port;
    verbs.advise_mr = advise_mr;
    verbs.alloc_parent_domain = alloc_parent_domain;
    verbs.alloc_td = alloc_td;
    verbs.dealloc_td = dealloc_td;
    verbs.modify_cq = modify_cq;
    verbs.query_rt_values = query_rt_values;
    verbs.create_cq_ex = create_cq_ex;
    verbs.query_device_ex = query_device_ex;
    verbs.create_qp_ex = create_qp_ex;
    verbs.open_qp = open_qp;
    verbs.get_srq_num = get_srq_num;
    verbs.create_srq_ex = create_srq_ex;
    verbs.open_xrcd = open_xrcd;
    verbs.close_xrcd = close_xrcd;
    verbs.alloc_null_mr = alloc_null_mr;
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
