#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "make.h"

namespace tulle::swarm {
namespace {

using namespace transport;

constexpr uint32_t kPassingBytes = 24'000;

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
    faults.trim = draw_chance(draw, most);
    return faults;
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
    station.config.notifications = draw_notifications(seed, index);
    station.config.reorder_tolerance = draw.pick({0u, 0u, 1u, 3u, 16u});
    if (draw.percent(25))
        station.config.timeouts = {Duration{draw.between(100, 2'000) * int64_t{1'000'000}},
                                   Duration{draw.between(20, 100) * int64_t{1'000'000}},
                                   draw.between(0, 8)};
    if (draw.percent(30)) station.passing = {take(station, kPassingBytes, 0), kPassingBytes};
    return station;
}

// Windows of less than a packet, of some, and of more than a world's messages.
const RcccSettings& credit_settings(uint32_t kind) {
    static const auto make = [](base::Duration round_trip, uint32_t packet, bool heeds_marks) {
        RcccSettings settings;
        settings.base_rtt = round_trip;
        settings.packet_bytes = packet;
        settings.request_after = base::Duration{30'000'000};
        settings.heeds_marks = heeds_marks;
        settings.line_rate_bps = 100'000'000'000;
        return settings;
    };
    static const RcccSettings small = make(base::Duration{20'000}, 256, false);
    static const RcccSettings usual = make(base::Duration{2'000'000}, 1024, true);
    static const RcccSettings large = make(base::Duration{50'000'000}, 4096, false);
    return kind == 0 ? small : kind == 1 ? usual : large;
}

// Three worlds of ten take packets of RC in any order, over paths of the sender's choice. In some
// of them receivers grant credit.
void draw_delivery(World& world) {
    Draw draw(world.seed, Drawer::delivery, 0);
    if (!draw.percent(30)) return;
    world.delivery = draw.pick({Delivery::placed, Delivery::unordered, Delivery::unordered});
    for (Station& station : world.stations) {
        station.config.loss = LossPolicy::selective_repeat;
        station.config.delivery = world.delivery;
        station.config.paths.policy =
            draw.pick({PathPolicy::one, PathPolicy::oblivious, PathPolicy::bitmap, PathPolicy::reps,
                       PathPolicy::round_trip});
        station.config.paths.count = draw.pick({2u, 16u, 256u});
    }
    if (!draw.percent(40)) return;
    const RcccSettings& credit = credit_settings(draw.between(0, 2));
    for (Station& station : world.stations) station.config.receiver_credit = &credit;
}

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

}  // namespace

uint32_t take(Station& station, uint32_t length, uint32_t gap, uint32_t alignment) {
    uint32_t offset = station.memory_bytes + gap;
    offset += -offset % alignment;
    station.memory_bytes = offset + length;
    return offset;
}

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

std::optional<uint32_t> take_passing(Station& station, uint32_t length) {
    const uint32_t used = station.passing_used + 8;
    if (used + length > station.passing.length) return std::nullopt;
    station.passing_used = used + length;
    return station.passing.offset + used;
}

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

uint64_t value_after(const Operation& operation, uint64_t before) {
    if (operation.work == Work::fetch_add) return before + operation.compare_or_add;
    return before == operation.compare_or_add ? operation.swap : before;
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

uint32_t World::find_ee(uint32_t adapter, uint32_t number) const {
    for (uint32_t i = 0; i < ees.size(); ++i)
        if (ees[i].adapter == adapter && ees[i].number.value == number) return i;
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
    draw_delivery(world);
    const uint32_t connections = draw.percent(60) ? draw.between(4, 8) : draw.between(9, 24);
    for (uint32_t i = 0; i < connections; ++i) make_connection(world, i);
    make_groups(world, draw);
    make_xrc_pools(world);
    make_work(world, draw);
    make_pools(world);
    make_acts(world);
    fill_memory(world);
    return world;
}

}  // namespace tulle::swarm
