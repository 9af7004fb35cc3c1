// The ports of a switch, numbered from 0: a part of the cabling. Each lane of an output port has a
// queue.
#pragma once

#include <algorithm>
#include <vector>

#include "base/hot.h"
#include "fabric/intake.h"
#include "fabric/switch_plan.h"

namespace tulle::fabric {

class SwitchPorts {
public:
    SwitchPorts(const Settings& of_switch, Cabling& of, const SwitchPlan& plan);
    // Call when the cabling is complete.
    void begin();
    // Updates the flags of a port that has come up or gone down.
    void settle(Port& port) const;

    uint16_t count() const { return count_; }
    uint32_t first() const { return first_; }
    uint32_t lanes() const { return lanes_; }
    // The number that the cabling has for the port.
    uint32_t global(uint32_t port) const { return first_ + port; }

    Port& operator[](uint32_t port) { return ports_[port]; }
    Cabling::Inbound& inbound(uint32_t port) { return inbound_[port]; }
    LaneOut& out(uint32_t port, uint32_t lane) { return outs_[port * lanes_ + lane]; }
    LaneWait& wait(uint32_t port, uint32_t lane) { return cabling.wait(global(port), lane); }
    Intake::Input input(uint32_t port, uint32_t lane) {
        return {ports_[port], ins_[port * lanes_ + lane], static_cast<uint16_t>(port),
                static_cast<uint8_t>(lane)};
    }
    PortEvents& counters(uint32_t port) { return cabling.counters(global(port)); }

    // The packet's sender spent credits on it.
    bool spends_credits(const Transit& transit) const {
        return has_credits_ && transit.in_lane != kManagementLane;
    }
    // Nothing waits or is in the way: a packet would be stored and taken out at once.
    TULLE_HOT static bool lets_through(const Port& to, Instant now) {
        return now >= to.busy_until && (to.filled | to.held | to.storming) == 0 && !to.owed.any() &&
               to.lets_through;
    }

    TULLE_HOT void push(Instant now, uint32_t port, uint32_t index, const Transit& transit);
    TULLE_HOT uint32_t take_first(Instant now, uint32_t port, uint32_t lane);
    // For the journal: what is ahead of a packet that arrives.
    void note_arrival(Instant now, uint32_t port, uint32_t index);

    void sample(TraceSample::Kind kind, Instant now, uint32_t port, uint32_t lane, uint64_t value) {
        if (trace_ != nullptr) [[unlikely]]
            keep_sample(kind, now, port, lane, value);
    }

    // Prefetches the ports; then the first packet to arrive at each, and one that is first to
    // leave; then the packets behind those. From then on each packet prefetches the next but one.
    void prefetch() const;
    void prefetch_first() const;
    void prefetch_second() const;

    const Settings& settings;  // of the switch
    Cabling& cabling;

private:
    uint32_t own_bytes_ahead(const LaneOut& lane, uint32_t index);
    void keep_sample(TraceSample::Kind kind, Instant now, uint32_t port, uint32_t lane,
                     uint64_t value);

    Port* ports_ = nullptr;  // in the cabling, from this switch's first port on
    LaneOut* outs_ = nullptr;
    LaneIn* ins_ = nullptr;
    Cabling::Inbound* inbound_ = nullptr;
    std::vector<TraceSample>* trace_;
    uint32_t node_;
    uint32_t first_;
    uint32_t lanes_;
    uint16_t count_;
    bool has_credits_;
    bool cuts_through_;
    bool uses_lifetime_;  // of the head of a queue
};

inline void SwitchPorts::push(Instant now, uint32_t port, uint32_t index, const Transit& transit) {
    Port& to = ports_[port];
    const uint16_t bit = bit_of(transit.lane);
    LaneOut& lane = out(port, transit.lane);
    if (lane.bytes == 0 && (uses_lifetime_ || (to.held & bit) != 0))
        wait(port, transit.lane).held_since = wait(port, transit.lane).head_since = now;
    lane.queue.push(cabling.store, index);
    lane.bytes += transit.wire_bytes;
    to.queued_bytes += transit.wire_bytes;
    to.peak_queue_bytes = std::max(to.peak_queue_bytes, to.queued_bytes);
    to.filled |= bit;
    sample(TraceSample::Kind::queue_bytes, now, port, transit.lane, lane.bytes);
}

inline uint32_t SwitchPorts::take_first(Instant now, uint32_t port, uint32_t lane) {
    Port& to = ports_[port];
    LaneOut& from = out(port, lane);
    const uint32_t index = from.queue.pop(cabling.store);
    const uint32_t bytes = cabling.store[index].wire_bytes;
    from.bytes -= bytes;
    to.queued_bytes -= bytes;
    if (from.bytes != 0) return index;
    to.filled = static_cast<uint16_t>(to.filled & ~bit_of(lane));
    sample(TraceSample::Kind::queue_bytes, now, port, lane, 0);
    if ((to.held & bit_of(lane)) != 0) [[unlikely]]
        wait(port, lane).held_ps += static_cast<uint64_t>((now - wait(port, lane).held_since).ps);
    return index;
}

}  // namespace tulle::fabric
