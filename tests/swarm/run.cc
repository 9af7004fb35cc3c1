#include "run.h"

#include <algorithm>

#include "runner.h"

namespace tulle::swarm {

using namespace transport;

namespace {

constexpr uint64_t kMaxSteps = 3'000'000;
constexpr Instant kMaxTime{20'000'000'000'000};

}  // namespace

void Run::plan(Instant at, Kind kind, uint32_t who, uint16_t arg) {
    queue_.push({at, order_++, who, static_cast<uint16_t>(kind), arg});
}

void Run::go() {
    for (uint32_t i = 0; i < hosts_.size(); ++i) drain(i);
    while (advance()) {
    }
    if (world_.cut_at_ns == 0) check_done();
}

// One step in time. False at the end.
bool Run::advance() {
    Instant next = queue_.next_at();
    uint32_t timer_host = kNone;
    for (uint32_t i = 0; i < hosts_.size(); ++i) {
        const Instant deadline = std::max(now_, hosts_[i].adapter->next_deadline());
        if (deadline >= next) continue;
        next = deadline;
        timer_host = i;
    }
    if (next == Instant::never()) return false;
    if (world_.cut_at_ns != 0 && next > Instant{} + nanoseconds(world_.cut_at_ns)) return false;
    require(++steps_ < kMaxSteps, "the run does not end: too many steps");
    require(next < kMaxTime, "the run does not end: too much time");
    require(next >= now_, "time goes backwards");
    now_ = next;
    if (timer_host == kNone) {
        step(queue_.pop());
        return true;
    }
    hosts_[timer_host].adapter->on_timer(now_);
    require(hosts_[timer_host].adapter->next_deadline() > now_, "a timer does not advance");
    drain(timer_host);
    return true;
}

void Run::step(const Event& event) {
    const uint32_t who = event.who;
    switch (static_cast<Kind>(event.kind)) {
        case Kind::arrive: return arrive(who);
        case Kind::transmit: hosts_[who].transmit_planned = false; return drain(who);
        case Kind::post: post_burst(who); return drain(world_.sides[who].adapter);
        case Kind::repost: post_receive(who, event.arg); return drain(world_.pools[who].adapter);
        case Kind::act: return act(world_.acts[who]);
        case Kind::resume: return resume(who);
        case Kind::deregister: return deregister(who);
    }
}

void Run::arrive(uint32_t flight) {
    const uint32_t to = network_.destination(flight);
    Host& host = hosts_[to];
    const auto packet = network_.arrive(flight);
    if (packet) {
        hash_.add(static_cast<uint64_t>(now_.ps)).add(packet->psn().value).add(packet->opcode);
        if (trace_ != nullptr) tell("arrives", *packet);
        model_.on_arrival(to, *packet);
        const bool datagram =
            wire::service_of(static_cast<uint8_t>(packet->opcode)) == wire::Service::ud;
        const auto grh = Model::grh_bytes();
        const bool with_grh = datagram && host.draw.percent(50);
        host.adapter->on_packet(now_, *packet, with_grh ? wire::Bytes(grh) : wire::Bytes());
    }
    network_.release(flight);
    drain(to);
}

void Run::drain(uint32_t host) {
    transmit(host);
    poll_completions(host);
    poll_events(host);
}

Lanes Run::draw_lanes(Host& host, uint32_t station) {
    Lanes lanes = Lanes::open();
    if (!host.draw.percent(world_.stations[station].lanes_closed_percent)) return lanes;
    for (uint32_t& room : lanes.room_bytes)
        if (host.draw.percent(50)) room = host.draw.pick({0u, 120u, 700u});
    return lanes;
}

void Run::transmit(uint32_t index) {
    Host& host = hosts_[index];
    if (host.transmit_planned) return;
    const Station& station = world_.stations[index];
    wire::Packet packet;
    while (host.link_free <= now_) {
        const Lanes lanes = draw_lanes(host, index);
        if (!host.adapter->poll_transmit(now_, lanes, packet)) {
            // Something may wait for a lane that is closed.
            if (lanes.room_bytes == Lanes::open().room_bytes) return;
            host.link_free = now_ + nanoseconds(200);
            break;
        }
        const uint64_t bytes = 80 + packet.payload_length;
        host.link_free =
            now_ + Duration{static_cast<int64_t>(bytes * station.picoseconds_per_byte)};
        model_.on_departure(packet);
        network_.send(now_, packet,
                      [&](Instant at, uint32_t flight) { plan(at, Kind::arrive, flight); });
    }
    host.transmit_planned = true;
    plan(host.link_free, Kind::transmit, index);
}

uint32_t Run::side_of(uint32_t host, Qpn qpn) const {
    const uint32_t side = world_.find_side(host, qpn);
    require(side != kNone, "a completion of no queue pair");
    return side;
}

void Run::poll_completions(uint32_t index) {
    Host& host = hosts_[index];
    std::array<Completion, 8> some;
    for (const CqId cq : host.cqs)
        for (size_t count = 1; count != 0;) {
            count = host.adapter->completions().poll(cq, some);
            for (const Completion& completion : std::span(some).first(count))
                take_completion(index, completion);
        }
}

void Run::take_completion(uint32_t index, const Completion& completion) {
    Host& host = hosts_[index];
    hash_.add(static_cast<uint64_t>(now_.ps)).add(completion.id);
    hash_.add(static_cast<uint64_t>(completion.status));
    const uint32_t side = side_of(index, completion.qpn);
    if (trace_ != nullptr) tell(side, completion);
    if (completion.id >> 63 == 0) {
        model_.on_send_completion(side, completion);
        // The send queue alone has stopped.
        const bool stopped = world_.sides[side].type == QpType::rd &&
                             completion.status != Status::success &&
                             completion.status != Status::flushed;
        if (stopped) plan(now_ + nanoseconds(host.draw.between(1, 20'000)), Kind::resume, side);
        return;
    }
    model_.on_receive_completion(side, completion);
    const auto pool = static_cast<uint32_t>(completion.id >> 32 & 0x7fff'ffff);
    // A queue pair that has flushed its receives is given no more.
    if (completion.status == Status::flushed && !world_.pools[pool].shared) return;
    const uint32_t delay = host.draw.between(1, world_.pools[pool].repost_delay_ns);
    plan(now_ + nanoseconds(delay), Kind::repost, pool, static_cast<uint16_t>(completion.id));
}

void Run::poll_events(uint32_t index) {
    while (const auto event = hosts_[index].adapter->poll_event()) take_event(index, *event);
    model_.check_limits(index);
}

void Run::take_event(uint32_t index, const AdapterEvent& event) {
    Host& host = hosts_[index];
    hash_.add(static_cast<uint64_t>(event.kind)).add(event.subject);
    require(event.kind != EventKind::cq_error, "a completion queue overran");
    switch (event.kind) {
        case EventKind::sq_drained: {
            const uint32_t side = world_.find_side(index, Qpn{event.subject});
            if (side == kNone) return;
            plan(now_ + nanoseconds(host.draw.between(1, 5'000)), Kind::resume, side);
            return;
        }
        case EventKind::path_migrated:
            return model_.on_migrated(world_.sides[side_of(index, Qpn{event.subject})]);
        case EventKind::path_migration_error:
            return model_.on_migration_error(world_.sides[side_of(index, Qpn{event.subject})]);
        case EventKind::ee_context_error: {
            const uint32_t end = world_.find_ee(index, event.subject);
            require(end != kNone, "an event of no EE context");
            require(!world_.faults.none() || world_.ees[end ^ 1].is_dead(),
                    "an EE context failed where the network loses nothing");
            world_.ees[end].failed = true;
            return stop_far_end(end);
        }
        case EventKind::srq_limit_reached:
            for (uint32_t i = 0; i < world_.pools.size(); ++i) {
                Pool& pool = world_.pools[i];
                if (pool.adapter != index || !pool.shared || pool.srq.value != event.subject)
                    continue;
                model_.on_limit(pool);
                world_.acts.push_back(
                    {ActKind::watch_limit, i, 0, host.draw.between(1, pool.depth)});
                plan(now_ + nanoseconds(host.draw.between(1, 30'000)), Kind::act,
                     static_cast<uint32_t>(world_.acts.size() - 1));
            }
            return;
        default: return;
    }
}

// ---------------------------------------------------------------------------------------------
// The end

// Nothing is under way any more: then nothing may be waited for.
void Run::check_done() {
    for (uint32_t i = 0; i < world_.sides.size(); ++i) {
        const Side& side = world_.sides[i];
        if (side.is_dead()) continue;
        for (uint32_t k = side.settled; k < side.posted; ++k)
            require(!side.signal_all && (side.operations[k].flags & kSignalled) == 0,
                    "work waits and nothing happens any more");
    }
}

// ---------------------------------------------------------------------------------------------
// The trace

void Run::tell(const char* what, const wire::Packet& packet) {
    const auto opcode = static_cast<uint8_t>(packet.opcode);
    const bool acks = (wire::opcode_info(opcode).headers & wire::kAeth) != 0;
    std::fprintf(trace_, "%12.3f us  %-7s %u > %u qp %u psn %06x %s %u bytes%s",
                 static_cast<double>(now_.ps) / 1e6, what, static_cast<unsigned>(packet.source),
                 static_cast<unsigned>(packet.destination), packet.dest_qp().value,
                 packet.psn().value, wire::opcode_name(opcode).c_str(), packet.payload_length,
                 packet.ack_request ? " ack?" : "");
    if (acks) std::fprintf(trace_, " syndrome %02x", packet.extended.ack.syndrome);
    std::fputc('\n', trace_);
}

void Run::tell(uint32_t side, const Completion& completion) {
    std::fprintf(trace_, "%12.3f us  side %u qp %u %s %u: status %u\n",
                 static_cast<double>(now_.ps) / 1e6, side, completion.qpn.value,
                 completion.id >> 63 != 0 ? "receive completes in buffer" : "completes",
                 static_cast<uint32_t>(completion.id), static_cast<unsigned>(completion.status));
}

// Where everybody stands, after a failure.
void Run::tell_sides() {
    if (trace_ == nullptr) return;
    for (uint32_t i = 0; i < world_.sides.size(); ++i) {
        const Side& side = world_.sides[i];
        const QueuePair* qp = adapter_of(side).queue_pairs().find(side.qpn);
        std::fprintf(trace_, "side %u: adapter %u qp %u state %d, %u of %zu posted, %u settled%s\n",
                     i, side.adapter + 1, side.qpn.value,
                     qp == nullptr ? -1 : static_cast<int>(qp->state), side.posted,
                     side.operations.size(), side.settled, side.is_dead() ? ", dead" : "");
    }
}

Result run_seed(uint64_t seed, std::FILE* trace) {
    Result result;
    Run run(seed, trace);
    try {
        run.set_up();
        run.go();
        run.tear_down();
    } catch (const Failure& failure) {
        result.failure = failure.what();
        run.tell_sides();
    }
    result.hash = run.hash();
    result.tally = run.tally();
    return result;
}

}  // namespace tulle::swarm
