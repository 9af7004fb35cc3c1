#include "scenario/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "scenario/fields.h"
#include "scenario/profile.h"
#include "scenario/scenario.h"
#include "scenario/settings.h"
#include "topology/builders.h"

namespace tulle::scenario {
namespace {

constexpr KnownKey kGpuKeys[] = {
    {"hosts", "hosts",
     "each with one GPU, such as [0-63]; by default all but those called storage0 and so on"},
    {"per_server", "number",
     "GPUs in a row that share a server; by default as the topology says, a rail each"},
    {"scale_up", "profile, map or none",
     "of the network inside servers: a built-in profile, the path of one, or a map; none by "
     "default"},
};

constexpr KnownKey kScaleUpKeys[] = {
    {"profile", "name or file", "a built-in profile, or the path of one"},
    {"fabric", "settings", "what differs from the profile"},
    {"hosts", "settings", "what differs from the profile"},
};

class GpuReader {
public:
    GpuReader(const Names& names, const FileReader& files, Notes& notes, sim::Setup& setup)
        : names_(names), files_(files), notes_(notes), setup_(setup) {}

    Gpus read(const Value* map) {
        const bool is_said = map != nullptr && notes_.expect_map(*map, "gpus", kGpuKeys);
        const auto find = [&](std::string_view key) { return is_said ? map->find(key) : nullptr; };
        const std::vector<uint32_t> endpoints = find_hosts(find("hosts"));
        if (notes_.failed()) return gpus_;
        place(endpoints, find("per_server"));
        give_ranks(endpoints);
        if (const Value* value = find("scale_up"); value && !notes_.failed()) read_scale_up(*value);
        return gpus_;
    }

private:
    std::vector<uint32_t> find_hosts(const Value* list) {
        if (list != nullptr) {
            const std::vector<uint32_t> hosts = read_hosts(*list, "hosts", names_, notes_);
            if (hosts.empty()) notes_.fail(list->line, "hosts: name at least one");
            return hosts;
        }
        std::vector<uint32_t> hosts;
        for (uint32_t i = 0; i < names_.host_count(); ++i)
            if (!setup_.graph.nodes[names_.node_of(i)].name.starts_with("storage"))
                hosts.push_back(i);
        return hosts;
    }

    void place(const std::vector<uint32_t>& endpoints, const Value* per_server) {
        uint64_t asked = 0;
        if (per_server != nullptr)
            if (const Complaint wrong =
                    detail::not_a_number(*per_server, 1, endpoints.size(), asked))
                return notes_.fail(per_server->line, fmt::format("per_server: {}", *wrong));
        if (asked != 0 && endpoints.size() % asked != 0)
            return notes_.fail(per_server->line, fmt::format("per_server: {} does not divide the "
                                                             "{} GPUs",
                                                             asked, endpoints.size()));
        std::map<uint32_t, uint32_t> numbers;  // of the topology's servers, as they come
        std::vector<uint32_t> counts;
        for (uint32_t rank = 0; rank < endpoints.size(); ++rank) {
            const uint32_t named = setup_.graph.nodes[names_.node_of(endpoints[rank])].server;
            const auto next = static_cast<uint32_t>(counts.size());
            const uint32_t server = asked != 0 ? static_cast<uint32_t>(rank / asked)
                                               : numbers.try_emplace(named, next).first->second;
            if (server == next) counts.push_back(0);
            gpus_.members.push_back({rank, server, counts[server]++});
        }
        const bool alike = std::all_of(counts.begin(), counts.end(),
                                       [&](uint32_t count) { return count == counts.front(); });
        gpus_.per_server = alike && !counts.empty() ? counts.front() : 0;
    }

    void give_ranks(const std::vector<uint32_t>& endpoints) {
        gpus_.rank_of.assign(names_.host_count(), topology::kNone);
        for (uint32_t rank = 0; rank < endpoints.size(); ++rank) {
            gpus_.rank_of[endpoints[rank]] = rank;
            setup_.ranks.push_back({.endpoint = endpoints[rank]});
        }
        for (uint32_t i = 0; i < names_.host_count(); ++i) {
            if (gpus_.rank_of[i] != topology::kNone) continue;
            gpus_.rank_of[i] = static_cast<uint32_t>(setup_.ranks.size());
            setup_.ranks.push_back({.endpoint = i});
        }
    }

    void read_scale_up(const Value& value) {
        if (value.is_text() && value.text == "none") return;
        if (gpus_.per_server < 2)
            return notes_.fail(value.line,
                               gpus_.per_server == 1
                                   ? "scale_up: each server has one GPU; write per_server: 8 or so"
                                   : "scale_up: servers have different numbers of GPUs; write "
                                     "per_server: 8 or so");
        const Value* name = value.is_map() ? value.find("profile") : &value;
        if (value.is_map() && !notes_.expect_map(value, "scale_up", kScaleUpKeys)) return;
        if (name == nullptr)
            return notes_.fail(value.line, "the profile is missing; write profile: nvlink4");
        if (!notes_.expect_text(*name, "scale_up", "nvlink4")) return;
        Profile profile = read_profile(name->text, name->line, files_, notes_);
        for (const std::string_view section : {"fabric", "hosts"})
            if (const Value* map = value.is_map() ? value.find(section) : nullptr)
                apply_section(section, *map, profile.target, notes_);
        if (notes_.failed()) return;
        for (const std::string_view section : {"fabric", "hosts"})
            if (const Value* map = value.is_map() ? value.find(section) : nullptr)
                check_used(section, *map, profile.target, notes_);
        if (const Complaint wrong = check_together(profile.target))
            return notes_.fail(value.line, fmt::format("scale_up: {}", *wrong));
        make_islands(profile, value.line);
    }

    void make_islands(const Profile& profile, uint32_t line) {
        const auto inside = std::make_shared<sim::Setup>();
        inside->name = setup_.name;
        inside->fabric_name = profile.name;
        inside->fabric = profile.target.fabric;
        inside->host = profile.target.host;
        inside->seed = setup_.seed;
        auto graph = topology::build(topology::Islands{.islands = gpus_.count() / gpus_.per_server,
                                                       .hosts = gpus_.per_server});
        if (!graph) return notes_.fail(line, fmt::format("scale_up: {}", graph.error().message));
        inside->graph = std::move(*graph);
        if (const Complaint wrong = set_line_rates(*inside))
            return notes_.fail(line, fmt::format("scale_up: {}", *wrong));
        gpus_.scale_up = true;
        gpus_.reduction = inside->fabric.node.reduction;
        for (const workload::Member& member : gpus_.members)
            setup_.ranks[member.rank].scale_up = member.server * gpus_.per_server + member.local;
        setup_.scale_up = inside;
    }

    const Names& names_;
    const FileReader& files_;
    Notes& notes_;
    sim::Setup& setup_;
    Gpus gpus_;
};

}  // namespace

std::span<const KnownKey> gpu_keys() {
    return kGpuKeys;
}

std::span<const KnownKey> scale_up_keys() {
    return kScaleUpKeys;
}

Gpus read_gpus(const Value* map, const Names& names, const FileReader& files, Notes& notes,
               sim::Setup& setup) {
    return GpuReader(names, files, notes, setup).read(map);
}

}  // namespace tulle::scenario
