#include "world.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"

namespace tulle::swarm {
namespace {

using namespace transport;

constexpr uint32_t kAllAccess = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic |
                                kWindowBind | kFlushGlobal | kFlushPersistent;
constexpr uint32_t kWindowBytes = 3000;

// Takes the next bytes of a station's memory, with a gap before them.
uint32_t take(Station& station, uint32_t length, uint32_t gap, uint32_t alignment = 1) {
    uint32_t offset = station.memory_bytes + gap;
    offset += -offset % alignment;
    station.memory_bytes = offset + length;
    return offset;
}

// The same, cut into pieces.
Pieces take_pieces(Station& station, Draw& draw, uint32_t length, uint32_t max_pieces) {
    Pieces pieces;
    uint32_t count = draw.percent(60) ? 1 : draw.between(1, max_pieces);
    while (length != 0 || pieces.empty()) {
        const uint32_t part = --count == 0 ? length : draw.between(0, length);
        pieces.push_back({take(station, part, draw.between(1, 9)), part});
        length -= part;
        if (count == 0) break;
    }
    return pieces;
}

uint32_t draw_chance(Draw& draw, uint32_t most) {
    return draw.percent(35) ? 0 : draw.between(1, most);
}

Faults draw_faults(Draw& draw) {
    Faults faults;
    const uint32_t kind = draw.between(0, 99);
    if (kind < 12) return faults;
    const uint32_t most = kind < 45 ? 2'000 : kind < 80 ? 12'000 : kind < 95 ? 50'000 : 100'000;
    faults.loss = draw_chance(draw, most);
    faults.doubling = draw_chance(draw, most);
    faults.reordering = draw_chance(draw, most);
    faults.delay = draw_chance(draw, most);
    faults.damage = draw_chance(draw, most);
    faults.reorder_ns = draw.between(1, draw.pick({100u, 5'000u, 50'000u, 1'000'000u}));
    faults.delay_ns = draw.between(1'000, 300'000);
    return faults;
}

const transport::DcqcnSettings& dcqcn_settings(bool of_paper) {
    static const auto make = [](transport::DcqcnSettings settings) {
        settings.min_rate_bps = 2'000'000'000;  // READs at less would seem lost to short timers
        return settings;
    };
    static const auto paper = make(transport::DcqcnSettings::of_paper(100'000'000'000));
    static const auto adapter = make(transport::DcqcnSettings::of_adapter(100'000'000'000));
    return of_paper ? paper : adapter;
}

const transport::IbCcSettings& ib_cc_settings() {
    static const auto settings = [] {
        transport::IbCcSettings made;
        made.increase = 4;
        made.timer = 20;
        for (uint16_t i = 0; i < 64; ++i) made.table.push_back(transport::cct_entry(2, i));
        return made;
    }();
    return settings;
}

const transport::TimelySettings& timely_settings() {
    static const auto settings = [] {
        transport::TimelySettings made;
        made.min_rate_bps = 2'000'000'000;
        made.low = base::Duration{5'000'000};
        made.high = base::Duration{50'000'000};
        return made;
    }();
    return settings;
}

transport::CongestionControl draw_congestion(uint64_t seed, uint32_t side) {
    using Control = transport::CongestionControl;
    Draw draw(seed, Drawer::congestion, side);
    const uint32_t kind = draw.between(0, 9);
    if (kind < 5) return {};
    if (kind == 5) return Control(transport::FixedRate{draw.between(1, 3'000), 3, 0});
    if (kind == 6) return Control(transport::IbCc(ib_cc_settings()));
    if (kind == 7) return Control(transport::Timely(timely_settings()));
    return Control(transport::Dcqcn(dcqcn_settings(kind == 8)));
}

void draw_notifications(Station& station, uint64_t seed, uint32_t index) {
    Draw draw(seed, Drawer::notifications, index);
    auto& settings = station.config.notifications;
    if (draw.percent(30)) settings.way = transport::NotificationSettings::Way::answer;
    settings.interval = base::Duration{draw.pick({0u, 4'000'000u, 50'000'000u})};
    settings.service_level = static_cast<uint8_t>(draw.between(0, 7));
}

Station draw_station(uint64_t seed, uint32_t index) {
    Draw draw(seed, Drawer::adapter, index);
    Station station;
    station.config.endpoint = EndpointIndex{index + 1};
    station.config.seed = seed;
    station.config.loss = draw.percent(50) ? LossPolicy::go_back_n : LossPolicy::selective_repeat;
    station.config.ack_every = draw.between(1, 24);
    station.config.max_packets_outstanding =
        draw.percent(60) ? 1 << 15 : 2 * station.config.ack_every + draw.between(0, 64);
    station.config.reorder_packets = draw.pick({2u, 8u, 64u, 256u});
    station.config.grants_credits = draw.percent(50);
    station.picoseconds_per_byte = draw.pick({0u, 20u, 40u, 80u});
    station.lanes_closed_percent = draw.percent(30) ? draw.between(1, 40) : 0;
    station.cqs = draw.between(1, 4);
    station.region_access = kAllAccess;
    draw_notifications(station, seed, index);
    return station;
}

// Makes one connection: two sides, of a service, on two adapters or on one.
class ConnectionMaker {
public:
    ConnectionMaker(World& world, uint32_t index)
        : world_(world),
          draw_(world.seed, Drawer::connection, index),
          first_(static_cast<uint32_t>(world.sides.size())) {}

    void make() {
        const uint32_t kind = draw_.between(0, 99);
        type_ = kind < 65 ? QpType::rc : kind < 85 ? QpType::uc : QpType::ud;
        const auto stations = static_cast<uint32_t>(world_.stations.size());
        const uint32_t a = draw_.between(0, stations - 1);
        const uint32_t b = draw_.percent(5) ? a : (a + draw_.between(1, stations - 1)) % stations;
        add_side(a, first_ + 1);
        add_side(b, first_);
        connect(world_.sides[first_], world_.sides[first_ + 1]);
        connect(world_.sides[first_ + 1], world_.sides[first_]);
        if (type_ == QpType::rc && draw_.percent(2))
            world_.sides[first_ + draw_.between(0, 1)].error_at_ns = draw_.between(1, 60'000);
        if (type_ != QpType::ud && draw_.percent(10))
            world_.sides[first_ + draw_.between(0, 1)].drain_at_ns = draw_.between(1, 30'000);
    }

private:
    void add_side(uint32_t station, uint32_t peer) {
        Side side;
        side.type = type_;
        side.congestion = draw_congestion(world_.seed, static_cast<uint32_t>(world_.sides.size()));
        side.adapter = station;
        side.peer = peer;
        side.cq_send = draw_.between(0, world_.stations[station].cqs - 1);
        side.cq_receive = draw_.between(0, world_.stations[station].cqs - 1);
        side.send = {.requests = draw_.percent(30) ? draw_.between(1, 4) : draw_.between(5, 40),
                     .sges = draw_.between(1, 4),
                     .inline_bytes = draw_.percent(50) ? draw_.between(8, 256) : 0};
        side.signal_all = draw_.percent(15);
        side.max_burst = draw_.between(1, 12);
        side.pause_ns = draw_.pick({100u, 2'000u, 20'000u});
        QpAttributes& a = side.attributes;
        a.access = kAllAccess;
        a.qkey = QKey{0x1000 + draw_.between(0, 3)};
        a.address = {
            .endpoint = {},
            .service_level = static_cast<uint8_t>(draw_.between(0, 7)),
            .entropy = static_cast<uint16_t>(0xc000 | draw_.between(0, 0x3fff)),
            .ack_timeout = static_cast<uint8_t>(draw_.between(draw_.percent(10) ? 3 : 5, 9))};
        a.send_psn =
            Psn{draw_.percent(30) ? 0xff'ffff - draw_.between(0, 20) : draw_.between(0, 0xff'ffff)};
        a.retry_count = static_cast<uint8_t>(draw_.percent(75) ? 7 : draw_.between(3, 6));
        a.rnr_retry = static_cast<uint8_t>(draw_.percent(90) ? 7 : draw_.between(4, 6));
        a.min_rnr_timer = static_cast<uint8_t>(draw_.between(1, 12));
        a.max_incoming_reads = static_cast<uint8_t>(draw_.between(1, 8));
        world_.sides.push_back(std::move(side));
    }

    void connect(Side& side, const Side& peer) {
        QpAttributes& a = side.attributes;
        a.address.endpoint = world_.stations[peer.adapter].config.endpoint;
        if (&side == &world_.sides[first_])
            a.path_mtu = 256u << draw_.between(0, 4);
        else
            a.path_mtu = peer.attributes.path_mtu;
        if (type_ == QpType::ud) a.path_mtu = 4096;
        a.receive_psn = peer.attributes.send_psn;
        a.max_reads = static_cast<uint8_t>(draw_.between(1, peer.attributes.max_incoming_reads));
        if (world_.faults.none()) a.address.ack_timeout = 12;
    }

    World& world_;
    Draw draw_;
    uint32_t first_;
    QpType type_ = QpType::rc;
};

// Makes the work of one side.
class WorkMaker {
public:
    WorkMaker(World& world, uint32_t index)
        : world_(world),
          side_(world.sides[index]),
          index_(index),
          draw_(world.seed, Drawer::side, index) {}

    void make(uint32_t count) {
        for (uint32_t i = 0; i < count; ++i) add(draw_work());
        if (side_.type == QpType::rc && draw_.percent(2)) {
            Operation& bad = add(Work::write);
            bad.bad_key = bad.length != 0;
        }
        // The end of the work is signalled, so that the end is seen.
        if (!side_.operations.empty()) side_.operations.back().flags |= kSignalled;
    }

    // One operation of this work, with its memory.
    Operation& add(Work work) {
        Operation operation;
        operation.work = work;
        operation.to_side = side_.type == QpType::ud ? draw_target() : side_.peer;
        if (draw_.percent(70)) operation.flags |= kSignalled;
        if (draw_.percent(10)) operation.flags |= kFence;
        if (draw_.percent(10)) operation.flags |= kSolicited;
        if (is_atomic(work))
            set_atomic(operation);
        else
            set_data(operation);
        const auto number = static_cast<uint32_t>(side_.operations.size());
        if (takes_receive(work)) side_.messages.push_back(number);
        side_.operations.push_back(std::move(operation));
        return side_.operations.back();
    }

    // A window of this side, opened and closed some times, and what the peer does through it.
    void make_window(WorkMaker& peer) {
        side_.has_window = true;
        Gate closed;
        const uint32_t rounds = draw_.between(1, 3);
        for (uint32_t round = 1; round <= rounds; ++round) {
            Operation& bind = add(Work::bind_window);
            bind.flags = kSignalled;
            bind.gate = closed;
            bind.window = round;
            const uint32_t range = take(station(), kWindowBytes, 16, 8);
            bind.local = {{range, kWindowBytes}};
            const Gate open{index_, last()};
            peer.use_window(round, range, open, *this);
            if (draw_.percent(50)) {
                Operation& invalidate = peer.add(Work::send_with_invalidate);
                invalidate.window = round;
                // Without the fence it may overtake the READs before it (10.8.3.3).
                invalidate.flags |= kSignalled | kFence;
                closed = {peer.index_, peer.last()};
            } else {
                Operation& invalidate = add(Work::local_invalidate);
                invalidate.window = round;
                invalidate.gate = {peer.index_, peer.last()};
                closed = {};
            }
        }
    }

private:
    Station& station() { return world_.stations[side_.adapter]; }
    Station& target() { return world_.stations[world_.sides[side_.peer].adapter]; }
    uint32_t mtu() const { return side_.attributes.path_mtu; }
    uint32_t last() const { return static_cast<uint32_t>(side_.operations.size() - 1); }

    void use_window(uint32_t round, uint32_t range, Gate open, WorkMaker&) {
        const uint32_t count = draw_.between(1, 3);
        uint32_t at = range;
        for (uint32_t i = 0; i < count; ++i) {
            Operation& operation = add(draw_.percent(50) ? Work::write : Work::read);
            operation.length = draw_.between(1, kWindowBytes / 3 - 8);
            operation.local = take_pieces(station(), draw_, operation.length, side_.send.sges);
            operation.remote_offset = at;
            operation.window = round;
            operation.flags = static_cast<uint8_t>(operation.flags & ~kInline);
            if (i == 0) operation.gate = open;
            if (i + 1 == count) operation.flags |= kSignalled;
            at += operation.length + draw_.between(0, 8);
        }
    }

    uint32_t draw_target() {
        std::vector<uint32_t> others;
        for (uint32_t i = 0; i < world_.sides.size(); ++i)
            if (world_.sides[i].type == QpType::ud) others.push_back(i);
        return others[draw_.between(0, static_cast<uint32_t>(others.size()) - 1)];
    }

    Work draw_work() {
        using enum Work;
        if (side_.type == QpType::ud) return draw_.pick({send, send_with_immediate});
        if (side_.type == QpType::uc)
            return draw_.pick({send, send_with_immediate, write, write_with_immediate});
        return draw_.pick({send, send, send_with_immediate, write, write, write_with_immediate,
                           read, read, compare_swap, fetch_add, fetch_add, atomic_write,
                           transport::Work::flush});
    }

    uint32_t draw_length(Work work) {
        const uint32_t kind = draw_.between(0, 99);
        uint32_t most = kind < 10 ? 8 : kind < 55 ? 300 : kind < 85 ? 2 * mtu() : 6 * mtu();
        most = std::min(most, takes_receive(work) ? 4096u : 8192u);
        uint32_t length = draw_.percent(10) ? most : draw_.between(0, most);
        if (side_.type == QpType::ud) length = std::min(length, mtu());
        const bool unnamed = side_.type != QpType::rc && work == Work::send;
        return unnamed ? std::max(8u, length) : length;
    }

    void set_data(Operation& operation) {
        const Work work = operation.work;
        if (work == Work::bind_window || work == Work::local_invalidate) return;
        operation.length = work == Work::atomic_write ? 8 : draw_length(work);
        if (work == Work::flush) {
            operation.flush_placement = static_cast<uint8_t>(draw_.between(1, 3));
            operation.length = std::max(1u, operation.length);
        }
        operation.local = take_pieces(station(), draw_, operation.length, side_.send.sges);
        if (has_source(work) && operation.length <= side_.send.inline_bytes && draw_.percent(50))
            operation.flags |= kInline;
        if (work == Work::read && set_read_back(operation)) return;
        const bool to_memory = work != Work::send && work != Work::send_with_immediate &&
                               work != Work::send_with_invalidate;
        if (to_memory)
            operation.remote_offset = take(target(), operation.length, draw_.between(1, 9),
                                           work == Work::atomic_write ? 8 : 1);
    }

    // A READ of what an earlier WRITE of the same queue pair wrote.
    bool set_read_back(Operation& operation) {
        if (side_.operations.empty() || draw_.percent(70)) return false;
        const Operation& earlier = side_.operations[draw_.between(0, last())];
        const bool fits = earlier.work == Work::write && earlier.window == 0 && !earlier.bad_key &&
                          earlier.length != 0;
        if (!fits) return false;
        const uint32_t skipped = draw_.between(0, earlier.length - 1);
        operation.length = earlier.length - skipped;
        operation.local = take_pieces(station(), draw_, operation.length, side_.send.sges);
        operation.remote_offset = earlier.remote_offset + skipped;
        return true;
    }

    void set_atomic(Operation& operation) {
        operation.length = 8;
        operation.local = take_pieces(station(), draw_, 8, side_.send.sges);
        const bool add = operation.work == Work::fetch_add;
        operation.counter = add && draw_.percent(60) ? shared_counter() : private_counter();
        Counter& counter = world_.counters[operation.counter];
        operation.remote_offset = counter.offset;
        if (counter.shared) {
            operation.compare_or_add = 1;
            return;
        }
        const uint64_t value = counter.states.back();
        const bool hits = draw_.percent(70);
        operation.compare_or_add = add || !hits ? draw_.word() : value;
        operation.swap = draw_.word();
        counter.states.push_back(add    ? value + operation.compare_or_add
                                 : hits ? operation.swap
                                        : value);
    }

    uint32_t shared_counter() {
        const uint32_t adapter = world_.sides[side_.peer].adapter;
        for (uint32_t i = 0; i < world_.counters.size(); ++i)
            if (world_.counters[i].shared && world_.counters[i].adapter == adapter) return i;
        return add_counter(true);
    }

    uint32_t private_counter() {
        if (private_ == kNone) private_ = add_counter(false);
        return private_;
    }

    uint32_t add_counter(bool shared) {
        Counter counter;
        counter.adapter = world_.sides[side_.peer].adapter;
        counter.offset = take(target(), 8, 8, 8);
        counter.shared = shared;
        // Close to where the word would wrap.
        counter.initial = uint64_t{0} - draw_.between(0, 100);
        counter.states = {counter.initial};
        world_.counters.push_back(std::move(counter));
        return static_cast<uint32_t>(world_.counters.size() - 1);
    }

    World& world_;
    Side& side_;
    uint32_t index_;
    Draw draw_;
    uint32_t private_ = kNone;
};

// Receive queues: some sides of a service share one of their adapter, the others have their own.
class PoolMaker {
public:
    explicit PoolMaker(World& world) : world_(world) {}

    void make() {
        for (uint32_t i = 0; i < world_.sides.size(); ++i) choose(i);
        for (uint32_t i = 0; i < world_.pools.size(); ++i) fill(i);
    }

private:
    void choose(uint32_t index) {
        Side& side = world_.sides[index];
        Draw draw(world_.seed, Drawer::pool, index);
        const bool shares = draw.percent(35);
        for (uint32_t i = 0; shares && i < world_.pools.size(); ++i) {
            const Pool& pool = world_.pools[i];
            if (!pool.shared || pool.adapter != side.adapter || pool.type != side.type) continue;
            side.pool = i;
            return;
        }
        Pool pool;
        pool.adapter = side.adapter;
        pool.type = side.type;
        pool.shared = shares;
        pool.depth = draw.percent(30) ? draw.between(1, 3) : draw.between(4, shares ? 32 : 12);
        pool.sges = draw.between(1, 4);
        pool.repost_delay_ns = draw.pick({1u, 1'000u, 10'000u, 60'000u});
        pool.owner = shares ? kNone : index;
        side.pool = static_cast<uint32_t>(world_.pools.size());
        world_.pools.push_back(std::move(pool));
    }

    void fill(uint32_t index) {
        Pool& pool = world_.pools[index];
        Draw draw(world_.seed, Drawer::pool, 1'000 + index);
        for (const Side& side : world_.sides)
            for (const uint32_t message : side.messages) {
                const Operation& operation = side.operations[message];
                if (world_.sides[operation.to_side].pool != index) continue;
                pool.buffer_bytes = std::max(pool.buffer_bytes, operation.length);
            }
        pool.buffer_bytes += draw.percent(50) ? 0 : draw.between(1, 64);
        if (pool.type == QpType::ud) pool.buffer_bytes += kGrhBytes;
        for (uint32_t i = 0; i < pool.depth; ++i)
            pool.buffers.push_back(
                {take_pieces(world_.stations[pool.adapter], draw, pool.buffer_bytes, pool.sges),
                 false});
    }

    World& world_;
};

void put_word(std::vector<std::byte>& memory, uint32_t offset, uint64_t word) {
    std::memcpy(memory.data() + offset, &word, sizeof word);
}

void fill_memory(World& world) {
    for (Station& station : world.stations) {
        const size_t words = (station.memory_bytes + 64) / 8 + 1;
        station.memory.resize(words * 8);
        uint64_t state = base::mix64(world.seed ^ uint64_t{station.config.endpoint.value} << 56);
        for (size_t i = 0; i < words; ++i)
            put_word(station.memory, static_cast<uint32_t>(i * 8),
                     base::mix64(state += base::kGoldenRatio));
    }
    for (const Counter& counter : world.counters)
        put_word(world.stations[counter.adapter].memory, counter.offset, counter.initial);
    for (uint32_t i = 0; i < world.sides.size(); ++i) {
        const Side& side = world.sides[i];
        for (uint32_t k = 0; k < side.operations.size(); ++k) {
            const Operation& operation = side.operations[k];
            if (!has_source(operation.work) || operation.length < 8) continue;
            const uint64_t name = name_of(i, k);
            put_bytes(world.stations[side.adapter].memory, operation.local,
                      std::as_bytes(std::span(&name, 1)));
        }
    }
    for (Station& station : world.stations) station.shadow = station.memory;
}

void make_work(World& world, Draw& draw) {
    std::vector<WorkMaker> makers;
    for (uint32_t i = 0; i < world.sides.size(); ++i) makers.emplace_back(world, i);
    for (uint32_t i = 0; i < world.sides.size(); i += 2) {
        const bool both = draw.percent(60);
        const bool windows = world.sides[i].type == QpType::rc && draw.percent(20);
        const uint32_t most = draw.pick({8u, 16u, 60u});
        makers[i].make(draw.between(1, most));
        if (both) makers[i + 1].make(draw.between(1, most));
        if (!windows) continue;
        makers[i].make_window(makers[i + 1]);
        makers[i].make(draw.between(0, 4));
        makers[i + 1].make(draw.between(0, 4));
    }
}

}  // namespace

bool takes_receive(Work work) {
    return work == Work::send || work == Work::send_with_immediate ||
           work == Work::send_with_invalidate || work == Work::write_with_immediate;
}

bool has_source(Work work) {
    return takes_receive(work) || work == Work::write || work == Work::atomic_write;
}

bool is_atomic(Work work) {
    return work == Work::compare_swap || work == Work::fetch_add;
}

uint32_t length_of(const Pieces& pieces) {
    uint32_t sum = 0;
    for (const Range& piece : pieces) sum += piece.length;
    return sum;
}

std::vector<std::byte> bytes_of(const std::vector<std::byte>& memory, const Pieces& pieces) {
    std::vector<std::byte> bytes;
    bytes.reserve(length_of(pieces));
    for (const Range& piece : pieces) {
        const auto from = memory.begin() + piece.offset;
        bytes.insert(bytes.end(), from, from + piece.length);
    }
    return bytes;
}

void put_bytes(std::vector<std::byte>& memory, const Pieces& pieces,
               std::span<const std::byte> bytes) {
    for (const Range& piece : pieces) {
        const size_t part = std::min<size_t>(piece.length, bytes.size());
        std::copy_n(bytes.begin(), part, memory.begin() + piece.offset);
        bytes = bytes.subspan(part);
    }
}

uint64_t name_of(uint32_t side, uint32_t operation) {
    return uint64_t{0x7a5e} << 48 | uint64_t{side} << 16 | operation;
}

uint32_t World::find_side(uint32_t adapter, Qpn qpn) const {
    for (uint32_t i = 0; i < sides.size(); ++i)
        if (sides[i].adapter == adapter && sides[i].qpn == qpn) return i;
    return kNone;
}

World make_world(uint64_t seed) {
    World world;
    world.seed = seed;
    Draw draw(seed, Drawer::world, 0);
    world.faults = draw_faults(draw);
    Draw marks(seed, Drawer::marks, UINT32_MAX);
    if (marks.percent(60)) world.faults.mark = marks.between(1, 300'000);
    world.link_ns = draw.between(200, 10'000);
    world.bytes_percent = draw.percent(70) ? 3 : 50;
    world.encapsulation =
        draw.pick({wire::Encapsulation::roce_v2_ipv4, wire::Encapsulation::roce_v2_ipv6,
                   wire::Encapsulation::roce_v1, wire::Encapsulation::infiniband_local,
                   wire::Encapsulation::infiniband_global});
    if (draw.percent(3)) world.cut_at_ns = draw.between(1'000, 200'000);
    const uint32_t stations = draw.between(2, 4);
    for (uint32_t i = 0; i < stations; ++i) world.stations.push_back(draw_station(seed, i));
    const uint32_t connections = draw.percent(60) ? draw.between(4, 8) : draw.between(9, 24);
    for (uint32_t i = 0; i < connections; ++i) ConnectionMaker(world, i).make();
    make_work(world, draw);
    PoolMaker(world).make();
    fill_memory(world);
    return world;
}

}  // namespace tulle::swarm
