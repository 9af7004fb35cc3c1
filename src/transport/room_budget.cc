#include "transport/room_budget.h"

#include <algorithm>
#include <optional>

#include "transport/core.h"

namespace tulle::transport {
namespace {

// Chosen: several times a process's usual wait for its CPU, less than a usual timeout (67 ms).
constexpr Duration kPatience{20'000'000'000};  // 20 ms
constexpr uint32_t kFew = 4;                   // chosen

// The room that the packets of a request fill; atomics and similar work are one packet each way.
std::optional<Room> room_of(const SendWork& work) {
    if (work.work == Work::read) return Room::ours;
    if (work.awaits_data()) return std::nullopt;
    return Room::peers;
}

RoomBudget& budget_of(Core& core, Room room) {
    return core.rooms[static_cast<size_t>(room)];
}
RoomShare& share_of(QueuePair& qp, Room room) {
    return qp.requester.shares[static_cast<size_t>(room)];
}
RoomLine& line_of(QueuePair& qp, Room room) {
    return qp.room_lines[static_cast<size_t>(room)];
}

// The window limits what is in flight to a peer; answers to READs have no such limit.
uint32_t bounded(const Core& core, Room room, uint32_t packets) {
    return room == Room::ours ? packets : std::min(packets, core.config.max_packets_outstanding);
}

// Packets of the oldest request that have arrived are no longer in flight.
uint32_t under_way(const Core& core, QueuePair& qp, Room room) {
    const RequesterState& r = qp.requester;
    const uint32_t packets = share_of(qp, room).packets;
    if (packets == 0 || r.oldest == r.begun) return bounded(core, room, packets);
    const SendWork& oldest = (*qp.send_queue)[r.oldest];
    if (room_of(oldest) != room || !wire::psn_before(oldest.first_psn, r.unacknowledged))
        return bounded(core, room, packets);
    const uint32_t came =
        std::min(wire::psn_distance(oldest.first_psn, r.unacknowledged), oldest.packets);
    return bounded(core, room, packets - std::min(came, packets));
}

bool has_few_users(Core& core, Room room) {
    return room == Room::peers && budget_of(core, room).users < kFew;
}

void call_next(Core& core, Room room) {
    RoomBudget& budget = budget_of(core, room);
    if (budget.line.empty() || !(budget.is_half_free() || has_few_users(core, room))) return;
    QueuePair& next = core.at(budget.line.pop_front());
    line_of(next, room) = RoomLine::called;
    core.wake(next);
}

void set_counted(Core& core, QueuePair& qp, Room room, uint32_t packets) {
    RoomBudget& budget = budget_of(core, room);
    const uint32_t before = std::exchange(share_of(qp, room).counted, packets);
    budget.due = budget.due + packets - before;
    if ((packets == 0) != (before == 0)) budget.users += packets != 0 ? 1 : UINT32_MAX;
    if (packets != before) call_next(core, room);
}

// Visits all queue pairs, so it must not run often.
void write_off(Core& core, Room room, Instant now) {
    RoomBudget& budget = budget_of(core, room);
    if (now - budget.written_off_at < kPatience) return;
    budget.written_off_at = now;
    core.for_each([&](QueuePair& qp) {
        const RoomShare& share = share_of(qp, room);
        if (share.counted != 0 && now - share.changed_at >= kPatience)
            set_counted(core, qp, room, 0);
    });
}

void wait_in_line(Core& core, QueuePair& qp, Room room, Instant now) {
    core.look_again(qp, now + kPatience);
    RoomLine& place = line_of(qp, room);
    if (place == RoomLine::waits) return;
    place = RoomLine::waits;
    base::Ring<uint32_t>& line = budget_of(core, room).line;
    if (line.full()) line.grow();
    line.push_back(Core::index_of(qp.number));
}

}  // namespace

// One request may fill more than the whole room: it starts when half is free. A lone sender is
// limited only by its window.
bool has_room(Core& core, QueuePair& qp, Instant now, const SendWork& work, uint32_t packets) {
    const auto room = room_of(work);
    if (!room) return true;
    const RoomBudget& budget = budget_of(core, *room);
    RoomLine& place = line_of(qp, *room);
    const RoomShare& share = share_of(qp, *room);
    if (share.counted == 0 && has_few_users(core, *room) && place != RoomLine::waits) {
        place = RoomLine::none;
        return true;
    }
    const auto fits = [&] {
        const uint32_t own = share.counted;
        return budget.due - own + bounded(core, *room, own + packets) <= budget.most ||
               budget.is_half_free();
    };
    const auto is_its_turn = [&] {
        return budget.line.empty() || place == RoomLine::called || budget.due == 0;
    };
    if (!fits()) write_off(core, *room, now);
    if (!fits() || !is_its_turn()) {
        wait_in_line(core, qp, *room, now);
        return false;
    }
    if (place == RoomLine::called) place = RoomLine::none;
    return true;
}

void on_work_begun(Core& core, QueuePair& qp, Instant now, const SendWork& work, uint32_t packets) {
    const auto room = room_of(work);
    if (!room) return;
    share_of(qp, *room).packets += packets;
    on_arrivals(core, qp, now);
}

void on_work_ended(Core& core, QueuePair& qp, const SendWork& work) {
    const auto room = room_of(work);
    if (!room) return;
    RoomShare& share = share_of(qp, *room);
    share.packets -= std::min(work.packets, share.packets);
    set_counted(core, qp, *room, std::min(share.counted, share.packets));
}

void on_arrivals(Core& core, QueuePair& qp, Instant now) {
    for (const Room room : {Room::ours, Room::peers}) {
        RoomShare& share = share_of(qp, room);
        if (share.packets == 0) continue;
        share.changed_at = now;
        set_counted(core, qp, room, under_way(core, qp, room));
    }
}

void forget_rooms(Core& core, QueuePair& qp) {
    for (const Room room : {Room::ours, Room::peers}) {
        share_of(qp, room).packets = 0;
        set_counted(core, qp, room, 0);
        if (std::exchange(line_of(qp, room), RoomLine::none) != RoomLine::waits) continue;
        base::Ring<uint32_t>& line = budget_of(core, room).line;
        for (size_t left = line.size(); left > 0; --left)
            if (const uint32_t index = line.pop_front(); index != Core::index_of(qp.number))
                line.push_back(index);
    }
}

}  // namespace tulle::transport
