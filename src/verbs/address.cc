// Address handles and multicast groups.
#include <endian.h>

#include <cstring>

#include "verbs/queue_pair.h"

namespace tulle::verbs {
namespace {

wire::Gid gid_of(const ibv_gid& gid) {
    wire::Gid found;
    std::memcpy(found.bytes.data(), gid.raw, sizeof gid.raw);
    return found;
}

bool is_multicast(const ibv_gid& gid) {
    return live::is_multicast(gid_of(gid));
}

// The IPv4 header of RoCE v2 is in the last twenty of the forty bytes (annex A17.4.5.1).
bool is_ipv4_header(const unsigned char* grh) {
    return grh[20] == 0x45 && grh[0] == 0;
}

ibv_gid ipv4_gid(const unsigned char* address) {
    ibv_gid gid{};
    gid.raw[10] = gid.raw[11] = 0xff;
    std::memcpy(gid.raw + 12, address, 4);
    return gid;
}

int sgid_index_of(live::SoftwareAdapter& host, uint8_t port, const ibv_gid& gid) {
    if (!host.identity().has_port(port)) return -1;
    const auto& gids = host.identity().gids_of(port);
    for (size_t i = gids.size(); i-- > 0;)  // RoCE v2 comes after v1
        if (std::memcmp(gids[i].bytes.data(), gid.raw, sizeof gid.raw) == 0)
            return static_cast<int>(i);
    return -1;
}

}  // namespace

int destination_of(live::SoftwareAdapter& host, const ibv_ah_attr& a, live::Destination& found) {
    const live::Identity& who = host.identity();
    if (!who.has_port(a.port_num)) return EINVAL;
    if (who.is_ethernet && a.is_global == 0) return EINVAL;
    const auto& gids = who.gids_of(a.port_num);
    if (a.is_global != 0 && a.grh.sgid_index >= gids.size()) return EINVAL;
    found.has_gid = a.is_global != 0;
    found.gid = gid_of(a.grh.dgid);
    found.lid = wire::Lid{a.dlid};
    found.own_gid = a.grh.sgid_index;
    return 0;
}

}  // namespace tulle::verbs

using namespace tulle;
using namespace tulle::verbs;

TULLE_EXPORT ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
    auto handle = std::make_unique<AddressHandle>();
    live::SoftwareAdapter& host = host_of(pd->context);
    const std::lock_guard guard(host.lock());
    if (const int error = destination_of(host, *attributes, handle->destination))
        return fail(error);
    handle->shown = {pd->context, pd, 0};
    handle->attributes = *attributes;
    handle->is_multicast = attributes->is_global != 0 && is_multicast(attributes->grh.dgid);
    if (handle->is_multicast) {
        const auto& own = host.identity().gids_of(attributes->port_num);
        host.world().groups().speak_from(handle->destination.gid, own[attributes->grh.sgid_index]);
        host.world().meet_all();
    }
    return &handle.release()->shown;
}

TULLE_EXPORT int ibv_destroy_ah(ibv_ah* handle) {
    delete &object_of<AddressHandle>(handle);
    return 0;
}

TULLE_EXPORT int ibv_init_ah_from_wc(ibv_context* context, uint8_t port, ibv_wc* completion,
                                     ibv_grh* grh, ibv_ah_attr* attributes) {
    *attributes = {};
    attributes->dlid = completion->slid;
    attributes->sl = completion->sl;
    attributes->src_path_bits = completion->dlid_path_bits;
    attributes->port_num = port;
    if ((completion->wc_flags & IBV_WC_GRH) == 0) return 0;
    const auto* bytes = reinterpret_cast<const unsigned char*>(grh);
    const bool is_ipv4 = is_ipv4_header(bytes);
    const ibv_gid source = is_ipv4 ? ipv4_gid(bytes + 32) : grh->sgid;
    const ibv_gid own = is_ipv4 ? ipv4_gid(bytes + 36) : grh->dgid;
    attributes->is_global = 1;
    attributes->grh.dgid = source;
    const int index = sgid_index_of(host_of(context), port, own);
    if (index < 0) {
        errno = EINVAL;
        return -1;
    }
    attributes->grh.sgid_index = static_cast<uint8_t>(index);
    attributes->grh.hop_limit = 64;
    if (!is_ipv4) {
        const uint32_t word = be32toh(grh->version_tclass_flow);
        attributes->grh.flow_label = word & 0xf'ffff;
        attributes->grh.traffic_class = static_cast<uint8_t>(word >> 20);
    }
    return 0;
}

TULLE_EXPORT ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* completion, ibv_grh* grh,
                                           uint8_t port) {
    ibv_ah_attr attributes{};
    if (ibv_init_ah_from_wc(pd->context, port, completion, grh, &attributes) != 0) return nullptr;
    return ibv_create_ah(pd, &attributes);
}

TULLE_EXPORT int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr* attributes, uint8_t* mac,
                                             uint16_t* vlan) {
    // The last bytes of an address are also those of its port's MAC.
    const uint8_t* end = attributes->grh.dgid.raw + 13;
    const uint8_t made[] = {0, 0x54, 0x4c, end[0], end[1], end[2]};
    std::memcpy(mac, made, sizeof made);
    if (vlan != nullptr) *vlan = 0xffff;
    return 0;
}

TULLE_EXPORT int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t) {
    if (qp->qp_type != IBV_QPT_UD || !is_multicast(*gid)) return EINVAL;
    live::SoftwareAdapter& host = host_of(qp->context);
    const std::lock_guard guard(host.lock());
    return errno_of(host.attach_multicast(qp_of(qp).qpn, gid_of(*gid)));
}

TULLE_EXPORT int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t) {
    if (qp->qp_type != IBV_QPT_UD) return EINVAL;
    live::SoftwareAdapter& host = host_of(qp->context);
    const std::lock_guard guard(host.lock());
    return errno_of(host.detach_multicast(qp_of(qp).qpn, gid_of(*gid)));
}
