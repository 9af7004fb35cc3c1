#include "cluster/host.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "fabric/marking.h"

namespace tulle::cluster {
namespace {

using fabric::Transit;

constexpr uint16_t kOnlyPort = 0;

}  // namespace

HostNode::HostNode(const fabric::Settings& settings, const Framing& framing,
                   fabric::Cabling& cabling, HostPlan plan, const transport::AdapterConfig& adapter)
    : settings_(settings),
      framing_(framing),
      cabling_(cabling),
      plan_(std::move(plan)),
      intake_(settings, cabling, timers_, plan_.port, 1, plan_.receive_buffer_bytes),
      adapter_(adapter),
      memory_(adapter.memory),
      endpoint_(adapter.endpoint.value),
      user_(adapter_, memory_, endpoint_, plan_.send_latency, plan_.mtu),
      answer_bytes_(framing.adapter_envelope() + wire::Bth::kSize + wire::Aeth::kSize +
                    wire::AtomicAckEth::kSize) {
    next_.fill(Instant::never());
    rare_.fill(Instant::never());
    for (uint32_t lane = 0; lane < cabling.lanes(); ++lane) update_room(lane);
}

void HostNode::begin() {
    port_ = &cabling_.port(plan_.port);
    wire::Packet smallest;
    smallest.opcode = wire::opcode_of(wire::Service::rc, wire::Operation::acknowledge);
    const auto set_up = [&](const TollPlan& toll, std::optional<Toll>& to) {
        if (toll.is_slower_than(cabling_.rate(plan_.port), framing_.wire_bytes(smallest)))
            to.emplace(toll);
    };
    set_up(plan_.send_toll, sender_);
    set_up(plan_.receive_toll, receiver_);
    receives_at_once_ = plan_.receive_latency.ps == 0 && !memory_.rate;
    if (plan_.trace != nullptr || plan_.has_tenants || cabling_.telemetry)
        recorder_ = std::make_unique<HostRecorder>(framing_, cabling_, adapter_, plan_.node,
                                                   plan_.port, plan_.trace);
    is_observed_ = recorder_ != nullptr || account_ != nullptr;
    user_.begin();
    if (!plan_.changes.empty()) set(kChange, plan_.changes.front().at);
}

void HostNode::prefetch(uint32_t depth) const {
    const uint32_t& first = cabling_.inbound(plan_.port).packets.head;
    adapter_.prefetch(depth);
    switch (depth) {
        case 1:
            base::prefetch(port_, sizeof(*port_));
            base::prefetch(&first);
            break;
        case 2:
            cabling_.store.prefetch(first);
            cabling_.store.prefetch_packet(first);
            break;
        case 3: cabling_.store.prefetch_behind(first); break;
        default: break;
    }
}

Instant HostNode::advance(Instant until, Ends& ends) {
    if (cabling_.take_fresh(plan_.port)) {
        const fabric::Cabling::Inbound& inbound = cabling_.inbound(plan_.port);
        if (!inbound.packets.empty()) next_[kPackets] = cabling_.store[inbound.packets.head].at;
        if (!inbound.control.empty()) set(kControl, cabling_.store[inbound.control.head].at);
    }
    return account_ == nullptr ? act<false>(until, ends) : act<true>(until, ends);
}

template <bool kHasAccount>
Instant HostNode::act(Instant until, Ends& ends) {
    for (;; ++events_) {
        const auto first = std::ranges::min_element(next_);
        const Instant now = *first;
        if (now >= until) return now;
        switch (first - next_.begin()) {
            case kRare: on_rare(now, ends); break;
            case kPackets: on_packet(now, ends); break;
            case kLine: on_line_free(now, ends); break;
            case kDeadline:
                adapter_.on_timer(now);
                user_.collect(now, ends);
                attend(now);
                break;
        }
        if constexpr (kHasAccount) account_->look(now);
    }
}

void HostNode::on_rare(Instant now, Ends& ends) {
    switch (std::ranges::min_element(rare_) - rare_.begin()) {
        case kControl: return on_control(now);
        case kReceived: return on_received(now, ends);
        case kProcessed: return on_processed(now, ends);
        case kPosting: return on_posting(now);
        case kTimer: return on_timer(now);
        case kChange: return on_change(now);
    }
}

// In.

void HostNode::on_packet(Instant now, Ends& ends) {
    fabric::Cabling::Inbound& inbound = cabling_.inbound(plan_.port);
    const uint32_t index = inbound.packets.pop(cabling_.store);
    next_[kPackets] = Instant::never();
    if (!inbound.packets.empty()) {
        const Transit& following = cabling_.store[inbound.packets.head];
        cabling_.store.prefetch_packet(inbound.packets.head);
        cabling_.store.prefetch(following.next);
        next_[kPackets] = following.at;
    }
    Transit& transit = cabling_.store[index];
    transit.in_lane = transit.lane;
    const bool has_credits = cabling_.has_credits() && transit.lane != fabric::kManagementLane;
    if (has_credits) intake_.receive(kOnlyPort, transit.lane, transit.wire_bytes);
    const bool is_up = port_->is_up;
    if (!is_up || (transit.flags & Transit::kCorrupt) != 0) {
        if (has_credits) intake_.release(now, kOnlyPort, transit.in_lane, transit.wire_bytes);
        cabling_.drop(now, plan_.port, index,
                      is_up ? fabric::Drop::corrupted : fabric::Drop::link_down);
        start(now);
        return;
    }
    if (receiver_) return store(now, index);
    if (has_credits) intake_.release(now, kOnlyPort, transit.in_lane, transit.wire_bytes);
    process(now, index, ends);
}

// The packet is out of the link's buffer, and its time in the adapter begins.
void HostNode::process(Instant now, uint32_t index, Ends& ends) {
    if (receives_at_once_) return hand_to_adapter(now, index, ends);
    // Writes to memory stay in order, so a short packet waits for the long one before it.
    const uint32_t payload = cabling_.store.packet(index).payload_length;
    const Duration takes = plan_.receive_latency + memory_.store(payload);
    last_stored_ = std::max(last_stored_, now + takes);
    cabling_.store[index].at = last_stored_;
    if (processed_.empty()) set(kProcessed, cabling_.store[index].at);
    processed_.push(cabling_.store, index);
    start(now);
}

void HostNode::on_processed(Instant now, Ends& ends) {
    const uint32_t index = processed_.pop(cabling_.store);
    set(kProcessed, processed_.empty() ? Instant::never() : cabling_.store[processed_.head].at);
    hand_to_adapter(now, index, ends);
}

void HostNode::hand_to_adapter(Instant now, uint32_t index, Ends& ends) {
    wire::Packet& packet = cabling_.store.packet(index);
    fabric::apply_marks(cabling_.store[index], settings_.marking, packet);
    if (is_observed_) [[unlikely]]
        receive_observed(now, index);
    else
        adapter_.on_packet(now, packet);
    cabling_.store.give_back(index);
    ++delivered_;
    if (user_.has_completion()) user_.collect(now, ends);
    attend(now);
}

void HostNode::receive_observed(Instant now, uint32_t index) {
    if (account_ != nullptr) account_->receive(now, index);
    if (recorder_ != nullptr)
        recorder_->receive(now, index);
    else
        adapter_.on_packet(now, cabling_.store.packet(index));
}

// If the receiver is slow, the adapter's buffer fills, and the link is paused.
void HostNode::store(Instant now, uint32_t index) {
    const Transit& transit = cabling_.store[index];
    const fabric::Port& port = cabling_.port(plan_.port);
    if (cabling_.has_credits() && transit.in_lane != fabric::kManagementLane) {
        intake_.watch_credits(now, kOnlyPort, transit.in_lane, kOnlyPort);
    } else {
        const bool is_lossless = (port.lossless >> transit.in_lane & 1) != 0;
        const bool fits = is_lossless
                              ? intake_.admit(now, kOnlyPort, transit.in_lane, transit.wire_bytes)
                              : intake_.admit_lossy(0, transit.wire_bytes);
        if (!fits) {
            cabling_.drop(now, plan_.port, index,
                          is_lossless ? fabric::Drop::headroom_full : fabric::Drop::buffer_full);
            return;
        }
        set(kTimer, timers_.next_at());
    }
    const bool was_idle = waiting_.empty();
    waiting_.push(cabling_.store, index);
    if (was_idle) set(kReceived, pay(now, index));
    start(now);
}

// A slow receiver takes time for whole packets. Otherwise only payload goes to memory. It goes
// there as it arrives, so the toll is under way when the last bit is here.
Instant HostNode::pay(Instant now, uint32_t index) {
    const uint32_t wire_bytes = cabling_.store[index].wire_bytes;
    if (is_slow_receiver_) return receiver_->pay(now, wire_bytes);
    const Instant first_bit = now - cabling_.rate(plan_.port).time_for(wire_bytes);
    return std::max(now, receiver_->pay(first_bit, cabling_.store.packet(index).payload_length));
}

void HostNode::on_received(Instant now, Ends& ends) {
    const uint32_t index = waiting_.pop(cabling_.store);
    const Transit transit = cabling_.store[index];
    Instant next = Instant::never();
    if (!waiting_.empty()) next = pay(now, waiting_.head);
    set(kReceived, next);
    intake_.release(now, kOnlyPort, transit.in_lane, transit.wire_bytes);
    process(now, index, ends);
}

void HostNode::on_control(Instant now) {
    const fabric::Cabling::ControlEffect effect = cabling_.on_control(plan_.port, now);
    const fabric::Fifo& control = cabling_.inbound(plan_.port).control;
    set(kControl, control.empty() ? Instant::never() : cabling_.store[control.head].at);
    for (uint32_t lane = 0; lane < cabling_.lanes(); ++lane) {
        if ((effect.paused >> lane & 1) != 0) {
            cabling_.hold(plan_.port, lane, now);
            cabling_.wait(plan_.port, lane).pause_until = effect.until;
            timers_.push({effect.until, fabric::NodeTimer::Kind::pause_ends,
                          static_cast<uint8_t>(lane), kOnlyPort});
            set(kTimer, timers_.next_at());
        } else if ((effect.opened >> lane & 1) != 0) {
            cabling_.let_go(plan_.port, lane, now);
        } else {
            continue;
        }
        update_room(lane);
    }
    attend(now);
}

// Out.

void HostNode::update_room(uint32_t lane) {
    const bool is_held = (cabling_.port(plan_.port).held >> lane & 1) != 0;
    const uint32_t held_room = plan_.answers_pass_pauses ? answer_bytes_ : 0;
    uint32_t room = is_held ? held_room : UINT32_MAX;
    if (cabling_.has_credits() && lane != fabric::kManagementLane)
        room = framing_.room_for_adapter(
            cabling_.out(plan_.port, lane).credits.blocks(cabling_.credit_scale()) *
            cabling_.credit_scale().bytes());
    room_.room_bytes[lane] = room;
}

void HostNode::start(Instant now) {
    if (port_->is_awaited) return;
    if (now < port_->busy_until) return await_line();
    if (!port_->is_up) return;
    if (port_->owed.any()) {
        port_->busy_until = cabling_.transmit_owed(plan_.port, now);
        return await_line();
    }
    // Memory is not ready for the next packet. Only what the port owes may go meanwhile.
    if (sender_ && sender_->is_busy(now)) {
        next_[kLine] = sender_->free_at();
        return;
    }
    if (!adapter_.has_work()) return;
    const uint32_t index = cabling_.store.take();
    if (!adapter_.poll_transmit(now, room_, cabling_.store.packet(index))) {
        cabling_.store.give_back(index);
        if (cabling_.has_credits()) hold_full_lanes(now);
        return;
    }
    transmit(now, index);
    await_line();
}

// With PFC a pause says when a lane is held. With credits the host finds out when it wants to send.
void HostNode::hold_full_lanes(Instant now) {
    for (uint16_t lanes = adapter_.waiting_lanes(now); lanes != 0; lanes &= lanes - 1)
        cabling_.hold(plan_.port, static_cast<uint32_t>(std::countr_zero(lanes)), now);
}

void HostNode::transmit(Instant now, uint32_t index) {
    const wire::Packet& packet = cabling_.store.packet(index);
    Transit& transit = cabling_.store[index];
    transit.destination = packet.destination;
    transit.wire_bytes = framing_.wire_bytes(packet);
    uint8_t flags = framing_.flags(packet);
    if ((flags & Transit::kData) != 0 && (packet.traffic_class & 3) != 0)
        flags |= Transit::kEcnCapable;
    transit.flow = ways_.flow_of(packet, flags);
    transit.flags = flags;
    transit.hops = 0;
    transit.tail_ps = 0;
    transit.lane = plan_.lane_of(settings_.qos, packet.traffic_class, packet.service_level);
    const uint8_t lane = transit.lane;
    const uint32_t payload = packet.payload_length;
    if (is_observed_) [[unlikely]]
        port_->busy_until = transmit_observed(now, index);
    else
        port_->busy_until = cabling_.transmit(*port_, index, now);
    if (sender_) sender_->pay(now, payload);
    if (!cabling_.has_credits()) return;
    cabling_.let_go(plan_.port, lane, now);
    update_room(lane);
}

Instant HostNode::transmit_observed(Instant now, uint32_t index) {
    if (cabling_.telemetry) recorder_->begin_telemetry(index);
    if (account_ == nullptr) return cabling_.transmit(*port_, index, now);
    const bool is_blind = account_->is_blind(now);
    account_->carry_mark(index);
    if (!is_blind && account_->begin_packet(now, index))
        cabling_.store[index].flags |= Transit::kWatched;
    const uint32_t wire_bytes = cabling_.store[index].wire_bytes;
    const Instant line_end = cabling_.transmit(*port_, index, now);
    if (is_blind) {
        account_->pass_over(line_end);
        return line_end;
    }
    Duration repeats{};
    if (port_->has_errors && settings_.link.bit_errors == fabric::BitErrors::retransmitted)
        repeats = line_end - now - cabling_.line_time(plan_.port, wire_bytes);
    account_->end_packet(now, line_end, std::max(repeats, Duration{}));
    return line_end;
}

// What ECMP hashes: addresses and the UDP source port; the other ports are the same for all.
uint32_t HostWays::flow_of(const wire::Packet& packet, uint8_t& flags) const {
    for (const FixedPath& path : paths_) {
        if (path.endpoint != packet.destination || path.entropy != packet.entropy) continue;
        flags |= Transit::kFixedPath;
        return path.path;
    }
    const uint64_t tuple =
        uint64_t{packet.source} << 40 ^ uint64_t { packet.destination } << 16 ^ packet.entropy;
    return static_cast<uint32_t>(base::mix64(tuple) >> 32);
}

void HostNode::on_line_free(Instant now, Ends& ends) {
    port_->is_awaited = false;
    next_[kLine] = Instant::never();
    const bool is_fetching = sender_ && sender_->is_busy(now);
    if (plan_.completes_when_sent && !is_fetching) user_.collect(now, ends);
    attend(now);
}

Instant HostNode::add(const Posting& posting) {
    const Instant at = user_.add(posting);
    set(kPosting, user_.next_at());
    return at;
}

void HostNode::on_posting(Instant now) {
    user_.post_next(now);
    set(kPosting, user_.next_at());
    attend(now);
}

// Timers, and changes from outside.

void HostNode::on_timer(Instant now) {
    const fabric::NodeTimer timer = timers_.pop();
    switch (timer.kind) {
        case fabric::NodeTimer::Kind::pause_ends:
            if (now < cabling_.wait(plan_.port, timer.lane).pause_until) break;
            cabling_.let_go(plan_.port, timer.lane, now);
            update_room(timer.lane);
            break;
        case fabric::NodeTimer::Kind::pause_again:
            intake_.on_pause_again(now, kOnlyPort, timer.lane);
            break;
        case fabric::NodeTimer::Kind::pause_storm:
            if (!is_storming_) break;
            cabling_.port(plan_.port).owed.pause |= cabling_.port(plan_.port).lossless;
            timers_.push({cabling_.told_again_at(plan_.port, now), timer.kind, 0, kOnlyPort});
            break;
        default: break;
    }
    set(kTimer, timers_.next_at());
    attend(now);
}

void HostNode::on_change(Instant now) {
    const HostChange& change = plan_.changes[next_change_++];
    set(kChange,
        next_change_ < plan_.changes.size() ? plan_.changes[next_change_].at : Instant::never());
    fabric::Port& port = cabling_.port(plan_.port);
    switch (change.kind) {
        case HostChange::Kind::port_down:
        case HostChange::Kind::port_up:
            port.is_up = change.kind == HostChange::Kind::port_up;
            for (uint32_t lane = 0; lane < cabling_.lanes(); ++lane) {
                cabling_.let_go(plan_.port, lane, now);
                update_room(lane);
            }
            if (port.is_up) intake_.tell_all(kOnlyPort);
            break;
        case HostChange::Kind::management:
            cabling_.send_management(plan_.port, change.bytes, now);
            if (port.is_awaited) await_line();  // the line falls free later
            return;
        case HostChange::Kind::pause_storm:
            if (port.lossless == 0) break;  // there is no priority to pause
            is_storming_ = true;
            intake_.begin_storm(now, kOnlyPort);
            timers_.push({now, fabric::NodeTimer::Kind::pause_storm, 0, kOnlyPort});
            set(kTimer, timers_.next_at());
            break;
        case HostChange::Kind::pause_storm_end:
            is_storming_ = false;
            intake_.end_storm(now, kOnlyPort);
            port.owed.resume |= port.lossless;
            break;
        case HostChange::Kind::slow_receiver:
            receiver_.emplace(TollPlan{plan_.receive_toll.per_packet, *change.rate});
            is_slow_receiver_ = true;
            break;
    }
    attend(now);
}

HostAccount& HostNode::account() {
    if (account_ == nullptr)
        account_ = std::make_unique<HostAccount>(
            adapter_, cabling_, memory_,
            HostAccount::Ground{
                .port = plan_.port,
                .receive_latency = plan_.receive_latency,
                .send_toll = sender_ ? &*sender_ : nullptr,
                .has_window = plan_.has_window,
                .keeps_order = fabric::keeps_flows_together(settings_.route.choice)});
    user_.tell(*account_);
    is_observed_ = true;
    return *account_;
}

void HostNode::finish(Instant now) {
    if (account_ != nullptr) account_->finish(now);
    intake_.finish(now);
    for (uint32_t lane = 0; lane < cabling_.lanes(); ++lane) cabling_.let_go(plan_.port, lane, now);
}

}  // namespace tulle::cluster
