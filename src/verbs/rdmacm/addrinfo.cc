// What a name stands for: told at once, or by an event.
#include <netdb.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "verbs/rdmacm/manager.h"
#include "verbs/rdmacm/newer.h"

namespace tulle::verbs {
namespace {

// Names of rdma-core since release 58.
constexpr auto kInformationResolved = static_cast<rdma_cm_event_type>(16);
constexpr auto kUserEvent = static_cast<rdma_cm_event_type>(18);
constexpr int kAskSubnet = 0x10;  // RAI_SA
constexpr int kAskNames = 0x20;   // RAI_DNS

// An address that the caller knows already, where looking up gave none.
void take_hint(const sockaddr* hint, socklen_t length, sockaddr*& address, socklen_t& size) {
    if (hint == nullptr || length == 0 || address != nullptr) return;
    size = std::min<socklen_t>(length, sizeof(sockaddr_storage));
    address = static_cast<sockaddr*>(std::calloc(1, sizeof(sockaddr_storage)));
    if (address != nullptr) std::memcpy(address, hint, size);
}

}  // namespace
}  // namespace tulle::verbs

using namespace tulle;
using namespace tulle::verbs;

TULLE_EXPORT int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                                  rdma_addrinfo** result) {
    if (node == nullptr && service == nullptr && hints == nullptr) return refuse_call(EINVAL);
    const int flags = hints != nullptr ? hints->ai_flags : 0;
    auto answer = std::make_unique<rdma_addrinfo>();
    answer->ai_flags = flags;
    answer->ai_qp_type =
        hints != nullptr && hints->ai_qp_type != 0 ? hints->ai_qp_type : int{IBV_QPT_RC};
    const int space = hints != nullptr ? hints->ai_port_space : 0;
    answer->ai_port_space =
        space != 0 ? space : int{answer->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP};
    addrinfo wish{};
    wish.ai_flags = ((flags & RAI_PASSIVE) != 0 ? AI_PASSIVE : 0) |
                    ((flags & RAI_NUMERICHOST) != 0 ? AI_NUMERICHOST : 0);
    wish.ai_family = (flags & RAI_FAMILY) != 0 && hints != nullptr ? hints->ai_family : AF_UNSPEC;
    wish.ai_socktype = answer->ai_port_space == RDMA_PS_UDP ? SOCK_DGRAM : SOCK_STREAM;
    addrinfo* found = nullptr;
    if (node != nullptr || service != nullptr) {
        const int error = getaddrinfo(node, service, &wish, &found);
        if (error != 0) return error == EAI_SYSTEM ? -1 : error;
        auto* copy = static_cast<sockaddr*>(std::calloc(1, sizeof(sockaddr_storage)));
        std::memcpy(copy, found->ai_addr, found->ai_addrlen);
        answer->ai_family = found->ai_family;
        const bool is_source = (flags & RAI_PASSIVE) != 0;
        (is_source ? answer->ai_src_addr : answer->ai_dst_addr) = copy;
        (is_source ? answer->ai_src_len : answer->ai_dst_len) = found->ai_addrlen;
        freeaddrinfo(found);
    }
    if (hints != nullptr) {
        take_hint(hints->ai_src_addr, hints->ai_src_len, answer->ai_src_addr, answer->ai_src_len);
        take_hint(hints->ai_dst_addr, hints->ai_dst_len, answer->ai_dst_addr, answer->ai_dst_len);
    }
    const sockaddr* given =
        answer->ai_dst_addr != nullptr ? answer->ai_dst_addr : answer->ai_src_addr;
    if (given != nullptr) answer->ai_family = given->sa_family;
    *result = answer.release();
    return 0;
}

TULLE_EXPORT void rdma_freeaddrinfo(rdma_addrinfo* list) {
    while (list != nullptr) {
        rdma_addrinfo* next = list->ai_next;
        std::free(list->ai_src_addr);
        std::free(list->ai_dst_addr);
        delete list;
        list = next;
    }
}

// The subnet administration has no names of services here.
TULLE_EXPORT int rdma_resolve_addrinfo(rdma_cm_id* shown, const char* node, const char* service,
                                       const rdma_addrinfo* hints) {
    if (shown == nullptr) return refuse_call(EINVAL);
    if (hints != nullptr && (hints->ai_flags & kAskSubnet) != 0) return refuse_call(EOPNOTSUPP);
    Id& id = id_of(shown);
    Manager& manager = Manager::of(id);
    if (id.is_asking.exchange(true)) return refuse_call(EBUSY);
    rdma_addrinfo wish{};
    if (hints != nullptr) wish = *hints;
    wish.ai_flags &= ~kAskNames;
    rdma_addrinfo* found = nullptr;
    if (const int error =
            rdma_getaddrinfo(node, service, hints != nullptr ? &wish : nullptr, &found)) {
        id.is_asking = false;
        return error;
    }
    {
        const Manager::Guard guard(manager);
        id.information = found;
        manager.events().tell(id, kInformationResolved);
    }
    return wait_if_synchronous(id);
}

// Once: it is the program's from then on.
TULLE_EXPORT int rdma_query_addrinfo(rdma_cm_id* shown, rdma_addrinfo** information) {
    if (shown == nullptr || information == nullptr) return refuse_call(EINVAL);
    Id& id = id_of(shown);
    const Manager::Guard guard(Manager::of(id));
    if (id.information == nullptr) return refuse_call(ENOENT);
    *information = std::exchange(id.information, nullptr);
    id.is_asking = false;
    return 0;
}

// An event of the program's own.
TULLE_EXPORT int rdma_write_cm_event(rdma_cm_id* shown, rdma_cm_event_type type, int status,
                                     uint64_t argument) {
    if (shown == nullptr || type != kUserEvent) return refuse_call(EINVAL);
    Id& id = id_of(shown);
    Manager& manager = Manager::of(id);
    const Manager::Guard guard(manager);
    CmEventBox& box = manager.events().tell(id, type, status);
    std::memcpy(&box.shown.param, &argument, sizeof argument);
    return 0;
}
