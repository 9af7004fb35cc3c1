#include <algorithm>

#include "runner.h"

namespace tulle::swarm {
namespace {

using namespace transport;

std::vector<Sge> sges_of(const Pieces& pieces, uint32_t key) {
    std::vector<Sge> sges;
    for (const Range& piece : pieces) sges.push_back({kBase + piece.offset, piece.length, key});
    return sges;
}

}  // namespace

void Run::post_receive(uint32_t index, uint32_t number) {
    Pool& pool = world_.pools[index];
    Buffer& buffer = pool.buffers[number];
    // The queue pair may have gone since, or come again with all of its receives.
    if (buffer.is_posted || (!pool.shared && world_.sides[pool.owner].is_absent)) return;
    const auto sges = sges_of(buffer.pieces, world_.stations[pool.adapter].key);
    const ReceiveRequest request{(uint64_t{1} << 31 | index) << 32 | number, sges};
    Adapter& adapter = *hosts_[pool.adapter].adapter;
    // It may complete, flushed, before the call returns.
    buffer.is_posted = true;
    if (!pool.shared) pool.posted.push_back(number);
    const Refusal refusal = pool.shared
                                ? adapter.shared_receives().post(pool.srq, request)
                                : adapter.post_receive(world_.sides[pool.owner].qpn, request);
    require(refusal == Refusal::none, "a receive was refused");
}

// Whether the next operation may go now. Those behind a gate that will not open are given up.
bool Run::may_post(Side& side) {
    if (side.posted == side.operations.size() || side.is_absent) return false;
    // One of RD that has only stopped is mostly given nothing until it is resumed.
    const bool has_stopped = side.type == QpType::rd && !side.gave_up && side.has_failed;
    if (has_stopped && side.posted % 4 != 0) return false;
    if (side.is_dead() && !has_stopped) {
        if (side.posts_left == kNone) side.posts_left = 3;
        if (side.posts_left == 0) return false;
        --side.posts_left;
        return true;
    }
    const Gate& gate = side.operations[side.posted].gate;
    return gate.side == kNone ||
           world_.sides[gate.side].operations[gate.operation].outcome == Outcome::success;
}

// Where a datagram goes, of UD or RD, and the shared queue of XRC.
void Run::name_target(const Side& side, const Operation& operation, SendRequest& request) const {
    const Side& target = world_.sides[operation.to_side];
    DatagramTarget& to = request.datagram;
    to.service_level = side.attributes.address.service_level;
    if (operation.to_group != kNone) {
        to.endpoint = EndpointIndex{kFirstGroup + operation.to_group};
        to.qpn = Qpn{0xff'ffff};
        to.qkey = world_.groups[operation.to_group].qkey;
    } else {
        to.endpoint = world_.stations[target.adapter].config.endpoint;
        to.qpn = target.is_absent ? target.old_qpns.back() : target.qpn;
        to.qkey = target.attributes.qkey;
    }
    if (operation.bad == Bad::qkey) to.qkey.value ^= 0x100;
    if (operation.ee != kNone) request.ee_context = world_.ees[operation.ee].number;
    if (operation.to_pool != kNone)
        request.remote_srq.value = world_.pools[operation.to_pool].srq.value;
}

void Run::bind_type1(Side& owner, const Operation& operation) {
    Adapter& adapter = adapter_of(owner);
    const WindowBinding binding{0,
                                0,
                                world_.stations[owner.adapter].key,
                                kBase + operation.window_range.offset,
                                operation.window_range.length,
                                operation.window_access};
    const auto key = adapter.memory().bind_type1(owner.window_keys.back(), binding,
                                                 adapter.queue_pairs().find(owner.qpn)->asker());
    require(key.has_value(), "a window of type 1 was not bound");
    require(*key != owner.window_keys.back(), "a window has the key that it had before");
    owner.window_keys.push_back(*key);
}

void Run::name_window(Side& side, const Operation& operation, SendRequest& request) {
    if (operation.window == 0 && operation.bad != Bad::key) return;
    const bool own =
        operation.work == Work::bind_window || operation.work == Work::local_invalidate;
    Side& owner = own ? side : world_.sides[operation.to_side];
    if (!owner.has_window) return;
    // What is posted to be flushed binds nothing: others before it may still need the window.
    if (owner.window_type == WindowType::type1 && operation.window == owner.window_keys.size()) {
        if (side.is_dead()) return;
        bind_type1(owner, operation);
    }
    if (operation.window_range.length == 0 && operation.window == 0) return;
    if (operation.window >= owner.window_keys.size()) return;
    request.rkey = owner.window_keys[operation.window];
    if (!own) return;
    request.sges = {};
    if (operation.work != Work::bind_window) return;
    request.binding = {
        owner.window_keys[operation.window - 1], owner.window_keys[operation.window],
        world_.stations[side.adapter].key,       kBase + operation.window_range.offset,
        operation.window_range.length,           operation.window_access};
}

bool Run::post(uint32_t index) {
    Side& side = world_.sides[index];
    const Operation& operation = side.operations[side.posted];
    const Station& station = world_.stations[side.adapter];
    const Side& target = world_.sides[operation.to_side];
    const Station& remote = world_.stations[target.adapter];
    auto sges =
        sges_of(operation.local, operation.near_passing ? station.passing_key : station.key);
    if (operation.length == 0 && side.posted % 2 == 0) sges.clear();
    std::vector<std::byte> inline_data;

    SendRequest request;
    request.id = uint64_t{index} << 32 | side.posted;
    request.work = operation.work;
    request.flags = operation.flags;
    if ((operation.flags & kInline) != 0) {
        inline_data = bytes_of(station.memory, operation.local);
        request.inline_data = inline_data;
    } else {
        request.sges = sges;
    }
    request.remote_address = kBase + operation.remote_offset;
    request.rkey = operation.far_passing ? remote.passing_key : remote.key;
    if (operation.bad == Bad::key) request.rkey ^= 1;
    request.immediate = static_cast<uint32_t>(name_of(index, side.posted));
    request.compare_or_add = operation.compare_or_add;
    request.swap = operation.swap;
    request.flush_placement = operation.flush_placement;
    name_target(side, operation, request);
    name_window(side, operation, request);
    // Posted to a queue pair in the error state, it completes before the call returns; the
    // completion is polled later.
    const Refusal refusal = adapter_of(side).post_send(side.qpn, request);
    std::fill(inline_data.begin(), inline_data.end(), std::byte{0xee});
    std::fill(sges.begin(), sges.end(), Sge{});
    if (trace_ != nullptr && refusal == Refusal::none)
        std::fprintf(trace_, "%12.3f us  side %u qp %u posts %u: work %u, %u bytes, window %u\n",
                     static_cast<double>(now_.ps) / 1e6, index, side.qpn.value, side.posted,
                     static_cast<unsigned>(operation.work), operation.length, operation.window);
    model_.on_post(side, refusal);
    // While its packets are on their way, or soon thereafter, its memory goes.
    if (operation.near_passing || operation.far_passing) {
        const uint32_t where = operation.near_passing ? side.adapter : target.adapter;
        const uint64_t way = operation.near_passing ? 0 : world_.link_ns;
        const uint32_t after = posters_[index].between(0, 100) < 70 ? 2'000 : 60'000;
        plan(now_ + nanoseconds(way + posters_[index].between(0, after)), Kind::deregister, where);
    }
    return refusal == Refusal::none;
}

void Run::post_burst(uint32_t index) {
    Side& side = world_.sides[index];
    Draw& draw = posters_[index];
    const uint32_t count = draw.between(1, side.max_burst);
    for (uint32_t i = 0; i < count && may_post(side) && post(index); ++i) {
    }
    if (side.posted == side.operations.size() || side.posts_left == 0 || side.is_absent) return;
    const Gate& gate = side.operations[side.posted].gate;
    const bool shut =
        gate.side != kNone && world_.sides[gate.side].is_dead() && !side.is_dead() &&
        world_.sides[gate.side].operations[gate.operation].outcome != Outcome::success;
    if (shut) return;
    plan(now_ + nanoseconds(500 + draw.between(1, side.pause_ns)), Kind::post, index);
}

// ---------------------------------------------------------------------------------------------
// Acts

void Run::drain_queue(Side& side) {
    if (side.is_absent || adapter_of(side).queue_pairs().find(side.qpn)->state != QpState::rts)
        return;
    side.attributes.drain_notify = true;
    change_state(side, QpState::sqd, kDrainNotify);
    drain(side.adapter);
}

// The alternate path goes to the other port of the peer, or to the same one in another way.
void Run::arm_path(Side& side, uint32_t random) {
    if (side.is_absent || adapter_of(side).queue_pairs().find(side.qpn)->state != QpState::rts)
        return;
    QpAttributes attributes = side.attributes;
    attributes.alternate = attributes.address;
    if (random % 4 != 0) attributes.alternate.endpoint.value += kOtherPort;
    attributes.alternate.service_level = random >> 8 & 7;
    attributes.alternate.entropy = static_cast<uint16_t>(random >> 16);
    attributes.migration = Migration::rearm;
    side.was_armed = true;
    side.has_detour = random % 4 != 0;
    require(adapter_of(side).queue_pairs().modify(
                side.qpn, attributes, kAlternatePath | kMigrationState) == Refusal::none,
            "an alternate path was refused");
}

// Both ends have an alternate path, and this one knows it.
bool Run::is_armed(const Side& side) {
    if (side.is_absent) return false;
    const QueuePair* qp = adapter_of(side).queue_pairs().find(side.qpn);
    return qp->state == QpState::rts && qp->migration == Migration::armed;
}

void Run::migrate(Side& side) {
    if (!is_armed(side)) return;
    const QpAttributes attributes{.migration = Migration::migrated};
    require(adapter_of(side).queue_pairs().modify(side.qpn, attributes, kMigrationState) ==
                Refusal::none,
            "a path does not migrate when it shall");
    require(!is_armed(side), "a path has not migrated when it should");
    drain(side.adapter);
}

// Not before there is another way.
void Run::cut_path(const Act& act) {
    constexpr uint32_t kPatience = 100;
    Side& side = world_.sides[act.who];
    side.is_cut = is_armed(side);
    if (!side.is_cut && act.value < kPatience) again(act, 1'000);
}

void Run::join_or_leave(uint32_t index, uint32_t group) {
    Side& side = world_.sides[index];
    if (side.is_absent) return;
    auto& members = world_.groups[group].members;
    const MulticastGroup name{kFirstGroup + group};
    const bool leaves = std::erase(members, index) != 0;
    if (!leaves) members.push_back(index);
    const Refusal refusal = leaves ? adapter_of(side).multicast().detach(side.qpn, name)
                                   : adapter_of(side).multicast().attach(side.qpn, name);
    require(refusal == Refusal::none, "a queue pair cannot join or leave a group");
}

// A send queue that was drained, or one of RD that a failure has stopped.
void Run::resume(uint32_t index) {
    Side& side = world_.sides[index];
    if (side.is_absent) return;
    const QpState state = adapter_of(side).queue_pairs().find(side.qpn)->state;
    if (state != QpState::sqd && state != QpState::sqe) return;
    change_state(side, QpState::rts);
    model_.on_resume(side);
    drain(side.adapter);
}

void Run::deregister(uint32_t index) {
    Station& station = world_.stations[index];
    if (station.passing_gone) return;
    require(hosts_[index].adapter->memory().deregister_region(station.passing_key) == Refusal::none,
            "a region cannot be deregistered");
    model_.on_deregister(station);
}

// The same act, later.
void Run::again(Act act, uint32_t after_ns) {
    ++act.value;
    world_.acts.push_back(act);
    plan(now_ + nanoseconds(after_ns), Kind::act, static_cast<uint32_t>(world_.acts.size() - 1));
}

// One that takes its receives from a shared queue goes amid a message, if one comes in time: the
// receive must not be lost to the others.
bool Run::waits_for_message(const Act& act) {
    constexpr uint32_t kPatience = 200;
    const Side& side = world_.sides[act.who];
    const bool shares =
        side.type == QpType::xrc_target || (side.pool != kNone && world_.pools[side.pool].shared);
    return shares && act.value < kPatience &&
           adapter_of(side).queue_pairs().find(side.qpn)->responder.message !=
               ResponderState::Message::send;
}

bool Run::waits_for_end(uint32_t index) const {
    const Side& side = world_.sides[index];
    const bool connected = side.type != QpType::ud && side.type != QpType::rd;
    return !side.is_absent || (connected && !world_.sides[side.peer].is_absent);
}

// One end does not learn that the other is gone unless it sends. A message that was under way to it
// keeps its receive, maybe the only one that others wait for without end. So whoever manages
// connections ends both. Chosen: a millisecond later, so that the end has time to notice by itself.
void Run::stop_far_end(uint32_t ee) {
    world_.acts.push_back({ActKind::stop_ee, ee ^ 1, 0, 0});
    plan(now_ + nanoseconds(1'000'000), Kind::act, static_cast<uint32_t>(world_.acts.size() - 1));
}

void Run::act(Act act) {
    switch (act.kind) {
        case ActKind::give_up: {
            Side& side = world_.sides[act.who];
            if (side.is_absent) return;
            side.gave_up = true;
            change_state(side, QpState::error);
            return drain(side.adapter);
        }
        case ActKind::drain: return drain_queue(world_.sides[act.who]);
        case ActKind::arm_path: return arm_path(world_.sides[act.who], act.value);
        case ActKind::migrate: return migrate(world_.sides[act.who]);
        case ActKind::cut_path: return cut_path(act);
        case ActKind::destroy:
            if (waits_for_message(act)) return again(act, 300);
            return destroy_side(act.who);
        case ActKind::create:
            if (waits_for_end(act.who)) return again(act, 1'000);
            return create_again(act.who);
        case ActKind::stop_ee: {
            EeEnd& end = world_.ees[act.who];
            if (end.is_dead()) return;
            end.gave_up = true;
            stop_far_end(act.who);
            const Refusal refusal = hosts_[end.adapter].adapter->ee_contexts().modify(
                end.number, {.state = QpState::error}, kState);
            require(refusal == Refusal::none, "an EE context cannot be stopped");
            return drain(end.adapter);
        }
        case ActKind::join: return join_or_leave(act.who, act.value);
        case ActKind::watch_limit: {
            Pool& pool = world_.pools[act.who];
            pool.limit = act.value;
            require(hosts_[pool.adapter].adapter->shared_receives().set_limit(
                        pool.srq, pool.limit) == Refusal::none,
                    "a limit was refused");
            return;
        }
    }
}

}  // namespace tulle::swarm
