#include "scenario/host_overrides.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenario/glob.h"
#include "scenario/settings.h"

namespace tulle::scenario {
namespace {

constexpr KnownKey kOverrideKeys[] = {
    {"match", "name", "hosts by name: h3, h1* or gpu?-rail0"},
    {"rate", "rate", "rate of the adapter and its cable, in both directions"},
    {"send_latency", "duration", "as `hosts.send_latency`, for these hosts"},
    {"receive_latency", "duration", "as `hosts.receive_latency`"},
    {"receive_buffer", "size", "as `hosts.receive_buffer`"},
    {"send_toll", "map", "as `hosts.send_toll`: a slow bus"},
    {"receive_toll", "map", "as `hosts.receive_toll`"},
    {"memory", "map", "as `hosts.memory`"},
};

Value without(const Value& map, std::initializer_list<std::string_view> keys) {
    Value rest = map;
    rest.keys.clear();
    rest.items.clear();
    for (size_t i = 0; i < map.keys.size(); ++i) {
        if (std::find(keys.begin(), keys.end(), map.keys[i].name) != keys.end()) continue;
        rest.keys.push_back(map.keys[i]);
        rest.items.push_back(map.items[i]);
    }
    return rest;
}

std::vector<uint32_t> matching_hosts(std::string_view pattern, const topology::Graph& graph) {
    std::vector<uint32_t> nodes;
    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
        if (graph.nodes[node].is_host() && matches(pattern, graph.nodes[node].name))
            nodes.push_back(node);
    return nodes;
}

sim::HostSettings& own_settings(sim::Setup& setup, uint32_t node) {
    auto& all = setup.host_overrides;
    const auto place = std::ranges::lower_bound(all, node, {}, &sim::HostOverride::node);
    if (place != all.end() && place->node == node) return place->host;
    return all.insert(place, {node, setup.host})->host;
}

void set_cable_rates(const Value& text, uint32_t node, Notes& notes, sim::Setup& setup) {
    uint64_t bps = 0;
    Target unused;
    const Field field = bits_per_second([&](Target&) -> uint64_t& { return bps; });
    if (const Complaint wrong = field.read(unused, text))
        return notes.fail(text.line, fmt::format("hosts.overrides: rate: {}", *wrong));
    for (topology::Cable& cable : setup.graph.cables)
        if (cable.a.node == node || cable.b.node == node) cable.rate_bps = bps;
}

void read_entry(const Value& entry, Notes& notes, sim::Setup& setup) {
    if (!notes.expect_map(entry, "an entry of hosts.overrides", kOverrideKeys)) return;
    const Value* match = entry.find("match");
    if (match == nullptr)
        return notes.fail(entry.line, "the entry of hosts.overrides has no match: write match: h0");
    if (!notes.expect_text(*match, "match", "h1*")) return;
    if (entry.keys.size() == 1)
        return notes.fail(entry.line, "the entry of hosts.overrides changes nothing");
    const std::vector<uint32_t> nodes = matching_hosts(match->text, setup.graph);
    if (nodes.empty())
        return notes.fail(match->line,
                          fmt::format("hosts.overrides: no host is called '{}'; the first is {}",
                                      match->text.substr(0, 60),
                                      setup.graph.nodes[setup.graph.endpoints().front()].name));
    const Value settings = without(entry, {"match", "rate"});
    for (const uint32_t node : nodes) {
        Target target{setup.fabric, own_settings(setup, node)};
        apply_section("hosts", settings, target, notes);
        own_settings(setup, node) = target.host;
        if (const Value* rate = entry.find("rate")) set_cable_rates(*rate, node, notes, setup);
        if (notes.failed()) return;
    }
}

}  // namespace

std::span<const KnownKey> host_override_keys() {
    return kOverrideKeys;
}

void read_host_overrides(const Value& list, Notes& notes, sim::Setup& setup) {
    if (!notes.expect_list(list, "hosts.overrides")) return;
    for (const Value& entry : list.items) read_entry(entry, notes, setup);
}

Value without_overrides(const Value& hosts) {
    return without(hosts, {kHostOverrides});
}

}  // namespace tulle::scenario
