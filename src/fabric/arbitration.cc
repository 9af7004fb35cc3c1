#include "fabric/arbitration.h"

#include <algorithm>

namespace tulle::fabric {
namespace {

constexpr int32_t kQuantumBytes = 4096;  // per round, for the smallest weight
constexpr uint32_t kHighUnit = 4096;
constexpr uint8_t kNoLimit = 255;

bool has(uint16_t lanes, uint32_t lane) {
    return (lanes >> lane & 1) != 0;
}

// The lane of the next entry that may send, or kNoLane. An entry sends until its weight is used up,
// and its last packet may overdraw it. Then the next entry has its turn.
uint32_t pick_entry(std::span<const VlArbitration::Entry> table, uint8_t& entry, int32_t& left,
                    uint16_t eligible) {
    for (size_t tried = 0; tried <= table.size(); ++tried) {
        const VlArbitration::Entry& e = table[entry];
        if (left > 0 && has(eligible, e.lane)) return e.lane;
        entry = static_cast<uint8_t>((entry + 1) % table.size());
        left = table[entry].weight * static_cast<int32_t>(kBlockBytes);
    }
    return kNoLane;
}

uint16_t lanes_of(std::span<const VlArbitration::Entry> table) {
    uint16_t lanes = 0;
    for (const VlArbitration::Entry& e : table)
        if (e.weight != 0) lanes |= static_cast<uint16_t>(1u << e.lane);
    return lanes;
}

// Whether the high table may send while the low one waits. It may always send one packet.
bool is_within_limit(const VlArbitration& tables, uint32_t high_sent) {
    return high_sent == 0 || tables.high_limit == kNoLimit ||
           high_sent < tables.high_limit * kHighUnit;
}

int32_t weight_of(const EtsSettings& ets, uint32_t lane) {
    return std::max<int32_t>(1, ets.weight[lane]);
}

// The bytes that a lane of weight one may send in a round. Weights are often percentages: rounds in
// which weight 50 sends 50 large packets would make the others wait for 4 us at 400 Gb/s.
int32_t unit_of(const EtsSettings& ets, uint16_t eligible) {
    int32_t smallest = INT32_MAX;
    for (uint16_t lanes = eligible; lanes != 0; lanes &= static_cast<uint16_t>(lanes - 1))
        smallest =
            std::min(smallest, weight_of(ets, static_cast<uint32_t>(std::countr_zero(lanes))));
    return (kQuantumBytes + smallest - 1) / smallest;
}

}  // namespace

uint32_t pick_ets(const EtsSettings& ets, Port& port, std::span<LaneWait> lanes, uint16_t eligible,
                  std::span<const uint16_t> head_bytes) {
    if (const auto strict = static_cast<uint16_t>(eligible & ets.strict); strict != 0)
        return static_cast<uint32_t>(std::bit_width(strict)) - 1;
    const auto count = static_cast<uint32_t>(lanes.size());
    const int32_t unit = unit_of(ets, eligible);
    for (uint32_t lane = port.next_lane;; lane = (lane + 1) % count) {
        LaneWait& out = lanes[lane];
        if (!has(eligible, lane)) {
            if (!has(port.filled, lane)) out.deficit = 0;
            continue;
        }
        if (out.deficit >= head_bytes[lane]) {
            out.deficit -= head_bytes[lane];
            port.next_lane = static_cast<uint8_t>(lane);
            return lane;
        }
        out.deficit += weight_of(ets, lane) * unit;
    }
}

uint32_t pick_vl(const VlArbitration& tables, VlRound& round, uint16_t eligible,
                 std::span<const uint16_t> head_bytes) {
    if (has(eligible, kManagementLane)) return kManagementLane;
    const std::span high(tables.high.data(), tables.high_count);
    const std::span low(tables.low.data(), tables.low_count);
    const bool low_waits = (eligible & lanes_of(low)) != 0;
    if (!low_waits) round.high_sent = 0;
    uint32_t lane = kNoLane;
    if (!high.empty() && (eligible & lanes_of(high)) != 0) {
        if (is_within_limit(tables, round.high_sent))
            lane = pick_entry(high, round.high_entry, round.high_left, eligible);
        if (lane != kNoLane) {
            round.high_left -= head_bytes[lane];
            if (low_waits) round.high_sent += head_bytes[lane];
            return lane;
        }
    }
    round.high_sent = 0;
    if (!low.empty()) lane = pick_entry(low, round.low_entry, round.low_left, eligible);
    if (lane != kNoLane) {
        round.low_left -= head_bytes[lane];
        return lane;
    }
    // A lane that is in no table sends when no other lane does.
    return static_cast<uint32_t>(std::countr_zero(eligible));
}

Arbiter::Arbiter(const Settings& settings, const EtsSettings& ets, std::vector<EtsSettings> by_port,
                 uint16_t ports)
    : tables_(settings.vl_arbitration), ets_(ets), by_port_(std::move(by_port)) {
    if (settings.arbitration == Arbitration::vl_tables) rounds_.resize(ports);
}

uint32_t Arbiter::pick(uint32_t number, Port& port, std::span<LaneWait> lanes, uint16_t eligible,
                       std::span<const uint16_t> head_bytes) {
    if (!rounds_.empty()) return pick_vl(tables_, rounds_[number], eligible, head_bytes);
    const EtsSettings& ets = by_port_.empty() ? ets_ : by_port_[number];
    return pick_ets(ets, port, lanes, eligible, head_bytes);
}

}  // namespace tulle::fabric
