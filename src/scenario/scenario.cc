// A scenario is a stack of layers: the files that it is `like`, the scenario itself, and the
// settings of a command line. Settings of `fabric` and `hosts` are applied layer by layer on top of
// the profile. For everything else the last layer that has it wins. Only the last layer, and what a
// command line adds, is checked for useless settings: a setting of a lower layer that it makes
// useless was right there.
#include "scenario/scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "base/units.h"
#include "base/words.h"
#include "scenario/astra.h"
#include "scenario/control.h"
#include "scenario/edits.h"
#include "scenario/fabric_overrides.h"
#include "scenario/faults.h"
#include "scenario/host_overrides.h"
#include "scenario/profile.h"
#include "scenario/settings.h"
#include "scenario/tenants.h"
#include "scenario/work.h"
#include "topology/format.h"
#include "topology/spec.h"

namespace tulle::scenario {
namespace {

constexpr KnownKey kScenarioKeys[] = {
    {"name", "text", "the name in reports"},
    {"description", "text", "one line for lists"},
    {"like", "file", "another scenario, which this one changes"},
    {"seed", "number", "the seed of all random draws; 1 by default"},
    {"topology", "text or map", "hosts, switches and cables: see below"},
    {"profile", "name or file", "a built-in profile, or the path of one; roce-v2-400g by default"},
    {"fabrics", "list", "what `tulle compare` compares: see below"},
    {"fabric", "settings", "what differs from the profile: see below"},
    {"hosts", "settings", "what differs from the profile: see below"},
    {"gpus", "map", "which hosts have one, and the network inside servers: see below"},
    {"work", "list", "what hosts send: see below"},
    {"control", "word or map",
     "how switches get their tables, at the beginning and after a failure: see below"},
    {"faults", "list", "what breaks, and when: see below"},
    {"qos", "list", "nodes with other settings, which DCBX compares: see below"},
    {"tenants", "list", "hosts that may talk only to each other: see below"},
    {"stop", "duration", "the run ends here at the latest"},
    {"capture", "list of cables", "the cables whose packets are recorded"},
    {"trace", "yes or no", "keep the data of a timeline"},
};

constexpr KnownKey kTopologyKeys[] = {
    {"file", "file", "a topology of another program, or of Tulle"},
    {"format", "one of yaml, hpcc, ibnetdiscover, astra",
     "format of the file; a guess by default. astra: a network of ASTRA-sim; of two dimensions the "
     "inner one is the inside of servers and has to be given as `gpus.scale_up`"},
    {"hosts", "list", "instead of a file: names, or {name, server, rail}"},
    {"switches", "list", "names, or {name, tier, ports}"},
    {"cables", "list", "[h0, leaf0], or {between: [h0, leaf0:3], rate, delay, length, loss}"},
};

constexpr KnownKey kFabricChoiceKeys[] = {
    {"profile", "name or file", "a built-in profile, or the path of one"},
    {"name", "text", "the name in reports; by default that of the profile"},
    {"fabric", "settings", "what differs from the profile, on this fabric alone"},
    {"hosts", "settings", "what differs from the profile, on this fabric alone"},
    {"control", "word or map", "how its switches get their tables"},
};

constexpr std::string_view kDefaultProfile = "roce-v2-400g";
constexpr size_t kMostLayers = 8;

struct Layer {
    explicit Layer(std::string file) : notes(std::move(file)) {}
    Notes notes;
    Value root;
};

// A value, and the last layer that has it.
struct Found {
    Layer* layer = nullptr;
    const Value* value = nullptr;
    explicit operator bool() const { return value != nullptr; }
};

Value text_value(std::string text) {
    Value value;
    value.kind = Value::Kind::text;
    value.line = 1;
    value.text = std::move(text);
    return value;
}

Value& child(Value& map, std::string_view key) {
    map.kind = Value::Kind::map;
    map.line = 1;
    for (size_t i = 0; i < map.keys.size(); ++i)
        if (map.keys[i].name == key) return map.items[i];
    map.keys.push_back({std::string(key), 1});
    return map.items.emplace_back();
}

class Composer {
public:
    explicit Composer(const FileReader& files) : files_(files) {}

    base::Result<sim::Setup> compose(std::string_view text, std::string_view file,
                                     const Overrides& overrides) {
        load(text, std::string(file));
        own_ = layers_.size() - 1;
        first_checked_ = own_;
        if (overrides.any() && !error()) first_checked_ = layers_.size();
        if (overrides.fabric && !error()) load_choice(*overrides.fabric);
        if (overrides.any() && !error()) load(overrides);
        if (const base::Error* wrong = error()) return *wrong;
        read_settings(overrides.unused_is_fine);
        read_small();
        if (!error()) read_graph();
        if (!error()) read_overrides();
        if (!error()) read_own_settings_of_hosts();
        if (!error())
            if (const Complaint wrong = set_line_rates(setup_)) last().notes.fail(1, *wrong);
        setup_.skips = overrides.skips;
        setup_.checks_skipping = overrides.checks_skipping;
        if (!error()) read_lists(overrides);
        if (!error()) check_reactions();
        if (const base::Error* wrong = error()) return *wrong;
        take_stand_ins(setup_, overrides.most_packets);
        return std::move(setup_);
    }

    base::Result<std::vector<FabricChoice>> fabrics(std::string_view text, std::string_view file) {
        load(text, std::string(file));
        std::vector<FabricChoice> choices;
        if (const Found list = find("fabrics"); list && !error())
            for (const Value& entry : list.value->items)
                choices.push_back({text_of(entry, "name"), text_of(entry, "profile")});
        if (const base::Error* wrong = error()) return *wrong;
        return choices;
    }

    bool only_compares(std::string_view text, std::string_view file) {
        load(text, std::string(file));
        return error() == nullptr && find("fabrics") && !find("profile");
    }

private:
    const base::Error* error() const {
        for (const auto& layer : layers_)
            if (layer->notes.failed()) return &layer->notes.error();
        return nullptr;
    }

    // Loads a file; the files that it is `like` come before it.
    void load(std::string_view text, std::string file) {
        auto layer = std::make_unique<Layer>(std::move(file));
        auto root = parse_tree(text, layer->notes.file());
        if (!root) {
            layer->notes.adopt(root.error());
            layers_.push_back(std::move(layer));
            return;
        }
        layer->root = std::move(*root);
        layer->notes.expect_map(layer->root, "a scenario", kScenarioKeys);
        check_choices(layer->root, layer->notes);
        ++depth_;
        if (const Value* like = layer->root.find("like"); like && !layer->notes.failed())
            load_like(*like, layer->notes);
        layers_.push_back(std::move(layer));
    }

    void load_like(const Value& like, Notes& notes) {
        if (!notes.expect_text(like, "like", "other.yaml")) return;
        if (depth_ == kMostLayers)
            return notes.fail(like.line, "scenarios are like one another in a circle, or too deep");
        const std::string path = resolve(notes.file(), like.text);
        const auto text = files_(path);
        if (!text) return notes.fail(like.line, text.error().message);
        load(*text, path);
    }

    static void check_choices(const Value& root, Notes& notes) {
        const Value* list = root.find("fabrics");
        if (list == nullptr || !notes.expect_list(*list, "fabrics")) return;
        if (list->items.empty()) notes.fail(list->line, "fabrics: name at least one profile");
        for (const Value& entry : list->items) {
            if (!entry.is_text()) {
                if (!notes.expect_map(entry, "an entry of fabrics", kFabricChoiceKeys)) return;
                if (entry.find("profile") == nullptr)
                    return notes.fail(entry.line,
                                      "the entry of fabrics has no profile: see `tulle list "
                                      "profiles`");
            }
            if (const Complaint wrong = judge_profile_name(text_of(entry, "profile")))
                notes.fail(entry.line, fmt::format("fabrics: {}", *wrong));
        }
    }

    static std::string text_of(const Value& choice, std::string_view key) {
        if (choice.is_text()) return choice.text;
        const Value* value = choice.find(key);
        return value != nullptr ? value->text : text_of(choice, "profile");
    }

    // An entry of `fabrics` is a layer of its own, in the file that contains it.
    void load_choice(size_t index) {
        const Found list = find("fabrics");
        if (!list || index >= list.value->items.size())
            return last().notes.fail(1, "there is no such entry of fabrics");
        const Value& entry = list.value->items[index];
        auto layer = std::make_unique<Layer>(list.layer->notes.file());
        layer->root.kind = Value::Kind::map;
        layer->root.line = entry.line;
        Value profile = text_value(text_of(entry, "profile"));
        profile.line = entry.line;
        child(layer->root, "profile") = std::move(profile);
        for (const std::string_view section : {"fabric", "hosts", "control"})
            if (const Value* map = entry.find(section)) child(layer->root, section) = *map;
        layers_.push_back(std::move(layer));
    }

    // Changes the part in the last layer that has it.
    Complaint edit_part(std::string_view part, const std::string& path, const Value& value) {
        for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
            if ((*layer)->root.find(part) == nullptr) continue;
            return edit(path, value, child((*layer)->root, part));
        }
        return fmt::format("{}: the scenario has no {}", path, part);
    }

    // Refuses two values for one setting, because only one could win, and settings without any
    // effect.
    static Complaint check_given_once(const Overrides& overrides) {
        for (const auto& [path, text] : overrides.set) {
            const bool has_profile = !overrides.profile.empty() || overrides.fabric;
            if (path == "profile" && has_profile)
                return "profile: the fabric is chosen already; write the profile there "
                       "(--profile, or --fabrics of a comparison), not with --set";
            if ((path == "topology" && !overrides.topology.empty()) ||
                (path == "seed" && overrides.seed))
                return fmt::format("{0}: it is given twice; write --{0} or --set {0}=, not both",
                                   path);
            for (const std::string_view useless : {"like", "description", "fabrics"})
                if (path.substr(0, path.find('.')) == useless)
                    return fmt::format("{}: it has no effect on a command line", path);
            if (std::ranges::count(overrides.set, path, [](const auto& o) { return o.first; }) > 1)
                return fmt::format("{}: it is given twice", path);
        }
        return std::nullopt;
    }

    void load(const Overrides& overrides) {
        auto layer = std::make_unique<Layer>(std::string(kCommandLine));
        if (const Complaint wrong = check_given_once(overrides)) layer->notes.fail(1, *wrong);
        Value& root = layer->root;
        root.kind = Value::Kind::map;
        root.line = 1;
        if (!overrides.profile.empty()) child(root, "profile") = text_value(overrides.profile);
        if (!overrides.topology.empty()) child(root, "topology") = text_value(overrides.topology);
        if (overrides.seed) child(root, "seed") = text_value(std::to_string(*overrides.seed));
        for (const auto& [path, text] : overrides.set) {
            auto value = parse_tree(text, kCommandLine);
            if (!value) {
                layer->notes.adopt(value.error());
                break;
            }
            const std::string_view part = edited_part(path, *value);
            if (!part.empty()) {
                if (const Complaint wrong = root.find(part) != nullptr
                                                ? edit(path, *value, child(root, part))
                                                : edit_part(part, path, *value))
                    layer->notes.fail(1, *wrong);
                continue;
            }
            value_at(root, path) = std::move(*value);
        }
        layer->notes.expect_map(root, "the settings", kScenarioKeys);
        layers_.push_back(std::move(layer));
    }

    Found find(std::string_view key) const {
        for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer)
            if (const Value* value = (*layer)->root.find(key)) return {layer->get(), value};
        return {};
    }

    Layer& last() { return *layers_.back(); }
    // The scenario itself. Missing parts are reported there, whatever a command line adds.
    Layer& own() { return *layers_[own_]; }

    void read_settings(bool unused_is_fine) {
        std::string_view name = kDefaultProfile;
        Found profile = find("profile");
        if (profile && profile.layer->notes.expect_text(*profile.value, "profile", "ib-ndr"))
            name = profile.value->text;
        Layer& blamed = profile ? *profile.layer : last();
        const uint32_t line = profile ? profile.value->line : 1;
        Profile read = read_profile(name, line, files_, blamed.notes);
        Target& target = read.target;
        for (const auto& layer : layers_)
            for (const std::string_view section : {"fabric", "hosts"})
                if (const Value* map = layer->root.find(section))
                    apply_section(section, settings_of(*map), target, layer->notes);
        if (error()) return;
        for (size_t i = first_checked_; i < layers_.size() && !unused_is_fine; ++i)
            for (const std::string_view section : {"fabric", "hosts"})
                if (const Value* map = layers_[i]->root.find(section))
                    check_used(section, settings_of(*map), target, layers_[i]->notes);
        if (const Complaint wrong = check_together(target)) blame(*wrong);
        setup_.fabric_name = read.name;
        setup_.fabric = target.fabric;
        setup_.host = target.host;
    }

    // Reports the error where the setting was written last, if a scenario or command line has it.
    void blame(const std::string& wrong) {
        for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer)
            if (const uint32_t line = line_of(wrong, (*layer)->root))
                return (*layer)->notes.fail(line, wrong);
        last().notes.fail(1, wrong);
    }

    static Value settings_of(const Value& section) {
        return section.is_map() ? without_overrides(section) : section;
    }

    // Reads the list of the last layer that has one.
    void read_own_settings_of_hosts() {
        for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
            const Value* hosts = (*layer)->root.find("hosts");
            const Value* list = hosts != nullptr ? hosts->find(kHostOverrides) : nullptr;
            if (list != nullptr) return read_host_overrides(*list, (*layer)->notes, setup_);
        }
    }

    // Refuses a setting of switches that would be ignored.
    void refuse_of_switch(std::string_view key, std::string_view why) {
        for (const auto& layer : layers_) {
            const Value* fabric = layer->root.find("fabric");
            const Value* of_switch = fabric != nullptr ? fabric->find("switch") : nullptr;
            const Value* value = of_switch != nullptr ? of_switch->find(key) : nullptr;
            if (value != nullptr)
                layer->notes.fail(value->line,
                                  fmt::format("fabric.switch.{} has no effect{}", key, why));
        }
    }

    void read_overrides() {
        for (const auto& layer : layers_)
            if (const Value* fabric = layer->root.find("fabric"))
                read_fabric_overrides(*fabric, layer->notes, setup_);
    }

    void read_small() {
        if (const Found name = find("name");
            name && name.layer->notes.expect_text(*name.value, "name", "incast"))
            setup_.name = name.value->text;
        Target unused;
        const auto read = [&](std::string_view key, const Field& field) {
            const Found found = find(key);
            if (!found) return;
            if (const Complaint wrong = field.read(unused, *found.value))
                found.layer->notes.fail(found.value->line, fmt::format("{}: {}", key, *wrong));
        };
        read("seed",
             number<uint64_t>([&](Target&) -> uint64_t& { return setup_.seed; }, 0, UINT64_MAX));
        read("trace", yes_no([&](Target&) -> bool& { return setup_.trace; }));
        base::Duration stop{};
        read("stop", positive_duration([&](Target&) -> base::Duration& { return stop; }));
        if (stop.ps > 0) setup_.stop = base::Instant{} + stop;
    }

    void read_graph() {
        const Found found = find("topology");
        if (!found)
            return own().notes.fail(1, "the topology is missing; write topology: fat-tree:k=4");
        Notes& notes = found.layer->notes;
        const Value& value = *found.value;
        if (value.is_map())
            read_graph_map(value, notes);
        else if (notes.expect_text(value, "topology", "fat-tree:k=4"))
            take_graph(topology::build_spec(value.text), value.line, notes);
    }

    void read_graph_map(const Value& map, Notes& notes) {
        if (!notes.expect_map(map, "topology", kTopologyKeys)) return;
        const Value* file = map.find("file");
        const Value* format = map.find("format");
        if (file == nullptr) {
            if (format) return notes.fail(format->line, "format has no effect without file");
            const auto graph = topology::read(topology::Format::yaml, to_yaml(map), notes.file());
            if (!graph) return notes.adopt(graph.error());
            return take_graph(graph, map.line, notes);
        }
        if (map.find("hosts") || map.find("switches") || map.find("cables"))
            return notes.fail(map.line, "a topology has a file, or hosts and cables, not both");
        if (!notes.expect_text(*file, "file", "topology.txt")) return;
        const std::string path = resolve(notes.file(), file->text);
        const auto text = files_(path);
        if (!text) return notes.fail(file->line, text.error().message);
        if (format != nullptr && format->text == "astra")
            return read_astra(*text, path, *file, notes);
        auto kind = topology::guess_format(*text);
        if (format) {
            const auto named = topology::format_named(format->text);
            constexpr std::string_view kFormats[] = {"yaml", "hpcc", "ibnetdiscover", "astra"};
            if (!named)
                return notes.fail(
                    format->line,
                    fmt::format("format: {}", base::unknown_word(format->text, kFormats)));
            kind = *named;
        }
        const auto graph = topology::read(kind, *text, path);
        if (!graph) return notes.adopt(graph.error());
        take_graph(graph, file->line, notes);
        hpcc_ids_ = kind == topology::Format::hpcc;
    }

    void read_astra(const std::string& text, const std::string& path, const Value& file,
                    Notes& notes) {
        const auto dimensions = read_astra_network(text, path);
        if (!dimensions) return notes.adopt(dimensions.error());
        const auto graph = astra_graph(*dimensions, path);
        if (!graph) return notes.adopt(graph.error());
        take_graph(graph, file.line, notes);
    }

    void take_graph(const base::Result<topology::Graph>& graph, uint32_t line, Notes& notes) {
        if (!graph) return notes.fail(line, graph.error().message);
        if (const auto wrong = graph->check()) return notes.fail(line, wrong->message);
        setup_.graph = *graph;
    }

    void read_lists(const Overrides& overrides) {
        const Names names(setup_.graph);
        const Found gpus = find("gpus");
        Notes& gpu_notes = gpus ? gpus.layer->notes : last().notes;
        WorkPlace place{.names = names, .files = files_, .hpcc_ids = hpcc_ids_};
        place.gpus = read_gpus(gpus.value, names, files_, gpu_notes, setup_);
        place.most_tasks = overrides.most_tasks;
        place.reuses = overrides.reuses && !place.gpus.servers_differ;
        if (setup_.skips) place.most_stored = 0;
        // These come before the work, because some work is simulated here by itself and must find
        // the network complete.
        if (const Found control = find("control"))
            read_control(*control.value, names, control.layer->notes, setup_);
        if (const Found faults = find("faults"))
            read_faults(*faults.value, names, faults.layer->notes, setup_);
        if (const Found qos = find("qos")) read_qos(*qos.value, names, qos.layer->notes, setup_);
        if (error()) return;
        if (const Found work = find("work")) {
            read_work(*work.value, place, work.layer->notes, setup_);
            if (setup_.flows.empty() && setup_.program.empty())
                work.layer->notes.fail(work.value->line, "no work is given");
        } else {
            own().notes.fail(1, "the work is missing; write work: [{permutation: {bytes: 1MB}}]");
        }
        if (setup_.program.empty()) forget_gpus(gpus);
        if (const Found tenants = find("tenants"))
            read_tenants(*tenants.value, names, tenants.layer->notes, setup_);
        else
            refuse_of_switch("partition_enforcement", " without tenants; remove it, or add some");
        if (const Found capture = find("capture"))
            read_capture(*capture.value, names, capture.layer->notes, setup_);
    }

    // Ranks react to arrivals; no step of the clock is longer than that reaction.
    void check_reactions() {
        constexpr base::Duration kLeast{1'000};
        if (setup_.program.empty()) return;
        if (setup_.host.reaction < kLeast)
            return blame("hosts.reaction is below 1ns; write 500ns, or what a rank takes to react");
        if (setup_.scale_up && setup_.scale_up->host.reaction < kLeast)
            find("gpus").layer->notes.fail(
                find("gpus").value->line,
                fmt::format("scale_up: hosts.reaction of {} is below 1ns; write 500ns there, or "
                            "what a rank takes to react",
                            setup_.scale_up->fabric_name));
    }

    // Scenarios with flows only have hosts, no GPUs.
    void forget_gpus(const Found& gpus) {
        setup_.ranks.clear();
        setup_.scale_up.reset();
        if (gpus && gpus.layer == &last())
            last().notes.fail(gpus.value->line,
                              "gpus has no effect: no work is a collective, a job or storage");
    }

    const FileReader& files_;
    std::vector<std::unique_ptr<Layer>> layers_;
    size_t own_ = 0;
    size_t depth_ = 0;
    size_t first_checked_ = 0;  // from this layer on, settings without effect are errors
    sim::Setup setup_;
    bool hpcc_ids_ = false;
};

std::optional<std::string> set_line_rate(base::Rate rate, sim::HostSettings& host) {
    std::optional<std::string> complaint;
    transport::for_each_algorithm([&](std::string_view, auto algorithm, auto settings, auto) {
        const std::string_view wrong = (host.algorithms.*settings).set_line(rate);
        if (host.congestion == algorithm && !wrong.empty()) complaint = wrong;
    });
    return complaint;
}

}  // namespace

std::span<const KnownKey> scenario_keys() {
    return kScenarioKeys;
}

std::span<const KnownKey> topology_keys() {
    return kTopologyKeys;
}

std::span<const KnownKey> fabric_choice_keys() {
    return kFabricChoiceKeys;
}

bool only_compares(std::string_view text, std::string_view file, const FileReader& files) {
    return Composer(files).only_compares(text, file);
}

base::Result<std::vector<FabricChoice>> read_fabrics(std::string_view text, std::string_view file,
                                                     const FileReader& files) {
    return Composer(files).fabrics(text, file);
}

base::Result<sim::Setup> read_scenario(std::string_view text, std::string_view file,
                                       const FileReader& files, const Overrides& overrides) {
    return Composer(files).compose(text, file, overrides);
}

base::Result<sim::Setup> from_connection_matrix(std::string_view text, std::string_view file,
                                                std::string_view topology, std::string_view profile,
                                                const FileReader& files) {
    auto matrix = workload::read_connection_matrix(text, file);
    if (!matrix) return matrix.error();
    auto graph = topology::build_spec(topology);
    if (!graph) return graph.error();
    auto read = read_profile(profile, files);
    if (!read) return read.error();
    if (matrix->nodes > graph->host_count())
        return base::Error{fmt::format("{}:1: there are {} nodes, but {} has {} hosts", file,
                                       matrix->nodes, topology, graph->host_count())};
    if (matrix->messages.empty()) return base::Error{fmt::format("{}:1: no work is given", file)};
    sim::Setup setup;
    setup.name = file;
    setup.fabric_name = read->name;
    setup.fabric = read->target.fabric;
    setup.host = read->target.host;
    setup.graph = std::move(*graph);
    setup.groups = {"cm"};
    add_messages(matrix->messages, default_flow(setup.fabric), setup);
    if (const Complaint wrong = set_line_rates(setup))
        return base::Error{fmt::format("{}:1: {}", file, *wrong)};
    return setup;
}

std::optional<std::string> set_line_rates(sim::Setup& setup) {
    setup.fabric.telemetry = sim::wants_telemetry(setup);
    const auto rate_of_cable = [&](const topology::Cable& cable) {
        return cable.rate_bps != 0 ? base::Rate::bits_per_second(cable.rate_bps)
                                   : setup.fabric.link.rate;
    };
    std::optional<base::Rate> usual;  // rate of the first host without settings of its own
    for (const topology::Cable& cable : setup.graph.cables)
        for (const uint32_t node : {cable.a.node, cable.b.node}) {
            if (!setup.graph.nodes[node].is_host()) continue;
            const auto own =
                std::ranges::lower_bound(setup.host_overrides, node, {}, &sim::HostOverride::node);
            const bool is_own = own != setup.host_overrides.end() && own->node == node;
            if (is_own)
                if (auto wrong = set_line_rate(rate_of_cable(cable), own->host)) return wrong;
            if (!is_own && !usual) usual = rate_of_cable(cable);
        }
    return set_line_rate(usual.value_or(setup.fabric.link.rate), setup.host);
}

}  // namespace tulle::scenario
