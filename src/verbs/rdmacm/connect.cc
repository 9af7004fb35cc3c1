#include "verbs/rdmacm/connect.h"

#include <algorithm>
#include <cstring>

#include "verbs/rdmacm/manager.h"
#include "verbs/refusal.h"

namespace tulle::verbs {
namespace {

using transport::CmStatus;

constexpr int kMaxBacklog = 1024;    // the kernel's rdma_ucm.max_backlog
constexpr uint8_t kAckTimeout = 18;  // about a second, as in the kernel

wire::Bytes bytes_of(const void* data, size_t length) {
    return {static_cast<const std::byte*>(data), data == nullptr ? 0 : length};
}

int errno_of(CmStatus status) {
    switch (status) {
        case CmStatus::ok: return 0;
        case CmStatus::no_room: return ENOMEM;
        case CmStatus::in_use: return EADDRINUSE;
        case CmStatus::no_such_connection:
        case CmStatus::wrong_state:
        case CmStatus::too_long:
        case CmStatus::invalid: return EINVAL;
    }
    return EINVAL;
}

bool is_datagram(const Id& id) {
    return id.shown.ps == RDMA_PS_UDP || id.shown.ps == RDMA_PS_IPOIB;
}

wire::Key64 service_of(const Id& id, uint16_t port) {
    return wire::service_id_of({protocol_of(id.shown.ps), port});
}

transport::IpAddresses addresses_of(const Id& id) {
    const rdma_addr& shown = id.shown.route.addr;
    return {address_gid(shown.src_storage), address_gid(shown.dst_storage),
            address_port(shown.src_storage)};
}

transport::CmPath path_of(const Id& id) {
    transport::CmPath path;
    std::memcpy(path.local_gid.bytes.data(), id.path.sgid.raw, 16);
    std::memcpy(path.remote_gid.bytes.data(), id.path.dgid.raw, 16);
    path.packet_lifetime = id.path.packet_life_time;
    path.traffic_class = id.type_of_service;
    return path;
}

bool is_elsewhere(Manager& manager, const Id& id) {
    return manager.bridge().is_elsewhere(id.shown.verbs, id.path.dgid.raw);
}

// A hint for programs that use different kinds of link.
void say_if_on_other_link(Manager& manager, const Id& id) {
    const rdma_addr& shown = id.shown.route.addr;
    const uint16_t port = address_port(shown.dst_storage);
    if (!is_explained_at_all() ||
        !manager.bridge().listens_on_other_link(id.shown.verbs, protocol_of(id.shown.ps), port,
                                                address_gid(shown.dst_storage).bytes.data()))
        return;
    const bool is_ethernet = live::identity_from_environment().is_ethernet;
    char line[320];
    const int length = std::snprintf(
        line, sizeof line,
        "tulle: process %d: the program that listens on port %u is on %s and this one on %s, which "
        "no switch joins: start both with the same --link-layer.\n",
        static_cast<int>(getpid()), port, is_ethernet ? "InfiniBand" : "Ethernet",
        is_ethernet ? "Ethernet" : "InfiniBand");
    write_sentence(line, length, sizeof line);
}

// The number of outstanding READs. A side without a value takes what the other offered, or the
// maximum.
uint8_t depth(const rdma_conn_param* param, uint8_t given, uint8_t offered) {
    static_assert(RDMA_MAX_RESP_RES == RDMA_MAX_INIT_DEPTH);
    const bool is_given = param != nullptr && given != RDMA_MAX_RESP_RES;
    return is_given ? std::min<uint8_t>(given, kMaxReads) : offered;
}

void set_connection(Id& id, const rdma_conn_param* param) {
    const rdma_conn_param given = param != nullptr ? *param : rdma_conn_param{};
    id.responder_resources = depth(param, given.responder_resources,
                                   id.is_passive ? id.responder_resources : uint8_t{kMaxReads});
    id.initiator_depth = depth(param, given.initiator_depth,
                               id.is_passive ? id.initiator_depth : uint8_t{kMaxReads});
    id.own_qpn =
        id.shown.qp != nullptr ? id.shown.qp->qp_num : (param != nullptr ? param->qp_num : 0);
    id.has_srq =
        id.shown.qp != nullptr ? id.shown.qp->srq != nullptr : param != nullptr && param->srq != 0;
}

wire::Bytes private_data_of(const rdma_conn_param* param) {
    return param != nullptr ? bytes_of(param->private_data, param->private_data_len)
                            : wire::Bytes{};
}

// From now on the id receives its events.
int follow(Manager& manager, Id& id, const transport::CmOpened& opened) {
    if (opened.status != CmStatus::ok) return errno_of(opened.status);
    id.handle = opened.handle;
    manager.own(id.handle, id);
    return 0;
}

int connect_datagram(Manager& manager, Id& id, const rdma_conn_param* param) {
    transport::ServiceRequest request;
    request.endpoint = id.peer;
    request.service_id = service_of(id, address_port(id.shown.route.addr.dst_storage));
    request.ip = addresses_of(id);
    request.private_data = private_data_of(param);
    const auto opened = manager.engine().resolve_service(manager.now(), request);
    return follow(manager, id, opened);
}

int connect_stream(Manager& manager, Id& id, const rdma_conn_param* param) {
    set_connection(id, param);
    id.receive_psn = manager.next_psn();
    id.retry_count = param != nullptr ? std::min<uint8_t>(param->retry_count, 7) : 7;
    id.rnr_retry_count = param != nullptr ? std::min<uint8_t>(param->rnr_retry_count, 7) : 7;
    transport::ConnectRequest request;
    request.endpoint = id.peer;
    request.path = path_of(id);
    request.service_id = service_of(id, address_port(id.shown.route.addr.dst_storage));
    request.ip = addresses_of(id);
    request.path_mtu = id.path.mtu;
    request.qpn = wire::Qpn{id.own_qpn};
    request.starting_psn = wire::Psn{id.receive_psn};
    if (id.shown.qp_type == IBV_QPT_XRC_SEND) request.transport = transport::CmTransport::xrc;
    request.srq = id.has_srq;
    request.end_to_end_flow_control = param != nullptr && param->flow_control != 0;
    request.responder_resources = id.responder_resources;
    request.initiator_depth = id.initiator_depth;
    request.retry_count = id.retry_count;
    request.rnr_retry_count = id.rnr_retry_count;
    request.private_data = private_data_of(param);
    request.watches_peer = is_elsewhere(manager, id);
    const auto opened = manager.engine().connect(manager.now(), request);
    return follow(manager, id, opened);
}

int accept_datagram(Manager& manager, Id& id, const rdma_conn_param* param) {
    transport::ServiceAnswer answer;
    const uint32_t given = param != nullptr ? param->qp_num : 0;
    answer.qpn = wire::Qpn{id.shown.qp != nullptr ? id.shown.qp->qp_num : given};
    answer.qkey = wire::QKey{RDMA_UDP_QKEY};
    answer.private_data = private_data_of(param);
    return errno_of(manager.engine().answer_service(manager.now(), id.handle, answer));
}

int accept_stream(Manager& manager, Id& id, const rdma_conn_param* param) {
    transport::AcceptReply reply;
    reply.qpn = wire::Qpn{id.own_qpn};
    reply.starting_psn = wire::Psn{id.receive_psn};
    reply.responder_resources = id.responder_resources;
    reply.initiator_depth = id.initiator_depth;
    reply.rnr_retry_count =
        param != nullptr ? std::min<uint8_t>(param->rnr_retry_count, 7) : uint8_t{7};
    reply.srq = id.has_srq;
    reply.end_to_end_flow_control = param != nullptr && param->flow_control != 0;
    reply.private_data = private_data_of(param);
    reply.watches_peer = is_elsewhere(manager, id);
    return errno_of(manager.engine().accept(manager.now(), id.handle, reply));
}

}  // namespace

uint32_t find_listener(Manager& manager, const Id& id) {
    const sockaddr_storage& there = id.shown.route.addr.dst_storage;
    return manager.bridge().find_port(id.shown.verbs, protocol_of(id.shown.ps), address_port(there),
                                      address_gid(there).bytes.data());
}

uint32_t find_known_listener(Manager& manager, const Id& id) {
    const sockaddr_storage& there = id.shown.route.addr.dst_storage;
    return manager.bridge().find_known_port(id.shown.verbs, protocol_of(id.shown.ps),
                                            address_port(there), address_gid(there).bytes.data());
}

bool take_peer(Manager& manager, Id& id, uint32_t peer) {
    const uint8_t its_port = port_of(address_gid(id.shown.route.addr.dst_storage));
    if (peer == kNobody || !manager.set_peer(id, peer, its_port)) return false;
    set_path(id);
    return true;
}

int ask_peer(Manager& manager, Id& id, const rdma_conn_param* param) {
    return is_datagram(id) ? connect_datagram(manager, id, param)
                           : connect_stream(manager, id, param);
}

// As the connection manager of a peer would.
void tell_nobody_listens(Manager& manager, Id& id) {
    say_if_on_other_link(manager, id);
    if (is_datagram(id))
        manager.events().tell(id, RDMA_CM_EVENT_UNREACHABLE, wire::kSidrServiceIdUnsupported);
    else
        manager.events().tell(id, RDMA_CM_EVENT_REJECTED, wire::kCmRejectInvalidServiceId);
}

int init_attributes(Id& id, ibv_qp_attr& a, int& mask) {
    switch (a.qp_state) {
        case IBV_QPS_INIT:
            a.pkey_index = 0;
            a.port_num = std::max<uint8_t>(id.shown.port_num, 1);
            mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
            if (is_datagram(id)) {
                a.qkey = RDMA_UDP_QKEY;
                mask |= IBV_QP_QKEY;
            } else {
                a.qp_access_flags =
                    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
                mask |= IBV_QP_ACCESS_FLAGS;
            }
            return 0;
        case IBV_QPS_RTR:
            mask = IBV_QP_STATE;
            if (is_datagram(id)) return 0;
            if (id.remote_qpn == 0) return EINVAL;
            a.ah_attr = id.peer_address;
            a.ah_attr.grh.traffic_class = id.type_of_service;
            a.path_mtu = static_cast<ibv_mtu>(id.path.mtu);
            a.dest_qp_num = id.remote_qpn;
            a.rq_psn = id.receive_psn;
            a.max_dest_rd_atomic = id.responder_resources;
            a.min_rnr_timer = id.min_rnr_timer;
            mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
            return 0;
        case IBV_QPS_RTS:
            a.sq_psn = id.send_psn;
            mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
            if (is_datagram(id)) return 0;
            a.timeout = id.ack_timeout != 0 ? id.ack_timeout : kAckTimeout;
            a.retry_cnt = id.retry_count;
            a.rnr_retry = id.rnr_retry_count;
            a.max_rd_atomic = id.initiator_depth;
            mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
            return 0;
        default: return EINVAL;
    }
}

namespace {

int move_to(Id& id, ibv_qp* qp, ibv_qp_state state) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    int mask = 0;
    {
        const Manager::Guard guard(Manager::of(id));
        if (const int error = init_attributes(id, attributes, mask)) return error;
    }
    return ibv_modify_qp(qp, &attributes, mask);
}

}  // namespace

int to_init(Id& id, ibv_qp* qp) {
    return move_to(id, qp, IBV_QPS_INIT);
}

int to_ready_to_receive(Id& id, uint8_t responder_resources) {
    id.responder_resources = responder_resources;
    return move_to(id, id.shown.qp, IBV_QPS_RTR);
}

int to_ready_to_send(Id& id, uint8_t initiator_depth) {
    id.initiator_depth = initiator_depth;
    return move_to(id, id.shown.qp, IBV_QPS_RTS);
}

int start_datagrams(Id& id, ibv_qp* qp) {
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS})
        if (const int error = move_to(id, qp, state)) return error;
    return 0;
}

void finish_connect(Id& id, CmEventBox& box) {
    int error = to_ready_to_receive(id, id.responder_resources);
    if (error == 0) error = to_ready_to_send(id, id.initiator_depth);
    Manager& manager = Manager::of(id);
    const Manager::Guard guard(manager);
    if (error == 0) {
        if (manager.engine().ready(manager.now(), id.handle) == CmStatus::ok) return;
        error = ECONNRESET;
    }
    (void)manager.engine().reject(manager.now(), id.handle, {});
    box.shown.event = RDMA_CM_EVENT_CONNECT_ERROR;
    box.shown.status = -error;
}

// A connection for a listener without a channel has no channel either; its events are delivered one
// by one.
int give_own_channel(Id& id) {
    rdma_cm_event* event = std::exchange(id.shown.event, nullptr);
    rdma_event_channel* channel = rdma_create_event_channel();
    if (channel == nullptr) return -1;
    {
        Manager& manager = Manager::of(id);
        const Manager::Guard guard(manager);
        CmEventList moved;
        channel_of(id.shown.channel)
            .take([&](const CmEventBox& box) { return box.shown.id == &id.shown; }, moved);
        id.shown.channel = channel;
        while (!moved.empty()) manager.events().push_back(moved.pop_front());
    }
    id.owns_channel = true;
    id.shown.event = event;
    return 0;
}

// For an id without an address, those of all devices.
std::span<Manager> listening_managers(const Id& id) {
    return is_wildcard(id.shown.route.addr.src_storage) ? Manager::all() : std::span(id.manager, 1);
}

void stop_listening(Id& id) {
    for (Manager& manager : Manager::all()) {
        if (!manager.is_open()) continue;
        const Manager::Guard guard(manager);
        manager.stop_listening(id);
    }
}

void prepare_request(Id& id) {
    Id* from = id.listen_id;
    if (from == nullptr || !from->creates_qp) return;
    ibv_qp_init_attr attributes = from->qp_attributes;
    (void)rdma_create_qp(&id.shown, from->shown.pd, &attributes);
}

}  // namespace tulle::verbs

using namespace tulle;
using namespace tulle::verbs;

TULLE_EXPORT int rdma_listen(rdma_cm_id* shown, int backlog) {
    Id& id = id_of(shown);
    if (!id.is_bound) {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        if (rdma_bind_addr(shown, reinterpret_cast<sockaddr*>(&any)) != 0) return -1;
    }
    if (id.is_listening || id.handle) return refuse_call(EINVAL);
    id.backlog = backlog > 0 && backlog < kMaxBacklog ? static_cast<uint32_t>(backlog)
                                                      : uint32_t{kMaxBacklog};
    for (Manager& manager : listening_managers(id)) {
        // Ids accepted there need a protection domain, which is made without the lock.
        int error = manager.domain() == nullptr ? errno : 0;
        if (error == 0) {
            const Manager::Guard guard(manager);
            const uint16_t port = address_port(shown->route.addr.src_storage);
            error = manager.listen(id, service_of(id, port), port);
        }
        if (error == 0) continue;
        stop_listening(id);
        return refuse_call(error);
    }
    id.is_listening = true;
    return 0;
}

TULLE_EXPORT int rdma_connect(rdma_cm_id* shown, rdma_conn_param* param) {
    Id& id = id_of(shown);
    if (shown->verbs == nullptr || id.is_listening || id.handle || id.is_sought)
        return refuse_call(EINVAL);
    {
        Manager& manager = Manager::of(id);
        const Manager::Guard guard(manager);
        if (!take_peer(manager, id, find_known_listener(manager, id)))
            manager.seeker().seek(id, param);
        else if (const int error = ask_peer(manager, id, param))
            return refuse_call(error);
    }
    return wait_if_synchronous(id);
}

TULLE_EXPORT int rdma_accept(rdma_cm_id* shown, rdma_conn_param* param) {
    Id& id = id_of(shown);
    Manager& manager = Manager::of(id);
    if (is_datagram(id)) {
        const Manager::Guard guard(manager);
        const int error = accept_datagram(manager, id, param);
        return error == 0 ? 0 : refuse_call(error);
    }
    // Programs that create their queue pairs themselves also call accept for a reply.
    if (!id.is_passive) return rdma_establish(shown);
    set_connection(id, param);
    if (shown->qp != nullptr) {
        if (const int error = to_ready_to_receive(id, id.responder_resources))
            return refuse_call(error);
        if (const int error = to_ready_to_send(id, id.initiator_depth)) return refuse_call(error);
    }
    {
        const Manager::Guard guard(manager);
        if (const int error = accept_stream(manager, id, param)) return refuse_call(error);
    }
    return wait_if_synchronous(id);
}

TULLE_EXPORT int rdma_establish(rdma_cm_id* shown) {
    Id& id = id_of(shown);
    Manager& manager = Manager::of(id);
    const Manager::Guard guard(manager);
    const int error = errno_of(manager.engine().ready(manager.now(), id.handle));
    return error == 0 ? 0 : refuse_call(error);
}

TULLE_EXPORT int rdma_reject(rdma_cm_id* shown, const void* data, uint8_t length) {
    Id& id = id_of(shown);
    Manager& manager = Manager::of(id);
    const Manager::Guard guard(manager);
    CmStatus status = CmStatus::ok;
    if (is_datagram(id)) {
        transport::ServiceAnswer answer;
        answer.status = wire::kSidrRejected;
        answer.private_data = bytes_of(data, length);
        status = manager.engine().answer_service(manager.now(), id.handle, answer);
    } else {
        transport::Rejection rejection;
        rejection.private_data = bytes_of(data, length);
        status = manager.engine().reject(manager.now(), id.handle, rejection);
    }
    return status == CmStatus::ok ? 0 : refuse_call(errno_of(status));
}

TULLE_EXPORT int rdma_reject_ece(rdma_cm_id* shown, const void* data, uint8_t length) {
    return rdma_reject(shown, data, length);
}

TULLE_EXPORT int rdma_notify(rdma_cm_id* shown, ibv_event_type event) {
    if (event != IBV_EVENT_COMM_EST) return refuse_call(EINVAL);
    Manager& manager = Manager::of(id_of(shown));
    const Manager::Guard guard(manager);
    const auto status =
        manager.engine().communication_established(manager.now(), id_of(shown).handle);
    return status == CmStatus::ok ? 0 : refuse_call(errno_of(status));
}

TULLE_EXPORT int rdma_disconnect(rdma_cm_id* shown) {
    Id& id = id_of(shown);
    if (is_datagram(id)) return refuse_call(EINVAL);
    if (shown->qp != nullptr) {
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_ERR;
        (void)ibv_modify_qp(shown->qp, &attributes, IBV_QP_STATE);
    }
    {
        Manager& manager = Manager::of(id);
        const Manager::Guard guard(manager);
        // The peer may have disconnected first; nothing is left to do.
        const auto status = manager.engine().disconnect(manager.now(), id.handle);
        if (status == CmStatus::wrong_state || status == CmStatus::no_such_connection)
            return id.remote_qpn != 0 ? 0 : refuse_call(EINVAL);
    }
    return wait_if_synchronous(id);
}

TULLE_EXPORT int rdma_get_request(rdma_cm_id* listen, rdma_cm_id** request) {
    Id& id = id_of(listen);
    if (!id.is_synchronous) return refuse_call(EINVAL);
    for (;;) {
        if (wait_if_synchronous(id) != 0) return -1;
        rdma_cm_event* event = listen->event;
        if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
        *request = event->id;
        listen->event = nullptr;
        (*request)->event = event;
        return give_own_channel(id_of(*request));
    }
}

TULLE_EXPORT int rdma_init_qp_attr(rdma_cm_id* shown, ibv_qp_attr* attributes, int* mask) {
    const Manager::Guard guard(Manager::of(id_of(shown)));
    const ibv_qp_state state = attributes->qp_state;
    *attributes = {};
    attributes->qp_state = state;
    const int error = init_attributes(id_of(shown), *attributes, *mask);
    return error == 0 ? 0 : refuse_call(error);
}
