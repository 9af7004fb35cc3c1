// Multicast groups of ids.
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "verbs/rdmacm/connect.h"
#include "verbs/rdmacm/manager.h"

namespace tulle::verbs {
namespace {

bool is_on_ethernet(ibv_context* context) {
    ibv_port_attr port{};
    verbs_get_ctx(context)->query_port(context, 1, &port, sizeof port);
    return port.link_layer == IBV_LINK_LAYER_ETHERNET;
}

// The group's GID. On Ethernet (RoCE v2) it is the address of the group, as in the kernel
// (drivers/infiniband/core/cma.c, cma_iboe_set_mgid). On InfiniBand an IPv4 group is mapped as in
// IP over InfiniBand (RFC 4391): the low 28 bits after a fixed prefix.
bool group_of(const sockaddr* address, bool is_ethernet, ibv_gid& gid) {
    gid = {};
    if (address->sa_family == AF_INET6) {
        const auto& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
        std::memcpy(gid.raw, &six, sizeof gid.raw);
        return gid.raw[0] == 0xff;
    }
    if (address->sa_family != AF_INET) return false;
    const uint32_t four = ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr);
    if (!IN_MULTICAST(four)) return false;
    if (is_ethernet) {
        const wire::Gid mapped = wire::gid_of(
            wire::Ipv4Address{{static_cast<uint8_t>(four >> 24), static_cast<uint8_t>(four >> 16),
                               static_cast<uint8_t>(four >> 8), static_cast<uint8_t>(four)}});
        std::memcpy(gid.raw, mapped.bytes.data(), sizeof gid.raw);
        return true;
    }
    constexpr uint8_t kPrefix[] = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff};
    std::memcpy(gid.raw, kPrefix, sizeof kPrefix);
    const uint32_t low = htonl(four & 0x0fff'ffff);
    std::memcpy(gid.raw + 12, &low, sizeof low);
    return true;
}

}  // namespace

void join_group(Id& id, CmEventBox& box) {
    for (Multicast& group : id.groups) {
        const bool is_this = std::memcmp(group.group.raw, box.shown.param.ud.ah_attr.grh.dgid.raw,
                                         sizeof group.group.raw) == 0;
        if (!is_this || group.is_attached || id.shown.qp == nullptr) continue;
        const int error = ibv_attach_mcast(id.shown.qp, &group.group, 0);
        group.is_attached = error == 0;
        if (error == 0) continue;
        box.shown.event = RDMA_CM_EVENT_MULTICAST_ERROR;
        box.shown.status = -error;
    }
}

}  // namespace tulle::verbs

using namespace tulle;
using namespace tulle::verbs;

TULLE_EXPORT int rdma_join_multicast(rdma_cm_id* shown, sockaddr* address, void* context) {
    Id& id = id_of(shown);
    Multicast group;
    if (shown->verbs == nullptr || !group_of(address, is_on_ethernet(shown->verbs), group.group))
        return refuse_call(EINVAL);
    std::memcpy(&group.address, address,
                address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    ibv_port_attr port{};
    verbs_get_ctx(shown->verbs)->query_port(shown->verbs, shown->port_num, &port, sizeof port);
    {
        Manager& manager = Manager::of(id);
        const Manager::Guard guard(manager);
        const wire::Gid source = address_gid(shown->route.addr.src_storage);
        manager.bridge().speak_to_group_from(shown->verbs, group.group.raw, source.bytes.data());
        id.groups.push_back(group);
        CmEventBox& box = manager.events().tell(id, RDMA_CM_EVENT_MULTICAST_JOIN);
        rdma_ud_param& shown_param = box.shown.param.ud;
        // The join that it answers, as the interface requires.
        shown_param.private_data = context;
        shown_param.ah_attr.is_global = 1;
        shown_param.ah_attr.port_num = shown->port_num;
        shown_param.ah_attr.grh.dgid = group.group;
        shown_param.ah_attr.grh.hop_limit = 64;
        const int own = own_gid_index(id, port.gid_tbl_len);
        shown_param.ah_attr.grh.sgid_index = static_cast<uint8_t>(own);
        shown_param.qp_num = 0xff'ffff;
        shown_param.qkey = RDMA_UDP_QKEY;
    }
    return wait_if_synchronous(id);
}

TULLE_EXPORT int rdma_join_multicast_ex(rdma_cm_id* shown, rdma_cm_join_mc_attr_ex* attributes,
                                        void* context) {
    constexpr uint32_t kNeeded = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    if (attributes->comp_mask != kNeeded) return refuse_call(EINVAL);
    if (attributes->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) return refuse_call(EINVAL);
    return rdma_join_multicast(shown, attributes->addr, context);
}

TULLE_EXPORT int rdma_leave_multicast(rdma_cm_id* shown, sockaddr* address) {
    Id& id = id_of(shown);
    ibv_gid gid{};
    if (shown->verbs == nullptr || !group_of(address, is_on_ethernet(shown->verbs), gid))
        return refuse_call(EINVAL);
    const auto found = std::ranges::find_if(id.groups, [&](const Multicast& group) {
        return std::memcmp(group.group.raw, gid.raw, sizeof gid.raw) == 0;
    });
    if (found == id.groups.end()) return refuse_call(EADDRNOTAVAIL);
    if (found->is_attached && shown->qp != nullptr) ibv_detach_mcast(shown->qp, &found->group, 0);
    const Manager::Guard guard(Manager::of(id));
    id.groups.erase(found);
    return 0;
}
