// Posting work.
#include "verbs/queue_pair.h"
#include "verbs/translation.h"

namespace tulle::verbs {
namespace {

using transport::SendRequest;
using transport::Work;

void set_target(live::SoftwareAdapter& host, const ibv_send_wr& from, SendRequest& to) {
    const AddressHandle& handle = object_of<AddressHandle>(from.wr.ud.ah);
    to.datagram.qpn = transport::Qpn{from.wr.ud.remote_qpn & 0xff'ffff};
    to.datagram.qkey = transport::QKey{from.wr.ud.remote_qkey};
    if (handle.is_multicast)
        to.datagram.endpoint = {host.world().groups().number_of(handle.destination.gid).value};
    else
        to.datagram.endpoint = host.world().resolve(handle.destination, to.datagram.qpn);
    to.datagram.service_level = handle.attributes.sl & 0xf;
    to.datagram.traffic_class = handle.attributes.grh.traffic_class;
    if (handle.attributes.grh.hop_limit != 0)
        to.datagram.hop_limit = handle.attributes.grh.hop_limit;
}

int post_one(live::SoftwareAdapter& host, QueuePair& qp, const ibv_send_wr& from,
             Scratch& scratch) {
    SendRequest request;
    if (const int error = translate_send(from, scratch, request)) return error;
    if (qp.type == transport::QpType::ud) {
        if (from.wr.ud.ah == nullptr) return EINVAL;
        set_target(host, from, request);
    }
    if (qp.type == transport::QpType::xrc_initiator)
        request.remote_srq = wire::SrqNumber{from.qp_type.xrc.remote_srqn};
    const auto refusal = host.posting().post(qp.qpn, request);
    if (refusal != transport::Refusal::none) return errno_of(refusal);
    // A type-2 window has its new key from here on, as with real adapters and in the man page.
    if (request.work == Work::bind_window) from.bind_mw.mw->rkey = from.bind_mw.rkey;
    return 0;
}

template <class Post>
int post_receives(ibv_recv_wr* request, ibv_recv_wr** bad, Post&& post) {
    Scratch scratch;
    for (; request != nullptr; request = request->next) {
        transport::ReceiveRequest receive;
        int error = translate_receive(*request, scratch, receive);
        if (error == 0) error = errno_of(post(receive));
        if (error == 0) continue;
        *bad = request;
        return error;
    }
    return 0;
}

}  // namespace

int post_send(ibv_qp* shown, ibv_send_wr* request, ibv_send_wr** bad) {
    QueuePair& qp = qp_of(shown);
    live::SoftwareAdapter& host = host_of(shown->context);
    Scratch scratch;
    const std::lock_guard guard(host.lock());
    int error = 0;
    for (; request != nullptr && error == 0; request = request->next) {
        error = post_one(host, qp, *request, scratch);
        if (error != 0) *bad = request;
    }
    host.posting().finish();
    return error;
}

int post_recv(ibv_qp* shown, ibv_recv_wr* request, ibv_recv_wr** bad) {
    live::SoftwareAdapter& host = host_of(shown->context);
    const std::lock_guard guard(host.lock());
    return post_receives(request, bad, [&](const transport::ReceiveRequest& receive) {
        return host.adapter().post_receive(qp_of(shown).qpn, receive);
    });
}

int post_srq_recv(ibv_srq* shown, ibv_recv_wr* request, ibv_recv_wr** bad) {
    live::SoftwareAdapter& host = host_of(shown->context);
    const std::lock_guard guard(host.lock());
    const transport::SrqId queue = object_of<Srq>(shown).id;
    const int error = post_receives(request, bad, [&](const transport::ReceiveRequest& receive) {
        return host.adapter().shared_receives().post(queue, receive);
    });
    if (host.xrc_lender().has_wishes()) host.posting().lend_posted(queue);
    return error;
}

// Type-1 windows are bound by a call; its completion reports the end.
int bind_mw(ibv_qp* shown, ibv_mw* mw, ibv_mw_bind* bind) {
    QueuePair& qp = qp_of(shown);
    live::SoftwareAdapter& host = host_of(shown->context);
    const std::lock_guard guard(host.lock());
    const ibv_mw_bind_info& info = bind->bind_info;
    if (mw->type != IBV_MW_TYPE_1 || mw->pd != shown->pd) return EINVAL;
    if (info.mr == nullptr && info.length != 0) return EINVAL;
    const transport::QueuePair* now = host.adapter().queue_pairs().find(qp.qpn);
    if (now == nullptr || now->state != transport::QpState::rts) return EINVAL;
    if (host.adapter().has_sends(qp.qpn)) return EBUSY;
    const transport::WindowBinding binding{mw->rkey,  0,           info.mr ? info.mr->lkey : 0,
                                           info.addr, info.length, info.mw_access_flags};
    const auto key = host.adapter().memory().bind_type1(mw->rkey, binding, now->asker());
    if (!key) return EINVAL;
    mw->rkey = *key;
    SendRequest done;
    done.id = bind->wr_id;
    done.work = Work::bind_window;
    done.flags = static_cast<uint8_t>(bind->send_flags & IBV_SEND_SIGNALED);
    host.adapter().complete_elsewhere(qp.qpn, done, 0);
    host.posting().finish();
    return 0;
}

}  // namespace tulle::verbs
