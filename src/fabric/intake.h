// The input side of a node: which packets it stores, and what it tells the ports that feed it: PFC
// pauses or InfiniBand credits. Switches and hosts have one each.
//
// It only notes in the port what is owed; the owner sends that when the line is free.
#pragma once

#include "fabric/blame.h"
#include "fabric/buffer.h"
#include "fabric/cabling.h"
#include "fabric/timers.h"

namespace tulle::fabric {

class Intake {
public:
    // A lane of an input port, and the numbers of both.
    struct Input {
        const Port& port;
        LaneIn& lane;
        uint16_t in;
        uint8_t number;
    };

    Intake(const Settings& settings, Cabling& cabling, NodeTimers& timers, uint32_t first_port,
           uint16_t ports, uint64_t shared_bytes);

    // False: no room for the packet, which waits for the port `to`.
    bool admit(Instant now, const Input& input, uint32_t bytes, uint32_t to) {
        const uint8_t doublings = input.port.alpha_doublings;
        if (!buffer_.admit_lossless(input.lane, bytes, input.port.headroom_bytes, doublings))
            return false;
        if (!input.lane.is_full && buffer_.wants_pause(input.lane, doublings)) {
            begin_blame(now, input.lane, input.number, culprit_of(input.number, to));
            pause_peer(now, input.in, input.number);
        }
        return true;
    }
    bool admit(Instant now, uint16_t in, uint8_t lane, uint32_t bytes) {
        return admit(now, input_of(in, lane), bytes, in);
    }
    bool admit_lossy(uint32_t queue_bytes, uint32_t bytes) {
        return buffer_.admit_lossy(queue_bytes, bytes);
    }
    // The sender spent credits on the packet, so there is room.
    void receive(uint16_t in, uint8_t lane, uint32_t bytes) {
        cabling_.receive_blocks(first_port_ + in, lane, bytes);
    }
    void watch_credits(Instant now, uint16_t in, uint8_t lane, uint32_t to) {
        LaneIn& input = cabling_.in(first_port_ + in, lane);
        if (!input.is_full && room_blocks(input) < full_blocks_)
            begin_blame(now, input, lane, culprit_of(lane, to));
    }

    // The packet has left the node.
    void release(Instant now, uint16_t in, uint8_t lane, uint32_t bytes) {
        if (!cabling_.has_credits() || lane == kManagementLane)
            return release_bytes(now, input_of(in, lane), bytes);
        LaneIn& input = cabling_.in(first_port_ + in, lane);
        cabling_.release_blocks(first_port_ + in, lane, bytes);
        if (input.is_full && room_blocks(input) >= free_blocks_) blame_.end(input, in, lane, now);
    }
    // The same without credits.
    void release_bytes(Instant now, const Input& input, uint32_t bytes) {
        if ((input.port.lossless >> input.number & 1) == 0) return buffer_.release_lossy(bytes);
        buffer_.release_lossless(input.lane, bytes);
        if (input.lane.is_full && buffer_.wants_resume(input.lane, input.port.alpha_doublings))
            resume_peer(now, input.in, input.number);
    }

    void pause_peer(Instant now, uint16_t in, uint8_t lane);
    void on_pause_again(Instant now, uint16_t in, uint8_t lane);
    // The link is up again: repeats what the peer forgot or missed.
    void tell_all(uint16_t in);

    // A fault: the node pauses its peer for no reason.
    void begin_storm(Instant now, uint16_t in);
    void end_storm(Instant now, uint16_t in);

    void finish(Instant now);
    const Buffer& buffer() const { return buffer_; }
    const BlameBook& blame() const { return blame_; }

private:
    Input input_of(uint16_t in, uint8_t lane) const {
        return {cabling_.port(first_port_ + in), cabling_.in(first_port_ + in, lane), in, lane};
    }
    uint32_t room_blocks(const LaneIn& input) const {
        return cabling_.capacity_blocks() - input.credits.used_blocks;
    }
    void resume_peer(Instant now, uint16_t in, uint8_t lane);
    void begin_blame(Instant now, LaneIn& input, uint8_t lane, uint16_t culprit) {
        const uint64_t held_ps =
            cabling_.journal != nullptr ? cabling_.held_ps(first_port_ + culprit, lane, now) : 0;
        blame_.begin(input, first_port_, culprit, held_ps, now);
    }
    // The output port to blame for a full buffer: the one with the longest queue of the lane. If
    // nothing is queued yet, the one that the packet waits for.
    uint16_t culprit_of(uint8_t lane, uint32_t to) const;

    const Settings& settings_;
    Cabling& cabling_;
    NodeTimers& timers_;
    uint32_t first_port_;
    uint16_t ports_;
    uint32_t full_blocks_;  // with less room, the peer cannot send a large packet
    uint32_t free_blocks_;  // with this much room, it can send several again
    Buffer buffer_;
    BlameBook blame_;
};

}  // namespace tulle::fabric
