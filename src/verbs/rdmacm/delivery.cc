#include "verbs/rdmacm/delivery.h"

#include <algorithm>

#include "verbs/rdmacm/connect.h"
#include "verbs/rdmacm/manager.h"

namespace tulle::verbs {
namespace {

constexpr int kTimedOut = -ETIMEDOUT;

}  // namespace

void Delivery::apply(const transport::CmEvent& event) {
    if (const auto* request = std::get_if<transport::CmRequestArrived>(&event.what))
        return on_request(event.handle, *request);
    if (const auto* request = std::get_if<transport::CmServiceRequested>(&event.what))
        return on_service(event.handle, *request);
    Id* id = manager_.id_of(event.handle, event.last);
    if (id == nullptr) return;
    std::visit([&](const auto& what) { on_what(*id, what); }, event.what);
}

void Delivery::on_request(transport::CmHandle handle, const transport::CmRequestArrived& what) {
    // A listener with a full backlog ignores the request, and the peer repeats it, as in the
    // kernel.
    Id* listener = manager_.listener_of(what.listener);
    if (listener != nullptr && listener->untaken >= listener->backlog)
        return (void)manager_.engine().ignore(handle);
    Id* id = manager_.new_id_for(what.listener, handle, what.endpoint, what.ip);
    if (id == nullptr) return (void)manager_.engine().reject(manager_.now(), handle, {});
    ++listener->untaken;
    const wire::CmReq& request = what.message;
    id->remote_qpn = request.local_qpn.value;
    id->send_psn = request.starting_psn.value;
    id->retry_count = request.retry_count;
    id->rnr_retry_count = request.rnr_retry_count;
    id->responder_resources = std::min<uint8_t>(request.initiator_depth, kMaxReads);
    id->initiator_depth = std::min<uint8_t>(request.responder_resources, kMaxReads);
    const auto service = wire::ip_cm_service(request.service_id);
    set_addresses(*id, what.ip, service ? service->port : 0);
    set_path(*id);
    // The path may have a smaller MTU than either end; the requester knows its own.
    if (request.path_mtu >= IBV_MTU_256) id->path.mtu = std::min(id->path.mtu, request.path_mtu);
    CmEventBox& box = manager_.events().tell(*id, RDMA_CM_EVENT_CONNECT_REQUEST);
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

void Delivery::on_service(transport::CmHandle handle, const transport::CmServiceRequested& what) {
    Id* listener = manager_.listener_of(what.listener);
    Id* id = manager_.new_id_for(what.listener, handle, what.endpoint, what.ip);
    if (id != nullptr) ++listener->untaken;
    if (id == nullptr)
        return (void)manager_.engine().answer_service(manager_.now(), handle,
                                                      {.status = wire::kSidrServiceIdUnsupported});
    const auto service = wire::ip_cm_service(what.message.service_id);
    set_addresses(*id, what.ip, service ? service->port : 0);
    set_path(*id);
    CmEventBox& box = manager_.events().tell(*id, RDMA_CM_EVENT_CONNECT_REQUEST);
    box.shown.listen_id = &id->listen_id->shown;
    carry(box, what.private_data());
}

void Delivery::on_what(Id& id, const transport::CmReplyArrived& what) {
    const wire::CmRep& reply = what.message;
    id.remote_qpn = reply.local_qpn.value;
    id.send_psn = reply.starting_psn.value;
    id.rnr_retry_count = reply.rnr_retry_count;
    id.initiator_depth = std::min(id.initiator_depth, reply.responder_resources);
    id.responder_resources = std::min(id.responder_resources, reply.initiator_depth);
    const bool is_ours = id.shown.qp != nullptr;
    CmEventBox& box = manager_.events().tell(
        id, is_ours ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE);
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

// The active side was told when the reply arrived.
void Delivery::on_what(Id& id, const transport::CmEstablished&) {
    if (id.is_passive) manager_.events().tell(id, RDMA_CM_EVENT_ESTABLISHED);
}

void Delivery::on_what(Id& id, const transport::CmRejected& what) {
    carry(manager_.events().tell(id, RDMA_CM_EVENT_REJECTED, what.message.reason),
          what.message.private_data);
}

// The host of a peer with an adapter would refuse the request itself.
void Delivery::on_what(Id& id, const transport::CmUnreachable& what) {
    if (what.message != wire::kCmRep) manager_.bridge().explain_silence(id.shown.verbs, id.peer);
    if (what.is_refused) return tell_nobody_listens(manager_, id);
    manager_.events().tell(id, RDMA_CM_EVENT_UNREACHABLE, kTimedOut);
}

void Delivery::on_what(Id& id, const transport::CmDisconnected&) {
    manager_.events().tell(id, RDMA_CM_EVENT_DISCONNECTED);
}

void Delivery::on_what(Id& id, const transport::CmTimeWaitOver&) {
    manager_.events().tell(id, RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

void Delivery::on_what(Id& id, const transport::CmServiceAnswered& what) {
    const wire::CmSidrRep& reply = what.message;
    const bool is_good = reply.status == wire::kSidrValid;
    CmEventBox& box =
        manager_.events().tell(id, is_good ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_UNREACHABLE,
                               is_good ? 0 : reply.status);
    rdma_ud_param& shown = box.shown.param.ud;
    shown.ah_attr = id.peer_address;
    shown.qp_num = id.remote_qpn = reply.qpn.value;
    shown.qkey = id.remote_qkey = reply.qkey.value;
    std::copy(reply.private_data.begin(), reply.private_data.end(), box.private_data.begin());
    shown.private_data = box.private_data.data();
    shown.private_data_len = static_cast<uint8_t>(reply.private_data.size());
}

}  // namespace tulle::verbs
