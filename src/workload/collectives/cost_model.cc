#include "workload/collectives/cost_model.h"

#include <algorithm>
#include <bit>

namespace tulle::workload {
namespace {

using base::Duration;
using nccl::Kind;
using nccl::Proto;

constexpr uint32_t kMostChannels = 32;
// Number of rings that NCCL's search finds among the GPUs of a DGX: 12 of 10, 20 and 30 GB/s up to
// Hopper, 24 of 30 GB/s on Blackwell.
constexpr std::array<uint64_t, 4> kRingsInside = {12, 12, 12, 24};
// Channels for sums in switches: src/transport/nvls.cc. Between two servers Blackwell has more.
constexpr uint32_t kNvlsHopper = 16;
constexpr uint32_t kNvlsBlackwell = 24;
constexpr uint32_t kNvlsTwoBlackwell = 32;

Duration nanoseconds(int64_t count) {
    return {count * 1000};
}

// The highest speed of the list that is at most the link's share.
uint64_t speed_within(const nccl::Speeds& speeds, uint64_t share) {
    for (const uint64_t speed : speeds)
        if (speed != 0 && speed <= share) return speed;
    return share;
}

const nccl::Speeds& inside_speeds(Generation generation) {
    if (generation == Generation::blackwell) return nccl::kInsideBlackwell;
    return generation == Generation::hopper ? nccl::kInsideHopper : nccl::kInside;
}

const nccl::Speeds& between_speeds(Generation generation) {
    if (generation == Generation::blackwell) return nccl::kBetweenBlackwell;
    return generation == Generation::hopper ? nccl::kBetweenHopper : nccl::kBetween;
}

// DGX A100 has AMD's processors; the generations before and after it have Intel's.
bool has_amd(Generation generation) {
    return generation == Generation::ampere;
}

int64_t floor_log2(uint64_t number) {
    return static_cast<int64_t>(std::bit_width(number)) - 1;
}

}  // namespace

std::string_view name_of(Protocol protocol) {
    switch (protocol) {
        case Protocol::bare: return "none";
        case Protocol::automatic: return "auto";
        case Protocol::simple: return "simple";
        case Protocol::ll: return "ll";
        case Protocol::ll128: return "ll128";
    }
    return "";
}

std::string_view name_of(Generation generation) {
    switch (generation) {
        case Generation::volta: return "volta";
        case Generation::ampere: return "ampere";
        case Generation::hopper: return "hopper";
        case Generation::blackwell: return "blackwell";
    }
    return "";
}

CostModel::CostModel(const Machine& machine, const Placement& placement, Collective collective)
    : machine_(machine),
      collective_(collective),
      ranks_(placement.size()),
      servers_(placement.has_scale_up() ? placement.server_count() : ranks_),
      per_server_(std::max(1u, ranks_ / std::max(1u, servers_))),
      generation_(static_cast<size_t>(machine.generation)) {}

uint64_t CostModel::limit(const nccl::Limits& limits) const {
    return limits[generation_][std::min(servers_, 3u) - 1];
}

uint64_t CostModel::most_ll() const {
    if (servers_ == 1) return limit(nccl::kMostLl);
    return nccl::kMostLl[has_amd(machine_.generation) ? 1 : 0][std::min(servers_, 3u) - 1];
}

// The part of its bandwidth that a ring of LL reaches: a quarter up to NCCL 2.18, with which A100
// were measured; later versions, tuned on Hopper, say a half for all.
uint64_t CostModel::ll_part() const {
    return machine_.generation < Generation::hopper ? 4 : 2;
}

CostModel::Graph CostModel::graph(Kind kind) const {
    const uint64_t up = machine_.network(Tier::scale_up).mbps;
    const uint64_t out = machine_.network(Tier::scale_out).mbps;
    const nccl::Speeds& inside = inside_speeds(machine_.generation);
    const nccl::Speeds& between = between_speeds(machine_.generation);
    if (kind == nccl::nvls || kind == nccl::nvls_tree) {
        const uint64_t heads = std::min(per_server_, nccl::kMostNvlsHeads);
        return {heads, speed_within(inside, up / heads), speed_within(between, out)};
    }
    if (servers_ == 1) {
        const uint64_t rings = kRingsInside[generation_];
        const uint64_t speed = speed_within(inside, up / rings);
        return {rings, speed, speed};
    }
    const uint64_t rails = per_server_ == 1 ? 1 : std::max(1u, machine_.adapters);
    const uint64_t share = per_server_ == 1 ? out : std::min(out, up / rails);
    const uint64_t speed = speed_within(between, share);
    return {rails, speed, speed};
}

uint64_t CostModel::nvls_bandwidth(Kind kind, const Graph& graph) const {
    if (graph.channels < 2 || nccl::kNvlsPercent[generation_] == 0) return 0;
    uint64_t inside = graph.inside * nccl::kNvlsPercent[generation_] / 100 * (graph.channels - 1) /
                      graph.channels;
    inside = collective_ == Collective::all_reduce ? inside * 2
                                                   : inside * (per_server_ - 1) / per_server_;
    if (kind == nccl::nvls) return graph.channels * inside;
    const uint64_t between = graph.between * (servers_ <= 2 ? 2 : 1);
    return graph.channels * std::min({inside, between, limit(nccl::kMostNvlsTree)});
}

uint64_t CostModel::bus_bandwidth(Way way) const {
    const Graph graph = this->graph(way.kind);
    if (way.kind == nccl::nvls || way.kind == nccl::nvls_tree)
        return nvls_bandwidth(way.kind, graph);
    const uint64_t all = graph.channels * graph.inside;
    if (way.kind == nccl::ring) {
        if (way.proto == nccl::ll) return std::min(most_ll(), all / ll_part());
        if (way.proto == nccl::ll128)
            return std::min(all * 92 / 100, graph.channels * limit(nccl::kMostRingLl128));
        return all;
    }
    const uint64_t tree = std::min(all * 92 / 100, graph.channels * limit(nccl::kMostTree));
    if (way.proto == nccl::ll) return std::min(tree * 10 / 38, most_ll());
    if (way.proto == nccl::ll128)
        return std::min(servers_ == 1 ? tree * 7 / 9 : tree * 120 / 128,
                        graph.channels * limit(nccl::kMostTreeLl128));
    return tree;
}

uint64_t CostModel::bandwidth(Way way, uint64_t bytes) const {
    uint64_t bus = bus_bandwidth(way);
    if (way.kind == nccl::tree) {
        const uint64_t units = bytes >> 6;
        const int64_t power = units == 0 ? -1 : floor_log2(units);
        if (power >= 0 && power < 23)
            bus = bus * nccl::kTreeTenths[way.proto][static_cast<size_t>(power)] / 10;
        return bus / 2;
    }
    const bool is_both = collective_ == Collective::all_reduce;
    const bool is_half =
        collective_ == Collective::reduce_scatter || collective_ == Collective::all_gather;
    const uint64_t steps = is_both ? 2 * (ranks_ - 1) : is_half ? ranks_ - 1 : ranks_;
    return steps == 0 ? bus : bus * ranks_ / steps;
}

// The slowest NVLink, that of two P100, is faster than the fastest PCI Express.
bool CostModel::has_pci() const {
    constexpr uint64_t kLeastNvlink = 72'000;  // src/graph/topo.h: 4 links of 18 GB/s
    return machine_.network(Tier::scale_up).mbps < kLeastNvlink;
}

// True above the size from which rings through several servers take longer than their steps
// predict.
bool CostModel::is_plateau(Way way, uint64_t bytes) const {
    return way == Way{nccl::ring, nccl::simple} && servers_ > 1 &&
           collective_ == Collective::all_reduce &&
           bytes / (2 * graph(way.kind).channels * ranks_) >= 64;
}

CostModel::Latency CostModel::latency(Way way, uint64_t bytes) const {
    int64_t inside = (has_pci() ? nccl::kPci : nccl::kNvlink)[way.kind][way.proto];
    // If each rank is a server of its own, nothing hides the network.
    int64_t between = nccl::kNet[per_server_ == 1 ? nccl::tree : way.kind][way.proto];
    if (way.kind == nccl::ring && servers_ > 1) {
        const int64_t post = has_amd(machine_.generation) ? nccl::kPostAmd : nccl::kPostIntel;
        inside = std::max(inside, way.proto == nccl::simple ? 3 * post : post);
    }
    Latency latency{nanoseconds(nccl::kBase[way.kind][way.proto]), nanoseconds(inside),
                    nanoseconds(between)};
    if (is_plateau(way, bytes)) {
        const int64_t tenths = machine_.generation == Generation::volta ? 19 : 14;
        for (Duration* part : {&latency.base, &latency.inside, &latency.between})
            *part = *part * tenths / 10;
    }
    return latency;
}

CostModel::Steps CostModel::steps(Way way) const {
    const auto servers = static_cast<int64_t>(servers_);
    const auto per_server = static_cast<int64_t>(per_server_);
    const int64_t height = servers_ > 1 ? floor_log2(servers_) : 0;
    switch (way.kind) {
        case nccl::tree: return {2 * (per_server - 1), 2 * height};
        case nccl::nvls: return {1, 0};
        case nccl::nvls_tree: return {1, 2 * height};
        default: break;
    }
    const int64_t passes = collective_ == Collective::all_reduce ? 2 : 1;
    const int64_t all = passes * (static_cast<int64_t>(ranks_) - 1);
    const int64_t between = servers_ == 1 ? 0 : passes * (servers - 1);
    return {all - between, between};
}

Duration CostModel::time(Way way, uint64_t bytes) const {
    const Latency each = latency(way, bytes);
    const Steps count = steps(way);
    const uint64_t mbps = std::max<uint64_t>(1, bandwidth(way, bytes));
    return each.base + each.inside * count.inside + each.between * count.between +
           Duration{static_cast<int64_t>(bytes * 1'000'000 / mbps)};
}

uint32_t CostModel::channels(Way way, uint64_t bytes) const {
    if (way.kind == nccl::nvls || way.kind == nccl::nvls_tree) {
        if (machine_.generation != Generation::blackwell) return kNvlsHopper;
        return servers_ == 2 ? kNvlsTwoBlackwell : kNvlsBlackwell;
    }
    uint64_t least = nccl::kSimpleThreads * nccl::kSimpleThreshold;
    if (way.proto == nccl::ll)
        least = nccl::kLlThreads * nccl::kLlThreshold * (way.kind == nccl::ring ? ranks_ : 1);
    if (way.proto == nccl::ll128) least = nccl::kLl128Threads * nccl::kLl128Threshold;
    const uint64_t all = std::min<uint64_t>(kMostChannels, 2 * graph(way.kind).channels);
    return static_cast<uint32_t>(std::clamp<uint64_t>(bytes / least, 1, all));
}

}  // namespace tulle::workload
