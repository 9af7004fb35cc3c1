// Event channels and ids.
#include <condition_variable>
#include <exception>
#include <mutex>

#include "verbs/rdmacm/connect.h"
#include "verbs/rdmacm/manager.h"

namespace tulle::verbs {
namespace {

// Work that remains before the program sees an event.
void prepare(CmEventBox& box) {
    Id& id = id_of(box.shown.id);
    if (box.finishes_connect) finish_connect(id, box);
    if (box.shown.event == RDMA_CM_EVENT_MULTICAST_JOIN) join_group(id, box);
    if (box.shown.event != RDMA_CM_EVENT_CONNECT_REQUEST) return;
    Manager::of(id).taken(id);
    prepare_request(id);
}

// One condition variable for all ids: an id may be freed once its last event is acknowledged.
std::mutex acknowledging;
std::condition_variable acknowledged;

void hand_out(rdma_cm_id* shown) {
    if (shown == nullptr) return;
    const std::lock_guard guard(acknowledging);
    ++id_of(shown).events_out;
}

void take_back(rdma_cm_id* shown) {
    if (shown == nullptr) return;
    const std::lock_guard guard(acknowledging);
    if (--id_of(shown).events_out == 0) acknowledged.notify_all();
}

// Waits until the program has acknowledged all events of the id, as the interface requires.
void wait_for_acknowledgements(const Id& id) {
    std::unique_lock guard(acknowledging);
    acknowledged.wait(guard, [&] { return id.events_out == 0; });
}

// The event is delivered in any case: a connection that cannot be set up is an error event.
void prepare_or_fail(CmEventBox& box) {
    try {
        prepare(box);
    } catch (const std::exception&) {
        if (!box.finishes_connect) return;
        box.shown.event = RDMA_CM_EVENT_CONNECT_ERROR;
        box.shown.status = -ENOMEM;
    }
}

// A child must not read the descriptor of its parent's channel.
CmEventBox* next_event(CmChannel& channel) {
    if (channel.made_in != era()) return fail(EIO);
    const auto box = channel.events.pop();
    if (!box) return nullptr;
    prepare_or_fail(**box);
    hand_out((*box)->shown.id);
    hand_out((*box)->shown.listen_id);
    return *box;
}

void drop_events(rdma_event_channel* channel, const rdma_cm_id* shown) {
    CmEventList dropped;
    const auto is_about = [&](const CmEventBox& box) {
        return box.shown.id == shown || box.shown.listen_id == shown;
    };
    for (Manager& manager : Manager::all()) {
        if (!manager.is_open()) continue;
        const Manager::Guard guard(manager);
        manager.events().take(is_about, dropped);
        channel_of(channel).take(is_about, dropped);
    }
    while (!dropped.empty()) {
        const CmEventBox* box = dropped.pop_front();
        rdma_cm_id* orphan = box->shown.id;
        const bool is_request = box->shown.listen_id == shown && orphan != shown;
        delete box;
        if (is_request) rdma_destroy_id(orphan);  // nobody else refers to it
    }
}

int create_id(rdma_event_channel* channel, rdma_cm_id** result, void* context,
              rdma_port_space space, ibv_qp_type type) {
    auto id = std::make_unique<Id>();
    id->shown.context = context;
    id->shown.ps = space;
    id->shown.qp_type = type;
    id->is_synchronous = channel == nullptr;
    id->owns_channel = channel == nullptr;
    id->shown.channel = channel != nullptr ? channel : rdma_create_event_channel();
    if (id->shown.channel == nullptr) return -1;
    Manager& manager = Manager::first();
    if (manager.context() == nullptr) return -1;
    manager.adopt(*id);
    *result = &id.release()->shown;
    return 0;
}

}  // namespace

int wait_if_synchronous(Id& id) {
    if (!id.is_synchronous) return 0;
    if (id.shown.event != nullptr) {
        rdma_ack_cm_event(id.shown.event);
        id.shown.event = nullptr;
    }
    if (rdma_get_cm_event(id.shown.channel, &id.shown.event) != 0) return -1;
    const rdma_cm_event& event = *id.shown.event;
    if (event.status == 0) return 0;
    if (event.event == RDMA_CM_EVENT_REJECTED) return refuse_call(ECONNREFUSED);
    return refuse_call(event.status < 0 ? -event.status : event.status);
}

}  // namespace tulle::verbs

using namespace tulle;
using namespace tulle::verbs;

TULLE_EXPORT rdma_event_channel* rdma_create_event_channel() {
    auto channel = std::make_unique<CmChannel>();
    if (!channel->events.is_open()) return fail(EMFILE);
    channel->shown.fd = channel->events.file();
    return &channel.release()->shown;
}

TULLE_EXPORT void rdma_destroy_event_channel(rdma_event_channel* channel) {
    delete &channel_of(channel);
}

TULLE_EXPORT int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                                rdma_port_space space) {
    if (space != RDMA_PS_TCP && space != RDMA_PS_UDP && space != RDMA_PS_IPOIB &&
        space != RDMA_PS_IB)
        return refuse_call(EPROTONOSUPPORT);
    const bool is_datagram = space == RDMA_PS_UDP || space == RDMA_PS_IPOIB;
    return create_id(channel, id, context, space, is_datagram ? IBV_QPT_UD : IBV_QPT_RC);
}

TULLE_EXPORT int rdma_destroy_id(rdma_cm_id* shown) {
    Id& id = id_of(shown);
    if (id.made_in != era()) {  // its connection and events belong to the parent
        if (id.owns_channel) rdma_destroy_event_channel(shown->channel);
        delete &id;
        return 0;
    }
    for (Manager& manager : Manager::all()) {
        if (!manager.is_open()) continue;
        const Manager::Guard guard(manager);
        manager.part_from(id);
    }
    if (shown->event != nullptr) {
        rdma_ack_cm_event(shown->event);
        shown->event = nullptr;
    }
    drop_events(shown->channel, shown);
    wait_for_acknowledgements(id);
    rdma_freeaddrinfo(id.information);
    if (id.owns_channel) rdma_destroy_event_channel(shown->channel);
    delete &id;
    return 0;
}

TULLE_EXPORT int rdma_migrate_id(rdma_cm_id* shown, rdma_event_channel* channel) {
    Id& id = id_of(shown);
    rdma_event_channel* old = shown->channel;
    if (shown->event != nullptr) {
        rdma_ack_cm_event(shown->event);
        shown->event = nullptr;
    }
    wait_for_acknowledgements(id);
    rdma_event_channel* target = channel != nullptr ? channel : rdma_create_event_channel();
    if (target == nullptr) return -1;
    {
        Manager& manager = Manager::of(id);
        const Manager::Guard guard(manager);
        CmEventList moved;
        channel_of(old).take([&](const CmEventBox& box) { return box.shown.id == shown; }, moved);
        shown->channel = target;
        while (!moved.empty()) manager.events().push_back(moved.pop_front());
    }
    if (id.owns_channel) rdma_destroy_event_channel(old);
    id.owns_channel = id.is_synchronous = channel == nullptr;
    return 0;
}

TULLE_EXPORT int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
    CmEventBox* box = next_event(channel_of(channel));
    if (box == nullptr) return -1;
    *event = &box->shown;
    return 0;
}

TULLE_EXPORT int rdma_ack_cm_event(rdma_cm_event* event) {
    if (event == nullptr) return refuse_call(EINVAL);
    rdma_cm_id* id = event->id;
    rdma_cm_id* listener = event->listen_id;
    delete &object_of<CmEventBox>(event);
    take_back(listener);
    take_back(id);
    return 0;
}
