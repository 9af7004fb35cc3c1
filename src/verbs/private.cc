// Names that provider libraries want when they are loaded, and nothing ever calls: there is no
// kernel device for them to drive. perftest, UCX and libfabric load libmlx5 and libefa whatever
// device they find. Also entry points of old that this device does not offer.
#include "verbs/api.h"
#include "verbs/unsupported.h"

#define TULLE_REFUSED(name)                      \
    TULLE_EXPORT int tulle_##name() {            \
        return tulle::verbs::unsupported<int>(); \
    }                                            \
    TULLE_PRIVATE(name);
#define TULLE_REFUSED_POINTER(name)                \
    TULLE_EXPORT void* tulle_##name() {            \
        return tulle::verbs::unsupported<void*>(); \
    }                                              \
    TULLE_PRIVATE(name);
#define TULLE_IGNORED(name)             \
    TULLE_EXPORT void tulle_##name() {} \
    TULLE_PRIVATE(name);
// A name of old that is public, and does nothing.
#define TULLE_OLD(name) \
    TULLE_EXPORT void name() {}

TULLE_REFUSED(__ioctl_final_num_attrs)
TULLE_REFUSED(execute_ioctl)
TULLE_REFUSED(ibv_cmd_advise_mr)
TULLE_REFUSED(ibv_cmd_alloc_dm)
TULLE_REFUSED(ibv_cmd_alloc_dmah)
TULLE_REFUSED(ibv_cmd_alloc_mw)
TULLE_REFUSED(ibv_cmd_alloc_pd)
TULLE_REFUSED(ibv_cmd_attach_mcast)
TULLE_REFUSED(ibv_cmd_close_xrcd)
TULLE_REFUSED(ibv_cmd_create_ah)
TULLE_REFUSED(ibv_cmd_create_comp_cntr)
TULLE_REFUSED(ibv_cmd_create_counters)
TULLE_REFUSED(ibv_cmd_create_cq)
TULLE_REFUSED(ibv_cmd_create_cq_ex)
TULLE_REFUSED(ibv_cmd_create_cq_ex2)
TULLE_REFUSED(ibv_cmd_create_flow)
TULLE_REFUSED(ibv_cmd_create_flow_action_esp)
TULLE_REFUSED(ibv_cmd_create_qp)
TULLE_REFUSED(ibv_cmd_create_qp_ex)
TULLE_REFUSED(ibv_cmd_create_qp_ex2)
TULLE_REFUSED(ibv_cmd_create_rwq_ind_table)
TULLE_REFUSED(ibv_cmd_create_srq)
TULLE_REFUSED(ibv_cmd_create_srq_ex)
TULLE_REFUSED(ibv_cmd_create_wq)
TULLE_REFUSED(ibv_cmd_dealloc_mw)
TULLE_REFUSED(ibv_cmd_dealloc_pd)
TULLE_REFUSED(ibv_cmd_dereg_mr)
TULLE_REFUSED(ibv_cmd_destroy_ah)
TULLE_REFUSED(ibv_cmd_destroy_comp_cntr)
TULLE_REFUSED(ibv_cmd_destroy_counters)
TULLE_REFUSED(ibv_cmd_destroy_cq)
TULLE_REFUSED(ibv_cmd_destroy_flow)
TULLE_REFUSED(ibv_cmd_destroy_flow_action)
TULLE_REFUSED(ibv_cmd_destroy_qp)
TULLE_REFUSED(ibv_cmd_destroy_rwq_ind_table)
TULLE_REFUSED(ibv_cmd_destroy_srq)
TULLE_REFUSED(ibv_cmd_destroy_wq)
TULLE_REFUSED(ibv_cmd_detach_mcast)
TULLE_REFUSED(ibv_cmd_export_dmabuf_fd)
TULLE_REFUSED(ibv_cmd_free_dm)
TULLE_REFUSED(ibv_cmd_free_dmah)
TULLE_REFUSED(ibv_cmd_get_context)
TULLE_REFUSED(ibv_cmd_inc_comp_cntr)
TULLE_REFUSED(ibv_cmd_inc_err_comp_cntr)
TULLE_REFUSED(ibv_cmd_modify_cq)
TULLE_REFUSED(ibv_cmd_modify_flow_action_esp)
TULLE_REFUSED(ibv_cmd_modify_qp)
TULLE_REFUSED(ibv_cmd_modify_qp_ex)
TULLE_REFUSED(ibv_cmd_modify_srq)
TULLE_REFUSED(ibv_cmd_modify_wq)
TULLE_REFUSED(ibv_cmd_open_qp)
TULLE_REFUSED(ibv_cmd_open_xrcd)
TULLE_REFUSED(ibv_cmd_poll_cq)
TULLE_REFUSED(ibv_cmd_post_recv)
TULLE_REFUSED(ibv_cmd_post_send)
TULLE_REFUSED(ibv_cmd_post_srq_recv)
TULLE_REFUSED(ibv_cmd_qp_attach_comp_cntr)
TULLE_REFUSED(ibv_cmd_query_comp_cntr_caps)
TULLE_REFUSED(ibv_cmd_query_context)
TULLE_REFUSED(ibv_cmd_query_device_any)
TULLE_REFUSED(ibv_cmd_query_mr)
TULLE_REFUSED(ibv_cmd_query_port)
TULLE_REFUSED(ibv_cmd_query_port_speed)
TULLE_REFUSED(ibv_cmd_query_qp)
TULLE_REFUSED(ibv_cmd_query_srq)
TULLE_REFUSED(ibv_cmd_read_comp_cntr)
TULLE_REFUSED(ibv_cmd_read_counters)
TULLE_REFUSED(ibv_cmd_read_err_comp_cntr)
TULLE_REFUSED(ibv_cmd_reg_dm_mr)
TULLE_REFUSED(ibv_cmd_reg_dmabuf_mr)
TULLE_REFUSED(ibv_cmd_reg_mr)
TULLE_REFUSED(ibv_cmd_reg_mr_ex)
TULLE_REFUSED(ibv_cmd_req_notify_cq)
TULLE_REFUSED(ibv_cmd_rereg_mr)
TULLE_REFUSED(ibv_cmd_resize_cq)
TULLE_REFUSED(ibv_cmd_set_comp_cntr)
TULLE_REFUSED(ibv_cmd_set_err_comp_cntr)
TULLE_REFUSED(ibv_read_ibdev_sysfs_file)
TULLE_REFUSED_POINTER(_verbs_init_and_alloc_context)
TULLE_REFUSED_POINTER(ibv_dmabuf_heap_alloc)
TULLE_REFUSED_POINTER(ibv_dmabuf_heap_cc_shared_init)
TULLE_REFUSED_POINTER(ibv_wr_opcode_str)
TULLE_IGNORED(__verbs_log)
TULLE_IGNORED(ibv_dmabuf_heap_destroy)
TULLE_IGNORED(ibv_dmabuf_heap_free)
TULLE_IGNORED(verbs_init_cq)
TULLE_IGNORED(verbs_set_ops)
TULLE_IGNORED(verbs_uninit_context)
TULLE_OLD(ibv_copy_path_rec_from_kern)
TULLE_OLD(ibv_copy_path_rec_to_kern)
TULLE_OLD(ibv_copy_qp_attr_from_kern)
TULLE_OLD(ibv_copy_ah_attr_from_kern)
TULLE_OLD(ibv_register_driver)

// Each release has a name of its own for this one.
TULLE_OLD(verbs_register_driver_34)
TULLE_OLD(verbs_register_driver_57)
TULLE_OLD(verbs_register_driver_59)
TULLE_OLD(verbs_register_driver_64)
TULLE_OLD(verbs_register_driver_65)

// A datum, not a function.
TULLE_EXPORT bool tulle_verbs_allow_disassociate_destroy;
bool tulle_verbs_allow_disassociate_destroy = false;
TULLE_PRIVATE(verbs_allow_disassociate_destroy);

// There is no memory of the device to hand on.
TULLE_EXPORT ibv_dm* ibv_import_dm(ibv_context*, uint32_t) {
    return tulle::verbs::unsupported<ibv_dm*>();
}
TULLE_EXPORT void ibv_unimport_dm(ibv_dm*) {}
