#include "verbs/rdmacm/manager.h"

#include <pthread.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>

namespace tulle::verbs {
namespace {

constexpr int kTimedOut = -ETIMEDOUT;

uint64_t random_word() {
    uint64_t word = 0;
    while (getrandom(&word, sizeof word, 0) != sizeof word) continue;
    return word;
}

}  // namespace

Manager& Manager::instance() {
    static auto* manager = [] {
        pthread_atfork(nullptr, nullptr, after_fork_in_child);
        return new Manager;  // outlives the program's own destructors
    }();
    return *manager;
}

// What there was is the parent's; the child opens devices of its own. Ids and events that the
// child's copy of the program still names stay where they are.
void Manager::after_fork_in_child() {
    Manager& manager = instance();
    manager.context_ = nullptr;
    manager.domain_ = nullptr;
    (void)manager.engine_.release();
    manager.ids_.clear();
    manager.by_handle_.clear();
    manager.outbox_.clear();
    manager.is_draining_ = false;
}

bool Manager::open() {
    bridge_ = tulle_live_bridge(kBridgeVersion);
    if (bridge_ == nullptr) {
        errno = ENODEV;
        return false;
    }
    int count = 0;
    ibv_device** devices = ibv_get_device_list(&count);
    ibv_context* context = count > 0 ? ibv_open_device(devices[0]) : nullptr;
    ibv_free_device_list(devices);
    if (context == nullptr) return false;
    ibv_device_attr attributes{};
    ibv_query_device(context, &attributes);
    transport::CmConfig config;
    config.ca_guid = wire::Guid{be64toh(attributes.node_guid)};
    // Processes of the machine share queue pair 1: an ID says whose it is (live/udp_neighbours.h).
    config.id_mask = 0xff00'0000;
    config.id_value = bridge_->slot(context) << 24;
    random_ = base::RandomStream({random_word(), 1, 0});
    engine_ = std::make_unique<transport::ConnectionManager>(
        config, base::RandomStream({random_word(), 2, 0}));
    ManagementHandler handler;
    handler.self = this;
    handler.on_message = [](void* self, uint32_t peer, const void* bytes, size_t length) {
        auto& manager = *static_cast<Manager*>(self);
        const wire::Bytes message{static_cast<const std::byte*>(bytes), length};
        manager.engine_->on_mad(manager.now(), peer, wire::Qpn{1}, message);
        manager.drain();
    };
    handler.on_gone = [](void* self, uint32_t peer) { static_cast<Manager*>(self)->on_gone(peer); };
    handler.on_progress = [](void* self) {
        auto& manager = *static_cast<Manager*>(self);
        manager.engine_->on_timer(manager.now());
        manager.drain();
    };
    handler.on_established = [](void* self, uint32_t qpn) {
        auto& manager = *static_cast<Manager*>(self);
        for (const auto& [bits, id] : manager.by_handle_)
            if (id->own_qpn == qpn)
                (void)manager.engine_->communication_established(transport::CmHandle{bits});
    };
    bridge_->lock(context);
    bridge_->set_handler(handler);
    bridge_->unlock(context);
    context_ = context;
    return true;
}

ibv_context* Manager::context() {
    const std::lock_guard guard(opening_);
    if (context_ == nullptr && !open()) return nullptr;
    return context_;
}

ibv_pd* Manager::domain() {
    if (context() == nullptr) return nullptr;
    const std::lock_guard guard(opening_);
    if (domain_ == nullptr) domain_ = ibv_alloc_pd(context_);
    return domain_;
}

bool Manager::set_peer(Id& id, uint32_t peer) {
    const bool is_good = bridge_->peer_address(context_, peer, &id.peer_address);
    id.peer = is_good ? peer : kNobody;
    return is_good;
}

void Manager::forget(Id& id) {
    std::erase_if(by_handle_, [&](const auto& entry) { return entry.second == &id; });
    for (Id* other : ids_) {
        if (other->listen_id == &id) other->listen_id = nullptr;
        std::erase(other->waiting, &id);
    }
}

// Everything that the engine wants to say goes where it belongs.
void Manager::drain() {
    if (is_draining_) return;
    is_draining_ = true;
    while (const auto event = engine_->poll_event()) on_event(*event);
    while (const auto message = engine_->poll_mad(now()))
        bridge_->send(context_, message->endpoint, message->mad.data(), message->mad.size());
    is_draining_ = false;
    for (CmEventBox* box : std::exchange(outbox_, {}))
        channel_of(box->shown.id->channel).events.push(box);
    bridge_->flush(context_, engine_->next_deadline().ps);
}

CmEventBox& Manager::tell(Id& id, rdma_cm_event_type type, int status) {
    auto* box = new CmEventBox;
    box->shown.id = &id.shown;
    box->shown.event = type;
    box->shown.status = status;
    outbox_.push_back(box);
    return *box;
}

void Manager::on_event(const transport::CmEvent& event) {
    if (const auto* request = std::get_if<transport::CmRequestArrived>(&event.what))
        return on_request(event.handle, *request);
    if (const auto* request = std::get_if<transport::CmServiceRequested>(&event.what))
        return on_service(event.handle, *request);
    const auto known = by_handle_.find(event.handle.bits);
    if (known == by_handle_.end()) return;
    Id& id = *known->second;
    if (event.last) {
        by_handle_.erase(known);
        id.handle = {};
    }
    std::visit([&](const auto& what) { on_what(id, what); }, event.what);
}

Id* Manager::listener_of(transport::CmListener listener) {
    const auto found = std::ranges::find_if(
        ids_, [&](const Id* id) { return id->is_listening && id->listener == listener; });
    return found != ids_.end() ? *found : nullptr;
}

Id* Manager::new_id_for(transport::CmListener listener, transport::CmHandle handle, uint32_t peer) {
    if (listener_of(listener) == nullptr) return nullptr;
    Id& from = *listener_of(listener);
    auto* id = new Id;
    id->shown.verbs = context_;
    id->shown.channel = from.shown.channel;
    id->shown.context = from.shown.context;
    id->shown.ps = from.shown.ps;
    id->shown.qp_type = from.shown.qp_type;
    id->shown.pd = from.shown.pd;
    id->shown.port_num = 1;
    id->is_synchronous = from.is_synchronous;
    id->is_passive = true;
    id->is_bound = true;
    id->listen_id = &from;
    id->handle = handle;
    id->own_psn = next_psn();
    if (!set_peer(*id, peer)) {
        delete id;
        return nullptr;
    }
    ids_.push_back(id);
    own(handle, *id);
    return id;
}

void Manager::on_request(transport::CmHandle handle, const transport::CmRequestArrived& what) {
    // Whose backlog is full does not hear of it; the peer asks again, as the kernel has it.
    Id* listener = listener_of(what.listener);
    if (listener != nullptr && listener->untaken >= listener->backlog)
        return (void)engine_->ignore(handle);
    Id* id = new_id_for(what.listener, handle, what.endpoint);
    if (id == nullptr) return (void)engine_->reject(now(), handle, {});
    ++listener->untaken;
    const wire::CmReq& request = what.message;
    id->remote_qpn = request.local_qpn.value;
    id->remote_psn = request.starting_psn.value;
    id->retry_count = request.retry_count;
    id->rnr_retry_count = request.rnr_retry_count;
    id->responder_resources = std::min<uint8_t>(request.initiator_depth, kMaxReads);
    id->initiator_depth = std::min<uint8_t>(request.responder_resources, kMaxReads);
    const auto service = wire::ip_cm_service(request.service_id);
    set_addresses(*id, what.ip, service ? service->port : 0);
    set_path(*id);
    // The way may take less than either end does; who asked for it knows its own.
    if (request.path_mtu >= IBV_MTU_256) id->path.mtu = std::min(id->path.mtu, request.path_mtu);
    CmEventBox& box = tell(*id, RDMA_CM_EVENT_CONNECT_REQUEST);
    box.shown.listen_id = &id->listen_id->shown;
    carry(box, what.private_data());
    rdma_conn_param& shown = box.shown.param.conn;
    shown.responder_resources = request.initiator_depth;
    shown.initiator_depth = request.responder_resources;
    shown.flow_control = request.end_to_end_flow_control ? 1 : 0;
    shown.retry_count = request.retry_count;
    shown.rnr_retry_count = request.rnr_retry_count;
    shown.srq = request.srq ? 1 : 0;
    shown.qp_num = request.local_qpn.value;
}

void Manager::on_service(transport::CmHandle handle, const transport::CmServiceRequested& what) {
    Id* listener = listener_of(what.listener);
    Id* id = new_id_for(what.listener, handle, what.endpoint);
    if (id != nullptr) ++listener->untaken;
    if (id == nullptr)
        return (void)engine_->answer_service(now(), handle,
                                             {.status = wire::kSidrServiceIdUnsupported});
    const auto service = wire::ip_cm_service(what.message.service_id);
    set_addresses(*id, what.ip, service ? service->port : 0);
    set_path(*id);
    CmEventBox& box = tell(*id, RDMA_CM_EVENT_CONNECT_REQUEST);
    box.shown.listen_id = &id->listen_id->shown;
    carry(box, what.private_data());
}

void Manager::on_what(Id& id, const transport::CmReplyArrived& what) {
    const wire::CmRep& reply = what.message;
    id.remote_qpn = reply.local_qpn.value;
    id.remote_psn = reply.starting_psn.value;
    id.rnr_retry_count = reply.rnr_retry_count;
    id.initiator_depth = std::min(id.initiator_depth, reply.responder_resources);
    id.responder_resources = std::min(id.responder_resources, reply.initiator_depth);
    const bool is_ours = id.shown.qp != nullptr;
    CmEventBox& box =
        tell(id, is_ours ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE);
    box.finishes_connect = is_ours;
    carry(box, reply.private_data);
    rdma_conn_param& shown = box.shown.param.conn;
    shown.responder_resources = reply.initiator_depth;
    shown.initiator_depth = reply.responder_resources;
    shown.flow_control = reply.end_to_end_flow_control ? 1 : 0;
    shown.rnr_retry_count = reply.rnr_retry_count;
    shown.srq = reply.srq ? 1 : 0;
    shown.qp_num = reply.local_qpn.value;
}

// The active side was told when the reply came.
void Manager::on_what(Id& id, const transport::CmEstablished&) {
    if (id.is_passive) tell(id, RDMA_CM_EVENT_ESTABLISHED);
}

void Manager::on_what(Id& id, const transport::CmRejected& what) {
    carry(tell(id, RDMA_CM_EVENT_REJECTED, what.message.reason), what.message.private_data);
}

void Manager::on_what(Id& id, const transport::CmUnreachable&) {
    tell(id, RDMA_CM_EVENT_UNREACHABLE, kTimedOut);
}

void Manager::on_what(Id& id, const transport::CmDisconnected&) {
    tell(id, RDMA_CM_EVENT_DISCONNECTED);
}

void Manager::on_what(Id& id, const transport::CmTimeWaitOver&) {
    tell(id, RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

void Manager::on_what(Id& id, const transport::CmServiceAnswered& what) {
    const wire::CmSidrRep& reply = what.message;
    const bool is_good = reply.status == wire::kSidrValid;
    CmEventBox& box = tell(id, is_good ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_UNREACHABLE,
                           is_good ? 0 : reply.status);
    rdma_ud_param& shown = box.shown.param.ud;
    shown.ah_attr = id.peer_address;
    shown.qp_num = id.remote_qpn = reply.qpn.value;
    shown.qkey = id.remote_qkey = reply.qkey.value;
    std::copy(reply.private_data.begin(), reply.private_data.end(), box.private_data.begin());
    shown.private_data = box.private_data.data();
    shown.private_data_len = static_cast<uint8_t>(reply.private_data.size());
}

// A process that ends takes leave of its connections; one that was killed cannot, and on one
// machine the kernel would do it in its place.
void Manager::on_gone(uint32_t peer) {
    engine_->lose_endpoint(peer);
    drain();
    for (Id* id : ids_)
        if (id->peer == peer) id->peer = kNobody;
}

}  // namespace tulle::verbs
