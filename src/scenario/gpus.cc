#include "scenario/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/words.h"
#include "scenario/fabric_overrides.h"
#include "scenario/fields.h"
#include "scenario/gpus_machine.h"
#include "scenario/nccl_topology.h"
#include "scenario/profile.h"
#include "scenario/scenario.h"
#include "scenario/settings.h"
#include "topology/builders.h"

namespace tulle::scenario {
namespace {

constexpr KnownKey kGpuKeys[] = {
    {"hosts", "hosts",
     "the hosts with a GPU, such as [0-63]; by default all but those called storage0 and so on"},
    {"per_nic", "number",
     "GPUs that share a host's adapter, 1 by default; more need a scale_up network between them"},
    {"per_server", "number",
     "number of consecutive GPUs in a server; by default as the topology says, one for each rail"},
    {"server", "file",
     "NCCL's topology of a server, XML (NCCL_TOPO_DUMP_FILE); per_server, per_nic and scale_up "
     "follow from its GPUs, network ports and NVLink or PCI Express, unless they are given. A file "
     "for NCCL_TOPO_FILE gives only the numbers of GPUs and ports. If GPUs have several ports, one "
     "stands for all of a GPU: take a profile that is as fast"},
    {"scale_up", "profile, map or none",
     "the network inside servers: a built-in profile, the path of one, or a map; none by default"},
    {"generation", "one of volta, ampere, hopper, blackwell",
     "the step times of the collective library are those of this generation; by default of the "
     "scale_up network's"},
    {"memory", "number",
     "number of memory devices that the GPUs of a server share, each with a port of the scale_up "
     "network; 0 by default. With memory devices the switches of that network do not add up"},
    {"slow", "list of maps", "GPUs that are slower: see below"},
};

constexpr KnownKey kSlowKeys[] = {
    {"gpus", "GPUs", "such as [3, 8-15]"},
    {"compute", "ratio", "by what factor their computing is slower, such as 3/2"},
    {"reaction", "ratio",
     "by what factor their time from an event to the doorbell of the next message is longer"},
};

constexpr workload::Generation kGenerations[] = {
    workload::Generation::volta, workload::Generation::ampere, workload::Generation::hopper,
    workload::Generation::blackwell};

constexpr KnownKey kScaleUpKeys[] = {
    {"profile", "name or file", "a built-in profile, or the path of one"},
    {"fabric", "settings",
     "what differs from the profile. The ports of GPUs are called g0, g1 and so on, the switch of "
     "the first server switch0"},
    {"hosts", "settings", "what differs from the profile"},
};

class GpuReader {
public:
    GpuReader(const Names& names, const FileReader& files, Notes& notes, sim::Setup& setup)
        : names_(names), files_(files), notes_(notes), setup_(setup) {}

    Gpus read(const Value* said) {
        Value with_server;
        const Value* map = said;
        const bool has_server =
            said != nullptr && said->is_map() && said->find("server") != nullptr;
        if (has_server) {
            with_server = read_server(*said);
            map = &with_server;
        }
        const bool is_said = map != nullptr && notes_.expect_map(*map, "gpus", kGpuKeys);
        const auto find = [&](std::string_view key) { return is_said ? map->find(key) : nullptr; };
        const std::vector<uint32_t> endpoints = repeat(find_hosts(find("hosts")), find("per_nic"));
        if (notes_.failed()) return gpus_;
        place(endpoints, find("per_server"));
        give_ranks(endpoints);
        if (const Value* value = find("memory"))
            if (const Complaint wrong = detail::not_a_number(*value, 0, 64, memory_))
                notes_.fail(value->line, fmt::format("memory: {}", *wrong));
        if (const Value* value = find("scale_up"); value && !notes_.failed()) read_scale_up(*value);
        if (memory_ > 0 && !gpus_.scale_up)
            notes_.fail(map->line,
                        "memory: it is shared over the network inside servers; write scale_up: "
                        "nvlink4");
        if (per_nic_ > 1 && !gpus_.scale_up)
            notes_.fail(map->line,
                        "per_nic: GPUs that share an adapter need a network between "
                        "them; write scale_up: nvlink4, or pcie5");
        if (const Value* list = find("slow"); list && !notes_.failed()) read_slow(*list);
        const auto generation = read_generation(find("generation"));
        const uint32_t adapters = std::max(1u, gpus_.per_server / per_nic_);
        gpus_.machine = machine_of(setup_, gpus_.per_server, adapters, generation);
        return gpus_;
    }

private:
    // The map, with values from the server's own file added.
    Value read_server(const Value& map) {
        const Value& file = *map.find("server");
        if (!notes_.expect_text(file, "server", "topology.xml")) return map;
        const std::string path = resolve(notes_.file(), file.text);
        const auto text = files_(path);
        if (!text) {
            notes_.fail(file.line, text.error().message);
            return map;
        }
        const auto server = read_nccl_topology(*text, path);
        if (!server) {
            notes_.adopt(server.error());
            return map;
        }
        auto filled = gpus_of_server(*server, map);
        if (filled) return std::move(*filled);
        notes_.fail(file.line, filled.error().message);
        return map;
    }

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

    // Each host, repeated once for each of its GPUs.
    std::vector<uint32_t> repeat(const std::vector<uint32_t>& hosts, const Value* per_nic) {
        uint64_t times = 1;
        if (per_nic != nullptr)
            if (const Complaint wrong = detail::not_a_number(*per_nic, 1, 64, times))
                notes_.fail(per_nic->line, fmt::format("per_nic: {}", *wrong));
        per_nic_ = static_cast<uint32_t>(times);
        std::vector<uint32_t> endpoints;
        for (const uint32_t host : hosts)
            for (uint64_t i = 0; i < times; ++i) endpoints.push_back(host);
        return endpoints;
    }

    std::optional<workload::Generation> read_generation(const Value* value) {
        if (value == nullptr) return std::nullopt;
        std::vector<std::string_view> names;
        for (const workload::Generation one : kGenerations) {
            names.push_back(workload::name_of(one));
            if (value->text == names.back()) return one;
        }
        notes_.fail(value->line,
                    fmt::format("generation: {}", base::unknown_word(value->text, names)));
        return std::nullopt;
    }

    void read_slow(const Value& list) {
        if (!notes_.expect_list(list, "slow")) return;
        for (const Value& entry : list.items) {
            if (!notes_.expect_map(entry, "an entry of slow", kSlowKeys)) return;
            const Value* who = entry.find("gpus");
            if (who == nullptr)
                return notes_.fail(entry.line, "slow: which GPUs is missing; write gpus: [3]");
            const uint32_t compute = read_slowness(entry, "compute");
            const uint32_t reaction = read_slowness(entry, "reaction");
            if (compute == 1000 && reaction == 1000 && !notes_.failed())
                notes_.fail(entry.line,
                            "slow: the factor is missing; write compute: 3/2 or "
                            "reaction: 3/2");
            for (const uint32_t rank : read_list_of(
                     "GPU", *who, "gpus", [&](std::string_view word) { return gpu(word); },
                     notes_)) {
                setup_.ranks[rank].compute_permille = compute;
                setup_.ranks[rank].reaction_permille = reaction;
            }
        }
    }

    base::Result<uint32_t> gpu(std::string_view word) const {
        Value value;
        value.kind = Value::Kind::text;
        value.text = word;
        uint64_t rank = 0;
        if (detail::not_a_number(value, 0, gpus_.count() - 1, rank))
            return base::Error{fmt::format("there is no GPU '{}'; the {} GPUs count from 0 to {}",
                                           word.substr(0, 40), gpus_.count(), gpus_.count() - 1)};
        return static_cast<uint32_t>(rank);
    }

    // Returns the factor in thousandths.
    uint32_t read_slowness(const Value& entry, std::string_view key) {
        const Value* value = entry.find(key);
        if (value == nullptr) return 1000;
        uint32_t above = 1;
        uint32_t below = 1;
        Target unused;
        const Field field = ratio([&](Target&) -> uint32_t& { return above; },
                                  [&](Target&) -> uint32_t& { return below; });
        if (const Complaint wrong = field.read(unused, *value))
            notes_.fail(value->line, fmt::format("{}: {}", key, *wrong));
        else if (above < below)
            notes_.fail(value->line,
                        fmt::format("{}: a slow GPU takes longer; write 3/2 or so", key));
        return above * 1000 / below;
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
        std::map<uint32_t, uint32_t> numbers;  // of the topology's servers, as first seen
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
            if (rank % per_nic_ == 0) gpus_.rank_of[endpoints[rank]] = rank;
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
        if (profile.most_gpus != 0 && gpus_.per_server > profile.most_gpus)
            profile = read_profile(std::string(profile.larger), name->line, files_, notes_);
        for (const std::string_view section : {"fabric", "hosts"})
            if (const Value* map = value.is_map() ? value.find(section) : nullptr)
                apply_section(section, *map, profile.target, notes_);
        if (notes_.failed()) return;
        for (const std::string_view section : {"fabric", "hosts"})
            if (const Value* map = value.is_map() ? value.find(section) : nullptr)
                check_used(section, *map, profile.target, notes_);
        if (const Complaint wrong = check_together(profile.target))
            return notes_.fail(value.line, fmt::format("scale_up: {}", *wrong));
        make_islands(profile, value);
    }

    void make_islands(const Profile& profile, const Value& value) {
        const uint32_t line = value.line;
        const auto inside = std::make_shared<sim::Setup>();
        inside->name = setup_.name;
        inside->fabric_name = profile.name;
        inside->fabric = profile.target.fabric;
        inside->host = profile.target.host;
        inside->seed = setup_.seed;
        const auto ports = static_cast<uint32_t>(gpus_.per_server + memory_);
        auto graph = topology::build(
            topology::Islands{.islands = gpus_.count() / gpus_.per_server, .hosts = ports});
        if (!graph) return notes_.fail(line, fmt::format("scale_up: {}", graph.error().message));
        inside->graph = std::move(*graph);
        const Value* fabric = value.is_map() ? value.find("fabric") : nullptr;
        if (fabric != nullptr) read_fabric_overrides(*fabric, notes_, *inside);
        if (notes_.failed()) return;
        gpus_.servers_differ = fabric != nullptr && (fabric->find("switches") != nullptr ||
                                                     fabric->find("cables") != nullptr);
        if (const Complaint wrong = set_line_rates(*inside))
            return notes_.fail(line, fmt::format("scale_up: {}", *wrong));
        // A switch that sums would send the result to all of its ports.
        if (memory_ > 0) inside->fabric.node.reduction = false;
        gpus_.scale_up = true;
        gpus_.reduction = inside->fabric.node.reduction;
        for (const workload::Member& member : gpus_.members)
            setup_.ranks[member.rank].scale_up = member.server * ports + member.local;
        setup_.scale_up = inside;
        give_memory_ranks(ports);
    }

    // Memory devices send nothing between servers; their adapter there is that of the first GPU.
    void give_memory_ranks(uint32_t ports) {
        gpus_.memory_per_server = static_cast<uint32_t>(memory_);
        gpus_.first_memory = static_cast<uint32_t>(setup_.ranks.size());
        for (const workload::Member& member : gpus_.members) {
            if (member.local != 0) continue;
            const uint32_t endpoint = setup_.ranks[member.rank].endpoint;
            for (uint32_t i = 0; i < memory_; ++i)
                setup_.ranks.push_back({.endpoint = endpoint,
                                        .scale_up = member.server * ports + gpus_.per_server + i});
        }
    }

    const Names& names_;
    const FileReader& files_;
    Notes& notes_;
    sim::Setup& setup_;
    Gpus gpus_;
    uint32_t per_nic_ = 1;
    uint64_t memory_ = 0;  // memory devices of a server
};

}  // namespace

std::span<const KnownKey> gpu_keys() {
    return kGpuKeys;
}

std::span<const KnownKey> scale_up_keys() {
    return kScaleUpKeys;
}

std::span<const KnownKey> slow_keys() {
    return kSlowKeys;
}

Gpus read_gpus(const Value* map, const Names& names, const FileReader& files, Notes& notes,
               sim::Setup& setup) {
    return GpuReader(names, files, notes, setup).read(map);
}

}  // namespace tulle::scenario
