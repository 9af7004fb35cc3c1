// Names, options, and unsupported calls.
#include <array>
#include <cstring>

#include "verbs/rdmacm/ids.h"
#include "verbs/unsupported.h"

using namespace tulle;
using namespace tulle::verbs;

TULLE_EXPORT const char* rdma_event_str(rdma_cm_event_type event) {
    static constexpr std::array kNames = {"RDMA_CM_EVENT_ADDR_RESOLVED",
                                          "RDMA_CM_EVENT_ADDR_ERROR",
                                          "RDMA_CM_EVENT_ROUTE_RESOLVED",
                                          "RDMA_CM_EVENT_ROUTE_ERROR",
                                          "RDMA_CM_EVENT_CONNECT_REQUEST",
                                          "RDMA_CM_EVENT_CONNECT_RESPONSE",
                                          "RDMA_CM_EVENT_CONNECT_ERROR",
                                          "RDMA_CM_EVENT_UNREACHABLE",
                                          "RDMA_CM_EVENT_REJECTED",
                                          "RDMA_CM_EVENT_ESTABLISHED",
                                          "RDMA_CM_EVENT_DISCONNECTED",
                                          "RDMA_CM_EVENT_DEVICE_REMOVAL",
                                          "RDMA_CM_EVENT_MULTICAST_JOIN",
                                          "RDMA_CM_EVENT_MULTICAST_ERROR",
                                          "RDMA_CM_EVENT_ADDR_CHANGE",
                                          "RDMA_CM_EVENT_TIMEWAIT_EXIT",
                                          "RDMA_CM_EVENT_ADDRINFO_RESOLVED",
                                          "RDMA_CM_EVENT_ADDRINFO_ERROR",
                                          "RDMA_CM_EVENT_USER",
                                          "RDMA_CM_EVENT_INTERNAL"};
    const auto number = static_cast<size_t>(event);
    return number < kNames.size() ? kNames[number] : "UNKNOWN EVENT";
}

TULLE_EXPORT int rdma_set_option(rdma_cm_id* shown, int level, int option, void* value,
                                 size_t length) {
    Id& id = id_of(shown);
    if (value == nullptr) return refuse_call(EINVAL);
    if (level != RDMA_OPTION_ID) return refuse_call(ENOSYS);
    uint8_t byte = 0;
    std::memcpy(&byte, value, std::min<size_t>(length, 1));
    switch (option) {
        case RDMA_OPTION_ID_TOS:
            if (length != sizeof byte) return refuse_call(EINVAL);
            id.type_of_service = byte;
            return 0;
        case RDMA_OPTION_ID_ACK_TIMEOUT:
            if (length != sizeof byte || byte > 31) return refuse_call(EINVAL);
            id.ack_timeout = byte;
            return 0;
        case RDMA_OPTION_ID_REUSEADDR:
        case RDMA_OPTION_ID_AFONLY: return length == sizeof(int) ? 0 : refuse_call(EINVAL);
        default: return refuse_call(ENOSYS);
    }
}

// Enhanced connection establishment: nothing to negotiate.
TULLE_EXPORT int rdma_set_local_ece(rdma_cm_id*, ibv_ece*) {
    return 0;
}

TULLE_EXPORT int rdma_get_remote_ece(rdma_cm_id*, ibv_ece* ece) {
    *ece = {};
    return 0;
}

// Calls of newer releases for many sockets over RDMA are not supported, and return an error.
#define TULLE_NOT_OFFERED(name)         \
    TULLE_EXPORT ssize_t name() {       \
        return refuse_call(EOPNOTSUPP); \
    }

TULLE_NOT_OFFERED(repoll_create)
TULLE_NOT_OFFERED(repoll_ctl)
TULLE_NOT_OFFERED(repoll_wait)
