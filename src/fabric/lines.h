// The lines out of a switch: when each is free, and what goes onto it next. As packets leave, the
// room that they took falls free.
//
// On Ethernet that is when the packet begins to leave. A packet that does not wait is therefore not
// counted as stored, and a line that nobody waits for falls free without an event: most packets are
// one event. Credits are for the whole packet in the buffer, and come back when its last bit has
// left.
#pragma once

#include "fabric/arbitration.h"
#include "fabric/holds.h"
#include "fabric/marker.h"
#include "fabric/storage.h"
#include "fabric/time_tree.h"

namespace tulle::fabric {

class Lines {
public:
    Lines(const Settings& settings, Cabling& cabling, SwitchPlan& plan, RareEvents& rare,
          Warnings& warnings, base::RandomStream& random);

    SwitchPorts& ports() { return ports_; }
    const SwitchPorts& ports() const { return ports_; }
    Storage& storage() { return storage_; }
    const Storage& storage() const { return storage_; }
    Holds& holds() { return holds_; }
    Marker& marker() { return marker_; }

    // The next line to fall free that is waited for (time_tree.h).
    uint64_t first_key() const { return free_.first_key(); }
    Instant first_at() const { return free_.first_at(); }
    template <bool kCredits>
    TULLE_HOT void on_free(Instant now, uint32_t port);

    // Something waits for the line: sends it now, or when the line is free. A line that is idle and
    // waits for a packet's tail sends what is owed meanwhile.
    void start(Instant now, uint32_t port) {
        if (ports_[port].is_awaited && !(cuts_through_ && is_idle_for_owed(now, port))) return;
        if (now < ports_[port].busy_until)
            await(port);
        else
            start_idle(now, port);
    }
    // Asks for an event at the end of what is on the line.
    void await(uint32_t port) {
        ports_[port].is_awaited = true;
        free_.set_near(port, ports_[port].busy_until);
    }
    // Puts a packet onto the line at once.
    TULLE_HOT void send(Instant now, uint32_t port, uint32_t index) {
        if (marks_at_dequeue_) marker_.mark(now, port, index);
        ports_[port].busy_until = ports_.cabling.transmit(ports_[port], index, now);
    }
    // Puts a packet into its queue.
    TULLE_HOT void enqueue(Instant now, uint32_t port, uint32_t index, const Transit& transit) {
        ports_.push(now, port, index, transit);
        start(now, port);
    }

    // A packet has left that was stored: `in` is its Transit::in_port.
    TULLE_HOT void release(Instant now, uint32_t in, uint8_t lane, uint32_t bytes);
    void drop_stored(Instant now, uint32_t port, uint32_t index, Drop cause);
    void drop_first(Instant now, uint16_t port, uint32_t lane, Drop cause);
    void drop_lane(Instant now, uint16_t port, uint32_t lane, Drop cause);

    // Of a lane that is held.
    void on_timer(Instant now, const NodeTimer& timer);
    // Warns the neighbours if the queue of a port has become long, or is long no more.
    void watch(Instant now, uint32_t port, uint32_t queued_bytes);

    void prefetch() const;

private:
    void start_idle(Instant now, uint32_t port);
    bool is_idle_for_owed(Instant now, uint32_t port) {
        return ports_[port].owed.any() && ports_[port].busy_until < now;
    }
    template <bool kCredits>
    TULLE_HOT void use(Instant now, uint32_t port);
    TULLE_HOT void free_buffer(Instant now, uint32_t port);
    // The lane whose first packet is sent now. kNoLane: something else was sent, or nothing may be.
    TULLE_HOT uint32_t lane_to_send(Instant now, uint32_t port);
    uint32_t lane_with_care(Instant now, uint32_t port, uint32_t eligible);
    uint32_t pick(Instant now, uint32_t port);
    TULLE_HOT uint32_t take_first(Instant now, uint32_t port, uint32_t lane);
    [[gnu::noinline]] void watch_head(Instant now, uint32_t port, uint32_t lane);
    bool must_wait_for_tail(Instant now, uint32_t port, const Transit& transit);
    // The line is busy now: asks for an event at its end if something waits for it.
    void await_next(uint32_t port) {
        const Port& to = ports_[port];
        if (!to.is_awaited && (to.filled != 0 || to.sending_bytes != 0 || to.owed.any()))
            await(port);
    }

    SwitchPorts ports_;
    TimeTree free_;  // by port: when the line falls free, if it is waited for
    Storage storage_;
    Holds holds_;
    Marker marker_;
    Arbiter arbiter_;
    Warnings& warnings_;
    bool has_credits_;
    bool cuts_through_;
    bool marks_at_dequeue_;
    bool watches_heads_;  // something acts on packets that leave queues
};

constexpr bool is_several(uint32_t lanes) {
    return (lanes & (lanes - 1)) != 0;
}

template <bool kCredits>
void Lines::on_free(Instant now, uint32_t port) {
    Port& to = ports_[port];
    to.is_awaited = false;
    if constexpr (kCredits) {
        free_buffer(now, port);
        if (to.is_awaited) return;
    }
    // The packet that waited is gone, and another one went straight onto the line.
    if (now < to.busy_until) return await(port);
    use<kCredits>(now, port);
    if (!to.is_awaited) free_.clear(port);
}

// The last bit of the packet on the line has left.
inline void Lines::free_buffer(Instant now, uint32_t port) {
    Port& to = ports_[port];
    const uint32_t bytes = to.sending_bytes;
    if (bytes == 0) return;
    to.sending_bytes = 0;
    const bool is_noted =
        ports_.cabling.journal != nullptr && !storage_.is_copy(to.sending_in_port);
    if (is_noted && ports_[to.sending_in_port].peer_needs_credits) [[unlikely]]
        ports_.cabling.note_left(ports_.global(to.sending_in_port), to.sending_in_lane,
                                 ports_.global(port), to.sending_in_lane, now);
    release(now, to.sending_in_port, to.sending_in_lane, bytes);
}

template <bool kCredits>
void Lines::use(Instant now, uint32_t port) {
    const uint32_t lane = lane_to_send(now, port);
    if (lane == kNoLane) return;
    Port& to = ports_[port];
    const uint32_t index = take_first(now, port, lane);
    const Transit& transit = ports_.cabling.store[index];
    const uint16_t in = transit.in_port;
    const uint8_t in_lane = transit.in_lane;
    const uint32_t bytes = transit.wire_bytes;
    send(now, port, index);
    if (kCredits) {
        to.sending_bytes = bytes;
        to.sending_in_port = in;
        to.sending_in_lane = in_lane;
    } else if (!storage_.is_copy(in)) [[likely]] {
        storage_.intake().release_bytes(now, ports_.input(in, in_lane), bytes);
        if (ports_[in].owed.any()) [[unlikely]]
            start(now, in);
    } else {
        release(now, in, in_lane, bytes);
    }
    await_next(port);
}

inline uint32_t Lines::lane_to_send(Instant now, uint32_t port) {
    Port& to = ports_[port];
    const auto eligible = static_cast<uint32_t>(to.filled & ~to.held);
    if (!to.lets_through || to.owed.any() || is_several(eligible)) [[unlikely]]
        return lane_with_care(now, port, eligible);
    return eligible == 0 ? kNoLane : static_cast<uint32_t>(std::countr_zero(eligible));
}

inline uint32_t Lines::take_first(Instant now, uint32_t port, uint32_t lane) {
    const uint32_t index = ports_.take_first(now, port, lane);
    if (watches_heads_) [[unlikely]]
        watch_head(now, port, lane);
    return index;
}

inline void Lines::release(Instant now, uint32_t in, uint8_t lane, uint32_t bytes) {
    const uint32_t free = storage_.release(now, in, lane, bytes);
    if (free != Storage::kNoPort && ports_[free].owed.any()) start(now, free);
}

}  // namespace tulle::fabric
