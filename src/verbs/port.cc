// Attributes of the device and its ports.
#include <endian.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

#include "verbs/device.h"
#include "verbs/objects.h"

namespace tulle::verbs {
namespace {

constexpr uint32_t kVendorId = 0x54'4c'4c;
constexpr uint32_t kVendorPart = 1;
constexpr uint32_t kLoopbackInterface = 1;  // `lo` has this number in every network namespace

const live::Identity& identity_of(ibv_context* context) {
    return *context_of(context).identity;
}

uint32_t gid_type(const live::Identity& who, uint32_t index) {
    if (!who.is_ethernet) return IBV_GID_TYPE_IB;
    return index % 2 == 0 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
}

void describe(const live::Identity& who, uint32_t port, uint32_t index, ibv_gid_entry& entry) {
    const wire::Gid& gid = who.gids_of(port)[index];
    std::memcpy(entry.gid.raw, gid.bytes.data(), sizeof entry.gid.raw);
    entry.gid_index = index;
    entry.port_num = port;
    entry.gid_type = gid_type(who, index);
    entry.ndev_ifindex = who.is_ethernet ? kLoopbackInterface : 0;
    for (const live::UdpAddress& address : who.listens)
        if (address.gid == gid) entry.ndev_ifindex = address.interface_number;
}

ibv_mtu mtu_of(const live::Identity& who) {
    int mtu = IBV_MTU_256;
    while (mtu < IBV_MTU_4096 && 128u << (mtu + 1) <= who.path_mtu) ++mtu;
    return static_cast<ibv_mtu>(mtu);
}

}  // namespace

int query_device(ibv_context* context, ibv_device_attr* attributes) {
    ibv_device_attr a{};
    const live::Identity& who = identity_of(context);
    std::strncpy(a.fw_ver, "0.1.0", sizeof a.fw_ver - 1);
    a.node_guid = a.sys_image_guid = htobe64(who.guid.value);
    a.max_mr_size = UINT64_MAX;
    a.page_size_cap = ~uint64_t{0xfff};
    a.vendor_id = kVendorId;
    a.vendor_part_id = kVendorPart;
    a.hw_ver = 1;
    a.max_qp = kMaxQueuePairs;
    a.max_qp_wr = kMaxWork;
    a.device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE |
                         IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
                         IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_BAD_PKEY_CNTR |
                         IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_MEM_WINDOW |
                         IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_XRC;
    a.max_sge = a.max_sge_rd = kMaxSges;
    a.max_cq = 1 << 16;
    a.max_cqe = kMaxCqe;
    a.max_mr = a.max_mw = 1 << 22;
    a.max_pd = 1 << 16;
    a.max_qp_rd_atom = a.max_qp_init_rd_atom = kMaxReads;
    a.max_res_rd_atom = kMaxReads * kMaxQueuePairs;
    a.atomic_cap = IBV_ATOMIC_HCA;
    a.max_mcast_grp = 1 << 10;
    a.max_mcast_qp_attach = 1 << 8;
    a.max_total_mcast_qp_attach = a.max_mcast_grp * a.max_mcast_qp_attach;
    a.max_ah = 1 << 20;
    a.max_srq = 1 << 14;
    a.max_srq_wr = kMaxSharedWork;
    a.max_srq_sge = kMaxSges;
    a.max_pkeys = 1;
    a.local_ca_ack_delay = 15;
    a.phys_port_cnt = static_cast<uint8_t>(who.port_count());
    *attributes = a;
    return 0;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, size_t size) {
    if (input != nullptr && input->comp_mask != 0) return EINVAL;
    if (size < sizeof attributes->orig_attr + sizeof attributes->comp_mask) return EINVAL;
    ibv_device_attr_ex a{};
    query_device(context, &a.orig_attr);
    // Pages are mapped on access, as the program's own are.
    constexpr uint32_t kNewer = 3 << 6;  // FLUSH and ATOMIC WRITE, named after release 44
    constexpr uint64_t kFlushAndAtomicWrite = uint64_t{7} << 38;
    constexpr uint32_t kAll = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
                              IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC |
                              IBV_ODP_SUPPORT_SRQ_RECV;
    a.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
    constexpr uint32_t kMessages =
        IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
    a.odp_caps.per_transport_caps = {kAll | kNewer, kMessages | IBV_ODP_SUPPORT_WRITE, kMessages};
    a.completion_timestamp_mask = UINT64_MAX;
    a.hca_core_clock = 1'000'000;  // in kHz: nanoseconds
    a.device_cap_flags_ex = a.orig_attr.device_cap_flags | kFlushAndAtomicWrite;
    a.xrc_odp_caps = kAll;
    a.phys_port_cnt_ex = a.orig_attr.phys_port_cnt;
    std::memset(static_cast<void*>(attributes), 0, size);
    std::memcpy(static_cast<void*>(attributes), &a, std::min(size, sizeof a));
    return 0;
}

int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t size) {
    const live::Identity& who = identity_of(context);
    if (!who.has_port(port)) return EINVAL;
    ibv_port_attr a{};
    a.state = IBV_PORT_ACTIVE;
    a.max_mtu = IBV_MTU_4096;
    a.active_mtu = mtu_of(who);
    a.gid_tbl_len = static_cast<int>(who.gids_of(port).size());
    a.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
    a.max_msg_sz = 1u << 31;
    a.pkey_tbl_len = 1;
    a.lid = who.lid_of(port).value;
    a.sm_lid = who.is_ethernet ? 0 : 1;
    a.max_vl_num = 4;
    a.subnet_timeout = 18;
    a.active_width = 2;   // 4x
    a.active_speed = 32;  // EDR
    a.phys_state = 5;     // LinkUp
    a.link_layer = who.is_ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
    a.flags = who.is_ethernet ? IBV_QPF_GRH_REQUIRED : 0;
    std::memset(static_cast<void*>(attributes), 0, size);
    std::memcpy(static_cast<void*>(attributes), &a, std::min(size, sizeof a));
    return 0;
}

}  // namespace tulle::verbs

using namespace tulle::verbs;

TULLE_EXPORT int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
    return query_device(context, attributes);
}

// The structure of this entry point ends before later members; programs that know them call through
// the context.
TULLE_EXPORT int ibv_query_port(ibv_context* context, uint8_t port,
                                _compat_ibv_port_attr* attributes) {
    return query_port(context, port, reinterpret_cast<ibv_port_attr*>(attributes),
                      offsetof(ibv_port_attr, port_cap_flags2));
}

TULLE_EXPORT int ibv_query_gid(ibv_context* context, uint8_t port, int index, ibv_gid* gid) {
    const auto& who = identity_of(context);
    const auto place = static_cast<size_t>(index);
    if (!who.has_port(port) || index < 0 || place >= who.gids_of(port).size()) {
        errno = EINVAL;
        return -1;
    }
    std::memcpy(gid->raw, who.gids_of(port)[place].bytes.data(), sizeof gid->raw);
    return 0;
}

TULLE_EXPORT int _ibv_query_gid_ex(ibv_context* context, uint32_t port, uint32_t index,
                                   ibv_gid_entry* entry, uint32_t flags, size_t size) {
    const auto& who = identity_of(context);
    if (flags != 0 || !who.has_port(port) || size < sizeof *entry) return EINVAL;
    if (index >= who.gids_of(port).size()) return EINVAL;
    describe(who, port, index, *entry);
    return 0;
}

TULLE_EXPORT ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t most,
                                          uint32_t flags, size_t size) {
    const auto& who = identity_of(context);
    if (flags != 0 || size < sizeof *entries) return -EINVAL;
    size_t count = 0;
    for (uint32_t port = 1; port <= who.port_count(); ++port)
        for (uint32_t i = 0; i < who.gids_of(port).size(); ++i, ++count) {
            if (count == most) return -EINVAL;
            auto* entry = reinterpret_cast<char*>(entries) + count * size;
            describe(who, port, i, *reinterpret_cast<ibv_gid_entry*>(entry));
        }
    return static_cast<ssize_t>(count);
}

// For ibv_devinfo and pyverbs: 0 stands for InfiniBand and RoCE v1, 1 for RoCE v2.
TULLE_EXPORT int tulle_ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned int index,
                                          unsigned int* type) {
    const auto& who = identity_of(context);
    if (!who.has_port(port) || index >= who.gids_of(port).size()) {
        errno = EINVAL;
        return -1;
    }
    *type = gid_type(who, index) == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;
    return 0;
}
TULLE_PRIVATE(ibv_query_gid_type);

TULLE_EXPORT int ibv_query_pkey(ibv_context* context, uint8_t port, int index, __be16* pkey) {
    if (!identity_of(context).has_port(port) || index != 0) {
        errno = EINVAL;
        return -1;
    }
    *pkey = htobe16(0xffff);
    return 0;
}

TULLE_EXPORT int ibv_get_pkey_index(ibv_context* context, uint8_t port, __be16 pkey) {
    const bool is_default = (be16toh(pkey) & 0x7fff) == 0x7fff;
    if (identity_of(context).has_port(port) && is_default) return 0;
    errno = EINVAL;
    return -1;
}
