#include "fabric/intake.h"

#include <algorithm>
#include <utility>

namespace tulle::fabric {
namespace {

constexpr uint32_t kLargePacketBytes = 4096 + 64;

}  // namespace

Intake::Intake(const Settings& settings, Cabling& cabling, NodeTimers& timers, uint32_t first_port,
               uint16_t ports, uint64_t shared_bytes)
    : settings_(settings),
      cabling_(cabling),
      timers_(timers),
      first_port_(first_port),
      ports_(ports),
      full_blocks_(
          std::min(cabling.credit_scale().blocks_of(kLargePacketBytes), cabling.capacity_blocks())),
      free_blocks_(std::min(4 * full_blocks_, cabling.capacity_blocks() / 2)),
      buffer_(settings, shared_bytes) {}

void Intake::pause_peer(Instant now, uint16_t in, uint8_t lane) {
    Port& port = cabling_.port(first_port_ + in);
    port.owed.resume = static_cast<uint16_t>(port.owed.resume & ~bit_of(lane));
    port.owed.pause |= bit_of(lane);
    LaneIn& input = cabling_.in(first_port_ + in, lane);
    input.told_at = now;
    if (input.has_timer) return;
    input.has_timer = true;
    timers_.push(
        {cabling_.told_again_at(first_port_ + in, now), NodeTimer::Kind::pause_again, lane, in});
}

void Intake::resume_peer(Instant now, uint16_t in, uint8_t lane) {
    blame_.end(cabling_.in(first_port_ + in, lane), in, lane, now);
    Port& port = cabling_.port(first_port_ + in);
    port.owed.pause = static_cast<uint16_t>(port.owed.pause & ~bit_of(lane));
    port.owed.resume |= bit_of(lane);
}

// Repeats a pause before the one that the peer was told of runs out.
void Intake::on_pause_again(Instant now, uint16_t in, uint8_t lane) {
    LaneIn& input = cabling_.in(first_port_ + in, lane);
    input.has_timer = false;
    if (!input.is_full) return;
    const Instant due = cabling_.told_again_at(first_port_ + in, input.told_at);
    if (now >= due) return pause_peer(now, in, lane);
    input.has_timer = true;
    timers_.push({due, NodeTimer::Kind::pause_again, lane, in});
}

void Intake::tell_all(uint16_t in) {
    Port& port = cabling_.port(first_port_ + in);
    for (uint32_t lane = 0; lane < cabling_.lanes(); ++lane) {
        if (cabling_.has_credits()) port.owed.credits |= bit_of(lane);
        if (settings_.flow_control == FlowControl::pfc &&
            cabling_.in(first_port_ + in, lane).is_full)
            port.owed.pause |= bit_of(lane);
    }
}

void Intake::begin_storm(Instant now, uint16_t in) {
    for (uint8_t lane = 0; lane < cabling_.lanes(); ++lane) {
        LaneIn& input = cabling_.in(first_port_ + in, lane);
        if ((cabling_.port(first_port_ + in).lossless & bit_of(lane)) != 0 && !input.is_full)
            begin_blame(now, input, lane, in);
    }
}

void Intake::end_storm(Instant now, uint16_t in) {
    for (uint8_t lane = 0; lane < cabling_.lanes(); ++lane) {
        LaneIn& input = cabling_.in(first_port_ + in, lane);
        if (input.is_full) blame_.end(input, in, lane, now);
    }
}

uint16_t Intake::culprit_of(uint8_t lane, uint32_t to) const {
    auto culprit = static_cast<uint16_t>(to);
    const auto queued = [&](uint16_t port) { return cabling_.out(first_port_ + port, lane).bytes; };
    for (uint16_t port = 0; port < ports_; ++port)
        if (queued(port) > queued(culprit)) culprit = port;
    return culprit;
}

void Intake::finish(Instant now) {
    for (uint16_t in = 0; in < ports_; ++in) end_storm(now, in);
}

}  // namespace tulle::fabric
