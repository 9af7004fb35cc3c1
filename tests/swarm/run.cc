#include "run.h"

#include <algorithm>
#include <memory>

#include "base/event_queue.h"
#include "network.h"

namespace tulle::swarm {
namespace {

using namespace transport;

constexpr uint64_t kMaxSteps = 3'000'000;
constexpr Instant kMaxTime{20'000'000'000'000};
constexpr uint32_t kCqEntries = 1 << 12;

Duration nanoseconds(uint64_t count) {
    return Duration{static_cast<int64_t>(count) * 1000};
}

void require(bool holds, const char* rule) {
    if (!holds) throw Failure(rule);
}

class Run {
public:
    Run(uint64_t seed, std::FILE* trace)
        : world_(make_world(seed)), model_(world_), network_(world_, model_.tally), trace_(trace) {}

    void set_up();
    void go();
    void tear_down();

    uint64_t hash() const { return hash_.value(); }
    const Tally& tally() const { return model_.tally; }

private:
    enum class Kind : uint16_t { arrive, transmit, post, repost, give_up, drain, resume };

    struct Host {
        std::unique_ptr<Adapter> adapter;
        PdId pd{};
        std::vector<CqId> cqs;
        Instant link_free{};
        bool transmit_planned = false;
        Draw draw;
    };

    Adapter& adapter_of(const Side& side) { return *hosts_[side.adapter].adapter; }
    void plan(Instant at, Kind kind, uint32_t who, uint16_t arg = 0);

    void create_host(uint32_t index);
    void create_qp(Side& side);
    void connect(Side& side);
    void fill_pool(uint32_t index);

    void step(const base::Event& event);
    void arrive(uint32_t flight);
    void post_burst(uint32_t index);
    bool may_post(Side& side);
    bool post(uint32_t index);
    void post_receive(uint32_t pool, uint32_t buffer);
    void change_state(Side& side, QpState state, uint32_t mask = 0);

    void drain(uint32_t host);
    void transmit(uint32_t host);
    Lanes draw_lanes(Host& host, uint32_t station);
    void poll_completions(uint32_t host);
    void poll_events(uint32_t host);
    uint32_t side_of(uint32_t host, Qpn qpn) const;

    bool advance();
    void check_done();
    void end_side(uint32_t index);

    void tell(const char* what, const wire::Packet& packet);
    void tell(uint32_t side, const Completion& completion);

public:
    void tell_sides();

private:
    World world_;
    Model model_;
    Network network_;
    std::vector<Host> hosts_;
    std::vector<Draw> posters_;
    base::EventQueue queue_;
    base::Hash hash_;
    Instant now_{};
    uint64_t order_ = 0;
    uint64_t steps_ = 0;
    std::FILE* trace_;
};

void Run::plan(Instant at, Kind kind, uint32_t who, uint16_t arg) {
    queue_.push({at, order_++, who, static_cast<uint16_t>(kind), arg});
}

// ---------------------------------------------------------------------------------------------
// Setting up

void Run::set_up() {
    for (uint32_t i = 0; i < world_.stations.size(); ++i) create_host(i);
    for (Pool& pool : world_.pools)
        if (pool.shared) {
            Host& host = hosts_[pool.adapter];
            pool.srq = *host.adapter->create_srq(host.pd, pool.depth, pool.sges);
        }
    for (Side& side : world_.sides) create_qp(side);
    for (Side& side : world_.sides) connect(side);
    for (uint32_t i = 0; i < world_.pools.size(); ++i) fill_pool(i);
    for (uint32_t i = 0; i < world_.sides.size(); ++i) {
        Side& side = world_.sides[i];
        posters_.emplace_back(world_.seed, Drawer::poster, i);
        plan(now_ + nanoseconds(posters_[i].between(0, 20'000)), Kind::post, i);
        if (side.error_at_ns != 0) plan(now_ + nanoseconds(side.error_at_ns), Kind::give_up, i);
        if (side.drain_at_ns != 0) plan(now_ + nanoseconds(side.drain_at_ns), Kind::drain, i);
    }
}

void Run::create_host(uint32_t index) {
    Station& station = world_.stations[index];
    Host host{.adapter = std::make_unique<Adapter>(station.config),
              .pd = {},
              .cqs = {},
              .link_free = {},
              .draw = Draw(world_.seed, Drawer::poster, 1'000 + index)};
    host.pd = host.adapter->memory().create_pd();
    const auto key = host.adapter->memory().register_region(
        {host.pd, kBase, station.memory.size(), station.memory.data(), station.region_access});
    require(key.has_value(), "a region was not registered");
    station.key = *key;
    for (uint32_t i = 0; i < station.cqs; ++i)
        host.cqs.push_back(host.adapter->create_cq(kCqEntries));
    hosts_.push_back(std::move(host));
}

void Run::create_qp(Side& side) {
    Host& host = hosts_[side.adapter];
    const Pool& pool = world_.pools[side.pool];
    const auto qpn = host.adapter->create_qp({.type = side.type,
                                              .pd = host.pd,
                                              .send_cq = host.cqs[side.cq_send],
                                              .receive_cq = host.cqs[side.cq_receive],
                                              .srq = pool.srq,
                                              .send = side.send,
                                              .receive_requests = pool.depth,
                                              .receive_sges = pool.sges,
                                              .signal_all = side.signal_all});
    require(qpn.has_value(), "a queue pair was not created");
    side.qpn = *qpn;
    host.adapter->set_congestion_control(side.qpn, side.congestion);
    if (!side.has_window) return;
    const auto key = host.adapter->memory().create_window(host.pd, WindowType::type2);
    require(key.has_value(), "a window was not created");
    side.window_key = *key;
}

void Run::change_state(Side& side, QpState state, uint32_t mask) {
    side.attributes.state = state;
    require(adapter_of(side).modify_qp(side.qpn, side.attributes, mask | kState) == Refusal::none,
            "a change of state was refused");
}

void Run::connect(Side& side) {
    side.attributes.dest_qpn = world_.sides[side.peer].qpn;
    const bool datagram = side.type == QpType::ud;
    const bool reliable = side.type == QpType::rc;
    change_state(side, QpState::init, kPkeyIndex | kPort | (datagram ? kQkey : kAccessFlags));
    uint32_t to_rtr = datagram ? 0u : kAddress | kPathMtu | kDestQpn | kReceivePsn;
    if (reliable) to_rtr |= kMaxIncomingReads | kMinRnrTimer;
    change_state(side, QpState::rtr, to_rtr);
    const uint32_t retries = kTimeout | kRetryCount | kRnrRetry | kMaxReads;
    change_state(side, QpState::rts, kSendPsn | (reliable ? retries : 0u));
}

void Run::fill_pool(uint32_t index) {
    const auto count = static_cast<uint32_t>(world_.pools[index].buffers.size());
    for (uint32_t i = 0; i < count; ++i) post_receive(index, i);
}

// ---------------------------------------------------------------------------------------------
// Posting work

std::vector<Sge> sges_of(const Pieces& pieces, uint32_t key) {
    std::vector<Sge> sges;
    for (const Range& piece : pieces) sges.push_back({kBase + piece.offset, piece.length, key});
    return sges;
}

void Run::post_receive(uint32_t index, uint32_t number) {
    Pool& pool = world_.pools[index];
    Buffer& buffer = pool.buffers[number];
    const auto sges = sges_of(buffer.pieces, world_.stations[pool.adapter].key);
    const ReceiveRequest request{(uint64_t{1} << 31 | index) << 32 | number, sges};
    Adapter& adapter = *hosts_[pool.adapter].adapter;
    // It may complete, flushed, before the call returns.
    buffer.is_posted = true;
    if (!pool.shared) pool.posted.push_back(number);
    const Refusal refusal = pool.shared
                                ? adapter.post_srq_receive(pool.srq, request)
                                : adapter.post_receive(world_.sides[pool.owner].qpn, request);
    require(refusal == Refusal::none, "a receive was refused");
}

// Whether the next operation may go now. Those behind a gate that will not open are given up.
bool Run::may_post(Side& side) {
    if (side.posted == side.operations.size()) return false;
    if (side.is_dead()) {
        if (side.posts_left == kNone) side.posts_left = 3;
        if (side.posts_left == 0) return false;
        --side.posts_left;
        return true;
    }
    const Gate& gate = side.operations[side.posted].gate;
    return gate.side == kNone ||
           world_.sides[gate.side].operations[gate.operation].outcome == Outcome::success;
}

bool Run::post(uint32_t index) {
    Side& side = world_.sides[index];
    const Operation& operation = side.operations[side.posted];
    const Station& station = world_.stations[side.adapter];
    const Side& target = world_.sides[operation.to_side];
    const Station& remote = world_.stations[target.adapter];
    auto sges = sges_of(operation.local, station.key);
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
    request.rkey = operation.bad_key ? remote.key ^ 1 : remote.key;
    request.immediate = static_cast<uint32_t>(name_of(index, side.posted));
    request.compare_or_add = operation.compare_or_add;
    request.swap = operation.swap;
    request.flush_placement = operation.flush_placement;
    request.datagram = {.endpoint = remote.config.endpoint,
                        .qpn = target.qpn,
                        .qkey = target.attributes.qkey,
                        .service_level = side.attributes.address.service_level};
    if (operation.window != 0) {
        const bool own =
            operation.work == Work::bind_window || operation.work == Work::local_invalidate;
        const uint32_t created = own ? side.window_key : target.window_key;
        const auto key_of = [&](uint32_t round) {
            return (created & ~0xffu) | ((created + round) & 0xff);
        };
        request.rkey = key_of(operation.window);
        request.sges = own ? std::span<const Sge>() : request.sges;
        if (operation.work == Work::bind_window)
            request.binding = {key_of(operation.window - 1),
                               key_of(operation.window),
                               station.key,
                               kBase + operation.local[0].offset,
                               operation.local[0].length,
                               kRemoteWrite | kRemoteRead};
    }
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
    return refusal == Refusal::none;
}

void Run::post_burst(uint32_t index) {
    Side& side = world_.sides[index];
    Draw& draw = posters_[index];
    const uint32_t count = draw.between(1, side.max_burst);
    for (uint32_t i = 0; i < count && may_post(side) && post(index); ++i) {
    }
    if (side.posted == side.operations.size() || side.posts_left == 0) return;
    const Gate& gate = side.operations[side.posted].gate;
    const bool shut =
        gate.side != kNone && world_.sides[gate.side].is_dead() && !side.is_dead() &&
        world_.sides[gate.side].operations[gate.operation].outcome != Outcome::success;
    if (shut) return;
    plan(now_ + nanoseconds(500 + draw.between(1, side.pause_ns)), Kind::post, index);
}

// ---------------------------------------------------------------------------------------------
// The run

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

void Run::step(const base::Event& event) {
    const uint32_t who = event.who;
    switch (static_cast<Kind>(event.kind)) {
        case Kind::arrive: return arrive(who);
        case Kind::transmit: hosts_[who].transmit_planned = false; return drain(who);
        case Kind::post: post_burst(who); return drain(world_.sides[who].adapter);
        case Kind::repost: post_receive(who, event.arg); return drain(world_.pools[who].adapter);
        case Kind::give_up:
            world_.sides[who].gave_up = true;
            change_state(world_.sides[who], QpState::error);
            return drain(world_.sides[who].adapter);
        case Kind::drain: {
            Side& side = world_.sides[who];
            if (adapter_of(side).query_qp(side.qpn)->state != QpState::rts) return;
            side.attributes.drain_notify = true;
            change_state(side, QpState::sqd, kDrainNotify);
            return drain(side.adapter);
        }
        case Kind::resume: {
            Side& side = world_.sides[who];
            if (adapter_of(side).query_qp(side.qpn)->state != QpState::sqd) return;
            change_state(side, QpState::rts);
            return drain(side.adapter);
        }
    }
}

void Run::arrive(uint32_t flight) {
    const uint32_t to = network_.destination(flight);
    Host& host = hosts_[to];
    const auto packet = network_.arrive(flight);
    if (packet) {
        hash_.add(static_cast<uint64_t>(now_.ps)).add(packet->psn().value).add(packet->opcode);
        if (trace_ != nullptr) tell("arrives", *packet);
        model_.on_arrival(*packet);
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
    for (const CqId cq : host.cqs) {
        for (size_t count = 1; count != 0;) {
            count = host.adapter->poll_completion(cq, some);
            for (const Completion& completion : std::span(some).first(count)) {
                hash_.add(static_cast<uint64_t>(now_.ps)).add(completion.id);
                hash_.add(static_cast<uint64_t>(completion.status));
                const uint32_t side = side_of(index, completion.qpn);
                if (trace_ != nullptr) tell(side, completion);
                if (completion.id >> 63 == 0) {
                    model_.on_send_completion(side, completion);
                    continue;
                }
                model_.on_receive_completion(side, completion);
                // A queue pair that has flushed its receives is given no more.
                const uint32_t pool = world_.sides[side].pool;
                if (completion.status == Status::flushed && !world_.pools[pool].shared) continue;
                const uint32_t delay = host.draw.between(1, world_.pools[pool].repost_delay_ns);
                plan(now_ + nanoseconds(delay), Kind::repost, pool,
                     static_cast<uint16_t>(completion.id));
            }
        }
    }
}

void Run::poll_events(uint32_t index) {
    Host& host = hosts_[index];
    while (const auto event = host.adapter->poll_event()) {
        hash_.add(static_cast<uint64_t>(event->kind)).add(event->subject);
        require(event->kind != EventKind::cq_error, "a completion queue overran");
        if (event->kind != EventKind::sq_drained) continue;
        const uint32_t side = side_of(index, Qpn{event->subject});
        plan(now_ + nanoseconds(host.draw.between(1, 5'000)), Kind::resume, side);
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

void Run::end_side(uint32_t index) {
    Side& side = world_.sides[index];
    side.gave_up = true;
    change_state(side, QpState::error);
    drain(side.adapter);
    require(adapter_of(side).query_qp(side.qpn)->state == QpState::error,
            "a queue pair is not in the error state");
}

void Run::tear_down() {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < world_.sides.size(); ++i) order.push_back(i);
    Draw(world_.seed, Drawer::world, 1).shuffle(order);
    for (const uint32_t index : order) end_side(index);
    const auto clean = [](Refusal refusal) {
        require(refusal == Refusal::none, "something cannot be destroyed");
    };
    for (const uint32_t index : order) {
        Side& side = world_.sides[index];
        Memory& memory = adapter_of(side).memory();
        clean(adapter_of(side).destroy_qp(side.qpn));
        if (!side.has_window) continue;
        uint32_t round = 0;
        for (const Operation& operation : side.operations)
            if (operation.work == Work::bind_window && operation.outcome == Outcome::success)
                round = operation.window;
        clean(
            memory.destroy_window((side.window_key & ~0xffu) | ((side.window_key + round) & 0xff)));
    }
    // What is still on its way finds nobody.
    while (!queue_.empty()) {
        const base::Event event = queue_.pop();
        now_ = event.at;
        if (static_cast<Kind>(event.kind) == Kind::arrive) arrive(event.who);
    }
    for (const Pool& pool : world_.pools)
        if (pool.shared) clean(hosts_[pool.adapter].adapter->destroy_srq(pool.srq));
    for (uint32_t i = 0; i < hosts_.size(); ++i) {
        Adapter& adapter = *hosts_[i].adapter;
        for (const CqId cq : hosts_[i].cqs) clean(adapter.destroy_cq(cq));
        clean(adapter.memory().deregister_region(world_.stations[i].key));
        clean(adapter.memory().destroy_pd(hosts_[i].pd));
        require(adapter.queue_pairs() == 0, "queue pairs are left over");
        require(adapter.memory().live() == 0, "regions or windows are left over");
    }
    model_.check_end();
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
        const QueuePair* qp = adapter_of(side).query_qp(side.qpn);
        std::fprintf(trace_, "side %u: adapter %u qp %u state %d, %u of %zu posted, %u settled%s\n",
                     i, side.adapter + 1, side.qpn.value,
                     qp == nullptr ? -1 : static_cast<int>(qp->state), side.posted,
                     side.operations.size(), side.settled, side.is_dead() ? ", dead" : "");
    }
}

}  // namespace

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
