#include "scenario/astra.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/int128.h"
#include "base/units.h"
#include "base/words.h"
#include "scenario/notes.h"
#include "scenario/tree.h"
#include "topology/builders.h"
#include "workload/collectives/collective.h"

namespace tulle::scenario {
namespace {

using workload::Collective;

constexpr std::pair<std::string_view, Collective> kImplementations[] = {
    {"all-reduce-implementation", Collective::all_reduce},
    {"all-gather-implementation", Collective::all_gather},
    {"reduce-scatter-implementation", Collective::reduce_scatter},
    {"all-to-all-implementation", Collective::all_to_all},
};

constexpr std::string_view kOfNoEffect[] = {"scheduling-policy",
                                            "endpoint-delay",
                                            "active-chunks-per-dimension",
                                            "preferred-dataset-splits",
                                            "collective-optimization",
                                            "local-reduction-delay",
                                            "L",
                                            "o",
                                            "g",
                                            "G",
                                            "model-shared-bus",
                                            "boost-mode",
                                            "trace-enabled",
                                            "replay-only",
                                            "track-local-mem",
                                            "local-mem-trace-filename",
                                            "all-reduce-implementation-custom",
                                            "all-gather-implementation-custom",
                                            "reduce-scatter-implementation-custom",
                                            "all-to-all-implementation-custom"};

std::optional<workload::Algorithm> algorithm_named(std::string_view name) {
    if (name == "ring" || name == "oneRing") return workload::Algorithm::ring;
    if (name.starts_with("direct") || name.starts_with("oneDirect"))
        return workload::Algorithm::direct;
    if (name == "doubleBinaryTree") return workload::Algorithm::tree;
    if (name == "halvingDoubling" || name == "oneHalvingDoubling")
        return workload::Algorithm::halving_doubling;
    return std::nullopt;
}

class SystemReader {
public:
    SystemReader(const Value& root, Notes& notes) : root_(root), notes_(notes) {}

    AstraSystem read() {
        for (size_t i = 0; i < root_.keys.size() && !notes_.failed(); ++i)
            read_key(root_.keys[i], root_.items[i]);
        if (is_roofline_ && !notes_.failed()) {
            if (peak_ == 0)
                notes_.fail(1,
                            "roofline-enabled needs peak-perf, in TFLOP/s; write \"peak-perf\": "
                            "989");
            system_.roofline = {peak_, memory_};
            system_.notes.push_back(
                fmt::format("system: peak-perf in TFLOP/s, local-mem-bw in GB/s of 10^9 bytes"));
        }
        if (!ignored_.empty())
            system_.notes.push_back(
                fmt::format("system: no effect here: {}", fmt::join(ignored_, ", ")));
        return std::move(system_);
    }

private:
    void read_key(const Key& key, const Value& value) {
        for (const auto& [name, collective] : kImplementations)
            if (key.name == name) return read_algorithm(key, value, collective);
        if (key.name == "peak-perf") {
            peak_ = amount(key, value, "TB");
        } else if (key.name == "local-mem-bw") {
            memory_ = amount(key, value, "GB");
        } else if (key.name == "roofline-enabled") {
            is_roofline_ = value.text == "1" || value.text == "true";
        } else if (std::ranges::find(kOfNoEffect, key.name) != std::end(kOfNoEffect)) {
            ignored_.push_back(key.name);
        } else {
            std::vector<std::string_view> known(std::begin(kOfNoEffect), std::end(kOfNoEffect));
            for (const auto& [name, unused] : kImplementations) known.push_back(name);
            known.insert(known.end(), {"peak-perf", "local-mem-bw", "roofline-enabled"});
            notes_.fail(key.line, unknown_key(key.name, "a system file", known));
        }
    }

    // A decimal number in units of 10^12 or 10^9.
    uint64_t amount(const Key& key, const Value& value, std::string_view unit) {
        const auto found = base::parse_bytes(value.text + std::string(unit));
        if (!found || *found == 0)
            notes_.fail(value.line, fmt::format("{}: '{}' is no number above 0", key.name,
                                                value.text.substr(0, 40)));
        return found ? *found : 0;
    }

    void read_algorithm(const Key& key, const Value& list, Collective collective) {
        if (!notes_.expect_list(list, key.name)) return;
        std::vector<std::string> names;
        for (const Value& item : list.items) {
            if (!algorithm_named(item.text))
                return notes_.fail(item.line,
                                   fmt::format("{}: '{}' is unknown here; write ring, direct, "
                                               "doubleBinaryTree, halvingDoubling or one of their "
                                               "one-dimensional forms",
                                               key.name, item.text.substr(0, 40)));
            names.push_back(item.text);
        }
        if (names.empty()) return notes_.fail(list.line, fmt::format("{}: name one", key.name));
        const workload::Algorithm first = *algorithm_named(names.front());
        const bool alike = std::ranges::all_of(
            names, [&](const std::string& name) { return *algorithm_named(name) == first; });
        const auto known = workload::algorithms_of(collective);
        if (alike && std::ranges::find(known, first) != known.end()) {
            system_.algorithms[collective] = first;
            return;
        }
        system_.notes.push_back(fmt::format("system: {} [{}] is left to the library: {}", key.name,
                                            fmt::join(names, ", "),
                                            alike ? "there is no such algorithm of it here"
                                                  : "dimensions that differ have none here"));
    }

    const Value& root_;
    Notes& notes_;
    AstraSystem system_;
    bool is_roofline_ = false;
    uint64_t peak_ = 0;
    uint64_t memory_ = 0;
    std::vector<std::string> ignored_;
};

constexpr KnownKey kNetworkKeys[] = {
    {"topology", "list", "Ring, FullyConnected or Switch, the innermost first"},
    {"npus_count", "list", "of each dimension"},
    {"bandwidth", "list", "GB/s of 2^30 bytes"},
    {"latency", "list", "ns"},
};

// Of a number of GB/s, of 2^30 bytes, such as 741.34.
std::optional<uint64_t> bits_of_bandwidth(const std::string& text) {
    constexpr uint64_t kMost = uint64_t{1} << 53;
    const auto billions = base::parse_rate(text + "Gbps");
    if (!billions) return std::nullopt;
    const base::uint128_t bits =
        (base::uint128_t{billions->whole_bits_per_second()} * 8 << 30) / 1'000'000'000;
    return bits == 0 || bits > kMost ? std::nullopt : std::optional(static_cast<uint64_t>(bits));
}

std::optional<AstraDimension> dimension_of(const std::array<const Value*, 4>& lists, size_t i,
                                           Notes& notes) {
    AstraDimension found;
    found.shape = lists[0]->items[i].text;
    constexpr std::string_view kShapes[] = {"Ring", "FullyConnected", "Switch"};
    if (std::ranges::find(kShapes, found.shape) == std::end(kShapes))
        notes.fail(lists[0]->items[i].line,
                   fmt::format("topology: {}", base::unknown_word(found.shape, kShapes)));
    const auto npus = base::parse_bytes(lists[1]->items[i].text);
    if (!npus || *npus < 1 || *npus > (1 << 20))
        notes.fail(lists[1]->items[i].line, "npus_count: it is a number from 1 to 1048576");
    const auto rate = bits_of_bandwidth(lists[2]->items[i].text);
    if (!rate)
        notes.fail(lists[2]->items[i].line,
                   "bandwidth: it is a number of GB/s above 0, of 2^30 bytes, such as 50.0");
    const auto latency = base::parse_duration(lists[3]->items[i].text + "ns");
    if (!latency || latency->ps <= 0 || latency->ps > 1'000'000'000'000)
        notes.fail(lists[3]->items[i].line, "latency: it is a number of ns above 0, such as 500");
    if (notes.failed()) return std::nullopt;
    found.npus = static_cast<uint32_t>(*npus);
    found.rate_bps = *rate;
    found.latency_ps = static_cast<uint64_t>(latency->ps);
    return found;
}

void set_cables(topology::Graph& graph, size_t first, const AstraDimension& dimension) {
    for (size_t i = first; i < graph.cables.size(); ++i) {
        graph.cables[i].rate_bps = dimension.rate_bps;
        graph.cables[i].delay = {static_cast<int64_t>(dimension.latency_ps)};
    }
}

// NPUs that forward messages of others: each has its own switch.
topology::Graph joined_npus(const AstraDimension& dimension) {
    topology::Graph graph;
    const uint32_t count = dimension.npus;
    const uint32_t neighbours = dimension.shape == "Ring" ? std::min(2u, count - 1) : count - 1;
    for (uint32_t i = 0; i < count; ++i) graph.add({.name = fmt::format("npu{}", i), .server = i});
    for (uint32_t i = 0; i < count; ++i)
        graph.add({.name = fmt::format("router{}", i),
                   .kind = topology::NodeKind::switch_node,
                   .tier = topology::kLeafTier});
    for (uint32_t i = 0; i < count; ++i) {
        topology::Cable& cable = graph.connect(i, count + i);
        cable.rate_bps = dimension.rate_bps * neighbours;
        cable.delay = {1'000};  // chosen: almost no delay, inside the NPU
    }
    const size_t first = graph.cables.size();
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t j = i + 1; j < count; ++j) {
            const bool are_next = j == i + 1 || (i == 0 && j == count - 1 && count > 2);
            if (dimension.shape != "Ring" || are_next) graph.connect(count + i, count + j);
        }
    set_cables(graph, first, dimension);
    return graph;
}

}  // namespace

base::Result<AstraSystem> read_astra_system(std::string_view text, const std::string& file) {
    const auto root = parse_tree(text, file);
    if (!root) return root.error();
    Notes notes(file);
    if (!root->is_map())
        notes.fail(1, "it is no system file; write {\"all-reduce-implementation\": [\"ring\"]}");
    AstraSystem system;
    if (!notes.failed()) system = SystemReader(*root, notes).read();
    if (notes.failed()) return notes.error();
    return system;
}

base::Result<std::vector<AstraDimension>> read_astra_network(std::string_view text,
                                                             const std::string& file) {
    const auto root = parse_tree(text, file);
    if (!root) return root.error();
    Notes notes(file);
    std::array<const Value*, 4> lists{};
    if (notes.expect_map(*root, "a network file", kNetworkKeys))
        for (size_t i = 0; i < lists.size() && !notes.failed(); ++i) {
            const std::string_view key = kNetworkKeys[i].name;
            lists[i] = root->find(key);
            if (lists[i] == nullptr)
                notes.fail(1, fmt::format("{} is missing; write {}: [...]", key, key));
            else if (notes.expect_list(*lists[i], key) && lists[i]->items.empty())
                notes.fail(lists[i]->line, fmt::format("{}: name at least one dimension", key));
            else if (!notes.failed() && lists[i]->items.size() != lists[0]->items.size())
                notes.fail(lists[i]->line,
                           fmt::format("{} has {} dimensions, but topology has {}", key,
                                       lists[i]->items.size(), lists[0]->items.size()));
        }
    std::vector<AstraDimension> dimensions;
    for (size_t i = 0; !notes.failed() && i < lists[0]->items.size(); ++i)
        if (auto one = dimension_of(lists, i, notes)) dimensions.push_back(*one);
    if (notes.failed()) return notes.error();
    return dimensions;
}

base::Result<topology::Graph> astra_graph(const std::vector<AstraDimension>& dimensions,
                                          const std::string& file) {
    constexpr uint32_t kMostJoined = 512;  // chosen: all-to-all cables grow with its square
    const AstraDimension& outer = dimensions.back();
    if (dimensions.size() > 2)
        return base::Error{
            fmt::format("{}:1: it has {} dimensions; there is a network inside "
                        "servers and one between them, so write two at most",
                        file, dimensions.size())};
    if (dimensions.size() == 2 && outer.shape != "Switch")
        return base::Error{
            fmt::format("{}:1: the outer dimension is {}; only a Switch can join "
                        "servers",
                        file, outer.shape)};
    if (outer.shape != "Switch" && (outer.npus < 2 || outer.npus > kMostJoined))
        return base::Error{
            fmt::format("{}:1: npus_count of a {} is 2 to {}", file, outer.shape, kMostJoined)};
    if (outer.shape != "Switch") return joined_npus(outer);
    topology::Graph graph;
    const uint32_t rails = dimensions.size() == 2 ? dimensions.front().npus : 1;
    if (uint64_t{rails} * outer.npus > (1 << 20))
        return base::Error{fmt::format("{}:1: it has more than 1048576 NPUs", file)};
    for (uint32_t i = 0; i < outer.npus * rails; ++i)
        graph.add({.name = fmt::format("npu{}", i),
                   .rail = static_cast<uint16_t>(i % rails),
                   .server = i / rails});
    for (uint32_t rail = 0; rail < rails; ++rail)
        graph.add({.name = fmt::format("switch{}", rail),
                   .kind = topology::NodeKind::switch_node,
                   .tier = topology::kLeafTier});
    for (uint32_t i = 0; i < outer.npus * rails; ++i)
        graph.connect(i, outer.npus * rails + i % rails);
    // Rails must reach one another: if there are several, a switch above joins them.
    if (rails > 1) {
        const uint32_t above = graph.add({.name = "above",
                                          .kind = topology::NodeKind::switch_node,
                                          .tier = topology::kSpineTier});
        for (uint32_t rail = 0; rail < rails; ++rail)
            graph.connect(outer.npus * rails + rail, above);
    }
    set_cables(graph, 0, outer);
    return graph;
}

}  // namespace tulle::scenario
