#include "fabric/cabling.h"

#include <algorithm>

#include "fabric/marking.h"

namespace tulle::fabric {
namespace {

constexpr uint32_t kPauseFrameBytes = 64;
constexpr uint32_t kWarningBytes = 64;       // chosen: no maker publishes the size
constexpr uint8_t kWarning = 1;              // in `hops` of a control packet
constexpr uint64_t kQuantumBytes = 512 / 8;  // 512 bit times of the paused line

Duration pause_time(Rate rate, uint32_t quanta) {
    return rate.time_for(quanta * kQuantumBytes);
}

}  // namespace

Cabling::Cabling(const Settings& settings, uint32_t lanes, size_t partitions,
                 std::pmr::memory_resource* memory)
    : PortTable(settings, lanes, memory),
      store(memory),
      crossings(partitions),
      settings_(settings),
      update_blocks_(std::max(1u, scale_.whole_blocks(settings.credits.update_bytes))) {
    if (settings.telemetry) telemetry.emplace();
}

uint32_t Cabling::add_port(const Port& port, Rate rate, const ErrorModel& errors, uint32_t node) {
    const uint32_t p = append(port, rate, errors, node);
    Port& added = ports_[p];
    added.has_errors = !errors.is_clean();
    added.spends_credits = has_credits_ && port.spends_credits;
    added.writes_telemetry = telemetry && !port.is_host;
    added.takes_long_way_in = (settings_.short_ways & kShortWayIn) == 0;
    added.takes_long_way_out = (settings_.short_ways & kShortWayOut) == 0;
    added.settle();
    fresh_.resize(p / 64 + 1);
    return p;
}

void Cabling::put(const Port& from, uint32_t index, bool is_control) {
    if (!from.peer_is_elsewhere) return put_here(from.peer, index, is_control);
    std::unique_ptr<PacketAccount> account;
    if ((store[index].flags & Transit::kWatched) != 0) account = journal->take(index);
    std::unique_ptr<wire::Telemetry> told;
    if (telemetry && !is_control) told = std::make_unique<wire::Telemetry>(telemetry->of(index));
    crossings[from.peer_partition].push_back(
        {from.peer, is_control, store[index], store.packet(index), std::move(account),
         journal != nullptr ? journal->marked_at(index) : kNowhere, std::move(told)});
    store.give_back(index);
}

// Handles what most packets do not meet: errors, a capture, telemetry, a peer that cuts through or
// is in another partition, a rate whose bytes do not take whole picoseconds, or a journal.
Instant Cabling::transmit_unusual(uint32_t p, uint32_t index, Instant now) {
    Port& from = ports_[p];
    Transit& transit = store[index];
    if (from.writes_telemetry && (transit.flags & Transit::kData) != 0)
        telemetry->of(index).add({now, from.wire_bytes, from.queued_bytes, place(p), rate(p)});
    Instant end = occupy(p, now, transit.wire_bytes);
    const Instant without_errors = end;
    if (from.has_errors) end = survive_errors(p, transit, end);
    if (from.is_tapped) capture(from, end, store.packet(index), &transit);
    transit.at = end + from.arrival_delay;
    if (from.peer_cuts_through) {
        // The switch knows the output port only once it has the headers.
        constexpr uint32_t kHeaderBytes = 64;
        const uint32_t head = std::min<uint32_t>(transit.wire_bytes, kHeaderBytes);
        const Duration rest = line_time(p, transit.wire_bytes) - line_time(p, head);
        transit.tail_ps = static_cast<uint32_t>(rest.ps);
        transit.at.ps -= transit.tail_ps;
    }
    if (journal_wants(transit)) note(p, index, now, end, end - without_errors);
    put(from, index, false);
    return end;
}

// For the journal: whose message goes this way, and how long that took.
void Cabling::note(uint32_t p, uint32_t index, Instant begin, Instant end, Duration retries) {
    const Port& from = ports_[p];
    const Transit& transit = store[index];
    const wire::Packet& packet = store.packet(index);
    const bool is_first = (transit.flags & Transit::kCounted) == Transit::kCounted;
    if (is_first && journal->notes_crossings())
        journal->cross(place(p), packet.source, packet.destination);
    if ((transit.flags & Transit::kWatched) == 0) return;
    journal->leave(index, {.place = place(p),
                           .rate = rate(p),
                           .begin = begin,
                           .end = end,
                           .retries = retries,
                           .tail = Duration{from.peer_cuts_through ? transit.tail_ps : 0},
                           .cable = from.delay,
                           .pipeline = from.arrival_delay - from.delay,
                           .held_ps = held_ps(p, transit.lane, begin),
                           .root = waits_[p * lanes_ + transit.lane].root});
}

// Why the buffer of a lane is full: the port that its packets wait for. If that port itself was
// held for a good part of the time since, the reason is what held it. A host is its own reason.
Place Cabling::root_of(uint32_t p, uint32_t lane, Instant now) const {
    const LaneIn& input = ins_[p * lanes_ + lane];
    if (journal == nullptr || input.blocker == UINT32_MAX) return kNowhere;
    const Port& blocker = ports_[input.blocker];
    const LaneWait& waiting = waits_[input.blocker * lanes_ + lane];
    if (blocker.is_host || waiting.root == kNowhere) return place(input.blocker);
    const uint64_t held = held_ps(input.blocker, lane, now) - input.blocker_held_ps;
    const bool is_held = (blocker.held >> lane & 1) != 0;
    const bool passes_on =
        is_held || kPassedOn * held >= static_cast<uint64_t>((now - input.full_since).ps);
    return passes_on ? waiting.root : place(input.blocker);
}

void Cabling::note_left(uint32_t input, uint32_t in_lane, uint32_t p, uint32_t lane, Instant now) {
    if (!ports_[p].spends_credits)  // it never lacks any
        return journal->set_credit_root(input * lanes_ + in_lane, place(p));
    journal->leave_buffer(input * lanes_ + in_lane, {p, place(p), waits_[p * lanes_ + lane].root,
                                                     held_ps(p, lane, now), now});
}

Place Cabling::credit_root_of(uint32_t p, uint32_t lane) const {
    if (journal == nullptr || !ports_[p].peer_needs_credits) return kNowhere;
    return ports_[p].is_host ? place(p) : journal->credit_root(p * lanes_ + lane);
}

// What bit errors do: FEC corrects them, the link sends the packet again, or the packet arrives
// damaged and is dropped there.
Instant Cabling::survive_errors(uint32_t p, Transit& transit, Instant end) {
    if (!errors_[error_places_[p]].hits(transit.wire_bytes)) return end;
    switch (settings_.link.bit_errors) {
        case BitErrors::corrected: ++counters_[p].corrected; return end;
        case BitErrors::retransmitted: return replay(p, transit, end);
        case BitErrors::dropped: transit.flags |= Transit::kCorrupt; return end;
    }
    return end;
}

// Go-back-N on one hop. The request comes back after a round trip. What was sent meanwhile is
// discarded, so the line is lost for that long and nothing overtakes. A copy may be hit like any
// packet.
Instant Cabling::replay(uint32_t p, Transit& transit, Instant end) {
    const LinkRetry& retry = settings_.link.retry;
    const Duration away = 2 * ports_[p].delay + retry.response;
    for (uint32_t i = 0; i < retry.replays; ++i) {
        end = occupy(p, end + away, transit.wire_bytes);
        if (errors_[error_places_[p]].hits(transit.wire_bytes)) continue;
        ++counters_[p].corrected;
        return end;
    }
    transit.flags |= Transit::kCorrupt;
    return end;
}

void Cabling::send_management(uint32_t p, uint32_t bytes, Instant now) {
    Port& from = ports_[p];
    from.busy_until = std::max(from.busy_until, now) + line_time(p, bytes);
    from.wire_bytes += bytes;
    counters_[p].management_bytes += bytes;
}

Instant Cabling::transmit_owed(uint32_t p, Instant now) {
    Port& from = ports_[p];
    const uint32_t index = store.take();
    Transit& transit = store[index];
    transit = {};
    Duration response{};
    uint32_t bytes = 0;
    const bool tells_nothing = from.owed.credits != 0 && !from.peer_needs_credits;
    if (from.owed.credits != 0) {
        const auto lane = static_cast<uint8_t>(std::countr_zero(from.owed.credits));
        from.owed.credits = static_cast<uint16_t>(from.owed.credits & (from.owed.credits - 1));
        CreditsGiven& given = in(p, lane).credits;
        given.last_limit = given.limit(capacity_blocks_, scale_);
        transit.lane = lane;
        transit.tail_ps = credit_root_of(p, lane);
        transit.destination = given.last_limit;
        transit.flow = out(p, lane).credits.total_sent;
        bytes = settings_.credits.packet_bytes;
    } else if (from.owed.warnings != 0) {
        bytes = make_warning(p, transit);
        // Control packets do not overtake one another.
        if (!has_credits_) response = settings_.pfc.response_time;
        --from.flow_control_packets;  // a warning is not flow control
    } else {
        transit.destination = from.owed.pause | uint32_t{from.owed.resume} << 16;
        transit.flow = settings_.pfc.quanta;
        const auto lanes = static_cast<uint32_t>(from.owed.pause | from.owed.resume);
        transit.tail_ps = root_of(p, static_cast<uint32_t>(std::countr_zero(lanes)) % lanes_, now);
        from.owed.pause = from.owed.resume = 0;
        bytes = kPauseFrameBytes + settings_.link.gap_bytes;
        response = settings_.pfc.response_time;
    }
    ++from.flow_control_packets;
    transit.wire_bytes = static_cast<uint16_t>(bytes);
    const Instant end = occupy(p, now, bytes);
    if (from.is_tapped && transit.hops != kWarning)
        capture(from, end, flow_control_packet(transit), nullptr);
    if (tells_nothing) {
        store.give_back(index);
        return end;
    }
    transit.at = end + from.delay + response;
    put(from, index, true);
    return end;
}

void Cabling::warn(uint32_t p, Warning warning) {
    warnings_[p].push_back(warning);
    ++ports_[p].owed.warnings;
}

uint32_t Cabling::make_warning(uint32_t p, Transit& transit) {
    std::deque<Warning>& waiting = warnings_.at(p);
    transit.destination = waiting.front().port;
    transit.flow = waiting.front().begins ? 1 : 0;
    transit.hops = kWarning;
    waiting.pop_front();
    --ports_[p].owed.warnings;
    return kWarningBytes + settings_.link.gap_bytes;
}

Cabling::ControlEffect Cabling::on_control(uint32_t p, Instant now) {
    const uint32_t index = inbound_[p].control.pop(store);
    const Transit transit = store[index];
    store.prefetch_behind(inbound_[p].control.head);
    store.give_back(index);
    if (!ports_[p].is_up) return {};
    if (transit.hops == kWarning)
        return {.warning = Warning{static_cast<uint16_t>(transit.destination), transit.flow != 0}};
    if (has_credits_) {
        if (journal != nullptr) wait(p, transit.lane).root = transit.tail_ps;
        out(p, transit.lane).credits.credit_limit = static_cast<uint16_t>(transit.destination);
        return {.opened = static_cast<uint16_t>(1u << transit.lane), .paused = 0, .until = {}};
    }
    ++counters_[p].pauses_received;
    const auto stop = static_cast<uint16_t>(transit.destination & ports_[p].honours_pause);
    const auto go_on = static_cast<uint16_t>(transit.destination >> 16 & ports_[p].honours_pause);
    for (uint32_t lane = 0; lane < lanes_; ++lane)
        if (journal != nullptr && ((stop | go_on) >> lane & 1) != 0)
            wait(p, lane).root = transit.tail_ps;
    return {.opened = go_on, .paused = stop, .until = now + pause_time(rate(p), transit.flow)};
}

Instant Cabling::told_again_at(uint32_t p, Instant told_at) const {
    return told_at + pause_time(rate(p), settings_.pfc.quanta) / 2;
}

void Cabling::hold(uint32_t p, uint32_t lane, Instant now) {
    const auto bit = static_cast<uint16_t>(1u << lane);
    if ((ports_[p].held & bit) != 0) return;
    TULLE_CHECK(lane < lanes_);
    ports_[p].held |= bit;
    wait(p, lane).paused_since = now;
    if (out(p, lane).bytes != 0 || ports_[p].is_host) wait(p, lane).held_since = now;
}

void Cabling::let_go(uint32_t p, uint32_t lane, Instant now) {
    const auto bit = static_cast<uint16_t>(1u << lane);
    if ((ports_[p].held & bit) == 0) return;
    ports_[p].held = static_cast<uint16_t>(ports_[p].held & ~bit);
    if (out(p, lane).bytes != 0 || ports_[p].is_host)
        wait(p, lane).held_ps += static_cast<uint64_t>((now - wait(p, lane).held_since).ps);
}

void Cabling::release_blocks(uint32_t p, uint32_t lane, uint32_t bytes) {
    in(p, lane).credits.release(scale_.blocks_of(bytes));
    note_news(p, lane);
}

void Cabling::drop(Instant now, uint32_t p, uint32_t index, Drop cause) {
    ++counters_[p].dropped[static_cast<size_t>(cause)];
    if (store.packet(index).kind == wire::PacketKind::back_pressure) ++counters_[p].lost_words;
    losses.note(now, cause);
    if (journal != nullptr) journal->lose(store.packet(index), place(p), cause);
    store.give_back(index);
}

void Cabling::take_over(Crossing&& crossing) {
    const uint32_t index = store.take();
    store[index] = crossing.transit;
    store.packet(index) = crossing.packet;
    if (journal != nullptr) journal->mark(index, crossing.marked_at);
    if (crossing.account != nullptr) journal->put(index, std::move(crossing.account));
    if (crossing.telemetry != nullptr) telemetry->of(index) = *crossing.telemetry;
    put_here(crossing.port, index, crossing.is_control);
}

wire::Packet Cabling::flow_control_packet(const Transit& transit) const {
    wire::Packet packet;
    if (has_credits_) {
        packet.kind = wire::PacketKind::flow_control;
        packet.virtual_lane = transit.lane & 0xf;
        packet.extended.credit = {};
        packet.extended.credit.total_blocks_sent = static_cast<uint16_t>(transit.flow);
        packet.extended.credit.credit_limit = static_cast<uint16_t>(transit.destination);
        return packet;
    }
    packet.kind = wire::PacketKind::pfc;
    packet.extended.pause = {};
    const auto stop = static_cast<uint16_t>(transit.destination);
    const auto go_on = static_cast<uint16_t>(transit.destination >> 16);
    packet.extended.pause.enable_vector = stop | go_on;
    for (size_t i = 0; i < packet.extended.pause.quanta.size(); ++i)
        if ((stop >> i & 1) != 0)
            packet.extended.pause.quanta[i] = static_cast<uint16_t>(transit.flow);
    return packet;
}

void Cabling::capture(const Port& port, Instant at, const wire::Packet& packet,
                      const Transit* transit) {
    if (packet.kind == wire::PacketKind::back_pressure) return;
    captured.push_back({at, port.cable, port.is_a, packet});
    wire::Packet& kept = captured.back().packet;
    if (transit == nullptr) return;
    kept.virtual_lane = transit->lane & 0xf;
    apply_marks(*transit, settings_.marking, kept);
}

}  // namespace tulle::fabric
