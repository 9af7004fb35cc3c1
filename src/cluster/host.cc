#include "cluster/host.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "fabric/marking.h"

namespace tulle::cluster {
namespace {

using fabric::Transit;

constexpr uint64_t kMemoryBytes = uint64_t{1} << 46;  // modelled: only addresses exist
constexpr uint16_t kOnlyPort = 0;
constexpr uint64_t kTask = uint64_t{1} << 32;  // in the id of a request: it belongs to a program

// Orders by time, and at one instant by number, in whatever order postings were added.
bool is_later(const Posting& a, const Posting& b) {
    return a.at != b.at ? a.at > b.at : a.id > b.id;
}

uint64_t peer_key(uint32_t endpoint, transport::Qpn qpn) {
    return uint64_t{endpoint} << 32 | qpn.value;
}

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
      pd_(adapter_.memory().create_pd()),
      cq_(adapter_.create_cq(1)),
      answer_bytes_(framing.adapter_envelope() + wire::Bth::kSize + wire::Aeth::kSize +
                    wire::AtomicAckEth::kSize) {
    const uint32_t rights =
        transport::kLocalWrite | transport::kRemoteWrite | transport::kRemoteRead;
    key_ = *adapter_.memory().register_region({pd_, 0, kMemoryBytes, nullptr, rights});
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
    is_recorded_ = plan_.trace != nullptr || plan_.has_tenants || cabling_.telemetry;
    is_observed_ = is_recorded_ || account_ != nullptr;
    room_for_completions_ = completions_;
    TULLE_CHECK(adapter_.resize_cq(cq_, completions_) == transport::Refusal::none);
    if (!plan_.changes.empty()) set(kChange, plan_.changes.front().at);
}

// An event is one packet or timer, and its completions are collected before the next event.
void HostNode::make_room_for(uint32_t count) {
    constexpr uint32_t kReceives = 16;  // returned at once by an error
    if (count + kReceives <= room_for_completions_) return;
    room_for_completions_ = std::max(completions_, count + kReceives);
    TULLE_CHECK(adapter_.resize_cq(cq_, room_for_completions_) == transport::Refusal::none);
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
                collect(now, ends);
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
    cabling_.store[index].at = stored_at(now, index);
    if (processed_.empty()) set(kProcessed, cabling_.store[index].at);
    processed_.push(cabling_.store, index);
    start(now);
}

// Writes to memory stay in order, so a short packet waits for the long one before it.
Instant HostNode::stored_at(Instant now, uint32_t index) {
    const uint32_t payload = cabling_.store.packet(index).payload_length;
    const Duration takes = plan_.receive_latency + memory_.store(payload);
    return last_stored_ = std::max(last_stored_, now + takes);
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
    if (adapter_.has_completion(cq_)) collect(now, ends);
    attend(now);
}

void HostNode::receive_observed(Instant now, uint32_t index) {
    if (account_ != nullptr && (cabling_.store[index].flags & Transit::kWatched) != 0)
        account_->receive(now, index);
    const wire::Packet& packet = cabling_.store.packet(index);
    if (!is_recorded_) return adapter_.on_packet(now, packet);
    const uint64_t violations = adapter_.counters().pkey_violations;
    take_packet(now, index);
    if (adapter_.counters().pkey_violations != violations)
        ++cabling_.refused[{
            .port = plan_.port, .source = packet.source, .destination = packet.destination}];
    if (plan_.trace != nullptr) sample_rate(now, packet);
}

// A data packet leaves its telemetry here for the next answer; an answer brings some back.
void HostNode::take_packet(Instant now, uint32_t index) {
    const wire::Packet& packet = cabling_.store.packet(index);
    if (!cabling_.telemetry) return adapter_.on_packet(now, packet);
    const wire::Telemetry& told = cabling_.telemetry->of(index);
    if (!is_data(packet)) return adapter_.on_telling_packet(now, packet, told);
    if (const transport::QueuePair* qp = adapter_.query_qp(packet.dest_qp()))
        to_return_[peer_key(packet.source, qp->dest_qpn)] = told;
    adapter_.on_packet(now, packet);
}

void HostNode::begin_telemetry(uint32_t index) {
    const wire::Packet& packet = cabling_.store.packet(index);
    wire::Telemetry& telemetry = cabling_.telemetry->of(index);
    telemetry.clear();
    if (is_data(packet)) return;
    const auto found = to_return_.find(peer_key(packet.destination, packet.dest_qp()));
    if (found != to_return_.end()) telemetry = found->second;
}

// For timelines: the rate at which a queue pair may send when an answer or a notification arrives.
// A queue pair with a window has no rate.
void HostNode::sample_rate(Instant now, const wire::Packet& packet) {
    if (is_data(packet)) return;
    const transport::QueuePair* qp = adapter_.query_qp(packet.dest_qp());
    if (qp == nullptr || qp->congestion.algorithm == transport::Algorithm::none ||
        qp->congestion.has_window())
        return;
    constexpr uint32_t kBytes = 65'536;
    constexpr uint64_t kBitPicoseconds = 8'000'000'000'000;
    const Duration gap = std::max(transport::would_send(qp->congestion, now, kBytes) - now,
                                  cabling_.rate(plan_.port).time_for(kBytes));
    plan_.trace->push_back({now, fabric::TraceSample::Kind::rate, 0, kOnlyPort, plan_.node,
                            kBytes * kBitPicoseconds / static_cast<uint64_t>(gap.ps),
                            packet.dest_qp().value, packet.source});
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

void HostNode::collect(Instant now, Ends& ends) {
    std::array<transport::Completion, 16> completions;
    while (const size_t count = adapter_.poll_completion(cq_, completions))
        for (size_t i = 0; i < count; ++i) note(now, completions[i], ends);
}

void HostNode::note(Instant now, const transport::Completion& completion, Ends& ends) {
    using transport::CompletionKind;
    const bool has_arrived = completion.kind == CompletionKind::receive_write_with_immediate;
    if (has_arrived || completion.kind == CompletionKind::receive) ++messages_received_;
    if (completion.kind == CompletionKind::receive) return;
    const auto id = static_cast<uint32_t>(completion.id);
    const bool is_task = has_arrived || (completion.id & kTask) != 0;
    if (account_ != nullptr)
        account_->note(has_arrived ? MessageNote::Kind::arrived : MessageNote::Kind::completed, now,
                       has_arrived ? completion.immediate_or_rkey : id, is_task, completion.qpn);
    if (!is_task) return ends.flows.push_back({id, completion.status, now});
    ends.tasks.push_back({now, has_arrived ? completion.immediate_or_rkey : id, endpoint_,
                          completion.status, has_arrived});
    if (has_arrived) adapter_.post_receive(completion.qpn, {});
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
    if (!adapter_.has_work()) return;
    const uint32_t index = cabling_.store.take();
    if (!adapter_.poll_transmit(now, room_, cabling_.store.packet(index))) {
        cabling_.store.give_back(index);
        return hold_full_lanes(now);
    }
    transmit(now, index);
    await_line();
}

// With PFC a pause says when a lane is held. With credits the host finds out when it wants to send.
void HostNode::hold_full_lanes(Instant now) {
    if (!cabling_.has_credits()) return;
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
    transit.flow = flow_of(packet, flags);
    transit.flags = flags;
    transit.hops = 0;
    transit.tail_ps = 0;
    transit.lane = lane_of(packet.traffic_class, packet.service_level);
    const uint8_t lane = transit.lane;
    const uint32_t payload = packet.payload_length;
    if (is_observed_) [[unlikely]]
        port_->busy_until = transmit_observed(now, index);
    else
        port_->busy_until = cabling_.transmit(*port_, index, now);
    if (sender_) port_->busy_until = std::max(port_->busy_until, sender_->pay(now, payload));
    if (!cabling_.has_credits()) return;
    cabling_.let_go(plan_.port, lane, now);
    update_room(lane);
}

Instant HostNode::transmit_observed(Instant now, uint32_t index) {
    if (cabling_.telemetry) begin_telemetry(index);
    if (account_ == nullptr) return cabling_.transmit(*port_, index, now);
    const bool is_blind = account_->is_blind(now);
    if (!is_blind && account_->begin_packet(now, index))
        cabling_.store[index].flags |= Transit::kWatched;
    const Duration once = cabling_.line_time(plan_.port, cabling_.store[index].wire_bytes);
    const Instant line_end = cabling_.transmit(*port_, index, now);
    const bool may_repeat =
        port_->has_errors && settings_.link.bit_errors == fabric::BitErrors::retransmitted;
    const Duration repeats = may_repeat ? line_end - now - once : Duration{};
    if (is_blind)
        account_->pass_over(line_end);
    else
        account_->end_packet(now, line_end, std::max(repeats, Duration{}));
    return line_end;
}

// What ECMP hashes: addresses and the UDP source port; the other ports are the same for all.
uint32_t HostNode::flow_of(const wire::Packet& packet, uint8_t& flags) const {
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
    if (plan_.completes_when_sent) collect(now, ends);
    attend(now);
}

// When the first packet of a posting is in the adapter. A READ has nothing to fetch here. The
// requests of a queue pair stay in order.
Instant HostNode::fetched_at(const Posting& posting) {
    Instant at = posting.at + plan_.send_latency;
    if (memory_.is_free()) return at;
    if (posting.work != transport::Work::read && posting.bytes > memory_.max_inline)
        at += memory_.fetch(std::min<uint64_t>(posting.bytes, plan_.mtu));
    const uint32_t place = transport::Core::index_of(posting.qpn);
    if (place >= last_fetched_.size()) last_fetched_.resize(place + 1);
    return last_fetched_[place] = std::max(last_fetched_[place], at);
}

Instant HostNode::add(Posting posting) {
    posting.at = fetched_at(posting);
    postings_.push_back(posting);
    std::ranges::push_heap(postings_, is_later);
    set(kPosting, postings_.front().at);
    return posting.at;
}

void HostNode::on_posting(Instant now) {
    std::ranges::pop_heap(postings_, is_later);
    const Posting& posting = postings_.back();
    if (account_ != nullptr)
        account_->note(MessageNote::Kind::posted, now, posting.id, posting.is_task, posting.qpn);
    post(posting);
    postings_.pop_back();
    set(kPosting, postings_.empty() ? Instant::never() : postings_.front().at);
    attend(now);
}

void HostNode::post(const Posting& posting) {
    uint64_t left = posting.bytes;
    do {
        const uint64_t bytes = std::min(left, kMessageBytes);
        left -= bytes;
        const transport::Sge sge{0, static_cast<uint32_t>(bytes), posting.lkey};
        transport::SendRequest request;
        request.id = posting.is_task ? kTask | posting.id : posting.id;
        request.immediate = posting.id;
        request.work = posting.work;
        request.flags = left == 0 ? transport::kSignalled : 0;
        request.sges = std::span(&sge, 1);
        request.rkey = posting.rkey;
        if (datagrams_ != nullptr) datagrams_->address(posting.qpn, request);
        TULLE_CHECK(adapter_.post_send(posting.qpn, request) == transport::Refusal::none);
        ++messages_sent_;
    } while (left != 0);
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
            cabling_.send_management(plan_.port, now);
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
            adapter_, cabling_, plan_.port, plan_.receive_latency, memory_, sender_.has_value());
    is_observed_ = true;
    return *account_;
}

void HostNode::finish(Instant now) {
    if (account_ != nullptr) account_->finish(now);
    intake_.finish(now);
    for (uint32_t lane = 0; lane < cabling_.lanes(); ++lane) cabling_.let_go(plan_.port, lane, now);
}

}  // namespace tulle::cluster
