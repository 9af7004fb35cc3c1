#include "cli/subnet/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/fabric_input.h"
#include "cli/output.h"
#include "cli/result_files.h"
#include "cli/subnet/policy_input.h"
#include "control/subnet/world.h"
#include "wire/mad/congestion.h"

namespace tulle::cli {
namespace {

// A fabric that is not up after this time never will be.
constexpr base::Instant kLimit{3'600'000'000'000'000};  // an hour
constexpr base::Duration kMostRepair{600'000'000'000'000};

std::string_view name_of(uint32_t attribute) {
    switch (attribute) {
        case wire::kSmpNotice: return "Notice";
        case wire::kSmpNodeDescription: return "NodeDescription";
        case wire::kSmpNodeInfo: return "NodeInfo";
        case wire::kSmpSwitchInfo: return "SwitchInfo";
        case wire::kSmpPortInfo: return "PortInfo";
        case wire::kSmpSlToVlMappingTable: return "SLtoVLMappingTable";
        case wire::kSmpLinearForwardingTable: return "LinearForwardingTable";
        case wire::kSmpSmInfo: return "SMInfo";
        case wire::kSmpPKeyTable: return "P_KeyTable";
        case wire::kSmpVlArbitrationTable: return "VLArbitrationTable";
        case wire::kSmpMulticastForwardingTable: return "MulticastForwardingTable";
        case uint32_t{wire::kClassCongestionControl} << 16 | wire::kCongestionSwitchSetting:
            return "SwitchCongestionSetting";
        case uint32_t{wire::kClassCongestionControl} << 16 | wire::kCongestionCaSetting:
            return "CACongestionSetting";
        case uint32_t{wire::kClassCongestionControl} << 16 | wire::kCongestionControlTable:
            return "CongestionControlTable";
        default: return "others";
    }
}

// What followed a broken cable.
struct FaultRepair {
    std::string cable;
    uint64_t smps = 0;
    std::map<uint32_t, uint64_t> sets;  // of tables, by attribute
    base::Duration took{};
    uint64_t lost_pairs = 0;  // that cables join, at the end
    bool is_done = false;     // within kMostRepair
};

struct Sweep {
    control::ManagerCounters counters;
    std::vector<FaultRepair> repairs;
    std::vector<std::string> ignored;
    uint32_t window = 0;
    control::Reach reach;
    std::string engine;
    base::Instant end{};
    size_t ports = 0;  // ports of hosts, and switches
    bool has_settled = false;
    bool are_links_active = false;

    bool is_good() const {
        for (const FaultRepair& repair : repairs)
            if (repair.lost_pairs > 0) return false;
        return has_settled && are_links_active && reach.is_whole();
    }
};

std::string text_of_sweep(const Sweep& sweep) {
    std::string out;
    const auto line = [&](std::string_view label, std::string_view value, std::string_view more) {
        out += more.empty() ? fmt::format("{:<24}{:>12}\n", label, value)
                            : fmt::format("{:<24}{:>12}   {}\n", label, value, more);
    };
    const auto number = [](uint64_t value) { return fmt::format("{}", value); };
    line("Nodes", number(sweep.ports), "ports of hosts, and switches");
    line("Engine", sweep.engine, "");
    line("Bring-up", fmt::format("{:.3f} s", static_cast<double>(sweep.end.ps) / 1e12),
         fmt::format("virtual time, {} SMPs under way at the most", sweep.window));
    line("SMPs", number(sweep.counters.sent),
         sweep.counters.repeated == 0
             ? ""
             : fmt::format("{} of them repeated, in {} sweep{}", sweep.counters.repeated,
                           sweep.counters.sweeps, sweep.counters.sweeps == 1 ? "" : "s"));
    for (const auto& [attribute, count] : sweep.counters.sent_of)
        line(fmt::format("  {}", name_of(attribute)), number(count), "");
    line("Pairs of hosts", number(sweep.reach.host_pairs),
         sweep.is_good() ? "all have a route, all links are active"
                         : fmt::format("{} WITHOUT A ROUTE", sweep.reach.lost_host_pairs +
                                                                 sweep.reach.looping_host_pairs));
    for (const FaultRepair& repair : sweep.repairs) {
        std::string sets;
        for (const auto& [attribute, count] : repair.sets)
            sets += fmt::format("{}{} {}", sets.empty() ? "" : ", ", count, name_of(attribute));
        std::string left;
        if (repair.lost_pairs > 0)
            left = fmt::format("; {} pairs of hosts WITHOUT A ROUTE", repair.lost_pairs);
        if (!repair.is_done) left += "; the manager still sends SMPs";
        line("Broken cable", fmt::format("{:.3f} s", static_cast<double>(repair.took.ps) / 1e12),
             fmt::format("{}: {} SMPs, written {}{}", repair.cable, repair.smps,
                         sets.empty() ? "nothing" : sets, left));
    }
    for (const std::string& name : sweep.ignored)
        out += fmt::format("{} has no effect: this manager does not know it\n", name);
    return out;
}

std::string json_of_sweep(const Sweep& sweep) {
    nlohmann::ordered_json json;
    json["is_wrong"] = !sweep.is_good();
    json["nodes"] = sweep.ports;
    json["engine"] = sweep.engine;
    json["window"] = sweep.window;
    json["bring_up_ps"] = sweep.end.ps;
    json["sweeps"] = sweep.counters.sweeps;
    json["smps"] = sweep.counters.sent;
    json["smps_repeated"] = sweep.counters.repeated;
    for (const auto& [attribute, count] : sweep.counters.sent_of)
        json["smps_of"][std::string(name_of(attribute))] = count;
    json["host_pairs"] = sweep.reach.host_pairs;
    json["host_pairs_without_route"] = sweep.reach.lost_host_pairs + sweep.reach.looping_host_pairs;
    json["faults"] = nlohmann::ordered_json::array();
    for (const FaultRepair& repair : sweep.repairs) {
        nlohmann::ordered_json entry{{"cable", repair.cable},
                                     {"smps", repair.smps},
                                     {"repair_ps", repair.took.ps},
                                     {"is_done", repair.is_done},
                                     {"host_pairs_without_route", repair.lost_pairs},
                                     {"sets", nlohmann::ordered_json::object()}};
        for (const auto& [attribute, count] : repair.sets)
            entry["sets"][std::string(name_of(attribute))] = count;
        json["faults"].push_back(std::move(entry));
    }
    json["ignored_options"] = sweep.ignored;
    return json.dump(2) + "\n";
}

// Tables that a repair may write.
constexpr std::array kTables{wire::kSmpPKeyTable, wire::kSmpSlToVlMappingTable,
                             wire::kSmpVlArbitrationTable, wire::kSmpLinearForwardingTable,
                             wire::kSmpMulticastForwardingTable};

std::vector<uint32_t> between_switches(const topology::Graph& graph) {
    std::vector<uint32_t> cables;
    for (uint32_t cable = 0; cable < graph.cables.size(); ++cable)
        if (!graph.nodes[graph.cables[cable].a.node].is_host() &&
            !graph.nodes[graph.cables[cable].b.node].is_host())
            cables.push_back(cable);
    return cables;
}

// A cable between switches breaks; each fault takes another one, evenly apart.
FaultRepair break_cable(const topology::Graph& graph, control::World& world, uint32_t cable) {
    const topology::Cable& broken = graph.cables[cable];
    FaultRepair repair;
    repair.cable =
        fmt::format("{} port {} to {} port {}", graph.nodes[broken.a.node].name, broken.a.port + 1,
                    graph.nodes[broken.b.node].name, broken.b.port + 1);
    const control::ManagerCounters before = world.manager(0).counters();
    const base::Instant at = world.now();
    world.set_cable(cable, false);
    repair.is_done = world.run_until_at_rest(at + kMostRepair);
    repair.took = world.now() - at;
    const control::ManagerCounters& after = world.manager(0).counters();
    repair.smps = after.sent - before.sent;
    for (const uint16_t table : kTables) {
        const auto count_in = [&](const control::ManagerCounters& counters) {
            const auto found = counters.sent_of.find(table);
            return found == counters.sent_of.end() ? 0 : found->second;
        };
        const uint64_t written = count_in(after) - count_in(before);
        if (written > 0) repair.sets[table] = written;
    }
    const control::Reach reach = world.reach();
    repair.lost_pairs = reach.lost_host_pairs + reach.looping_host_pairs;
    return repair;
}

Sweep run_sweep(const topology::Graph& graph, const SweepOptions& options,
                const control::ManagerSettings& manager) {
    control::WorldSettings settings;
    settings.loss_per_million = options.loss_per_million;
    settings.seed = options.seed;
    control::World world(graph, settings);
    world.start_manager(world.add_manager(graph.endpoints().front(), manager));
    Sweep sweep;
    sweep.has_settled = world.run_until_settled(kLimit);
    sweep.end = world.now();
    sweep.counters = world.manager(0).counters();
    sweep.engine = world.manager(0).plan().engine_name();
    sweep.ports = world.manager(0).fabric().size();
    sweep.are_links_active = world.all_links_are_active();
    sweep.reach = world.reach();
    sweep.window = manager.window;
    const std::vector<uint32_t> cables = between_switches(graph);
    for (size_t i = 0; i < options.faults; ++i)
        sweep.repairs.push_back(
            break_cable(graph, world, cables[i * cables.size() / options.faults]));
    return sweep;
}

}  // namespace

int sweep_subnet(const SweepOptions& options) {
    const auto graph = read_fabric(options.fabric, "");
    if (!graph) return fail("subnet sweep", graph.error(), kInputWrong);
    if (const size_t cables = between_switches(*graph).size(); options.faults > cables)
        return fail("subnet sweep",
                    {fmt::format("--faults {}: the fabric has {} cable{} between switches",
                                 options.faults, cables, cables == 1 ? "" : "s")},
                    kInputWrong);
    auto policies = read_policies(options.options_file, options.partitions_file, options.engine);
    if (!policies) return fail("subnet sweep", policies.error(), kInputWrong);
    if (options.window) policies->settings.window = static_cast<uint32_t>(*options.window);
    const auto owners = control::assign_lids(*graph, policies->settings.lmc);
    if (!owners) return fail("subnet sweep", owners.error(), kInputWrong);
    if (const auto subnet = control::Subnet::make(*graph, *owners); !subnet)
        return fail("subnet sweep", subnet.error(), kInputWrong);
    Sweep sweep;
    auto files = ResultFiles::open({{options.json_file, [&] { return json_of_sweep(sweep); }}});
    if (!files) return fail("subnet sweep", files.error(), kInputWrong);
    sweep = run_sweep(*graph, options, policies->settings);
    sweep.ignored = policies->ignored;
    if (const auto error = files->write()) return fail("subnet sweep", *error, kRunFailed);
    if (!files->takes_standard_output()) {
        Output standard = Output::standard();
        standard.write(text_of_sweep(sweep));
        if (const auto error = standard.finish()) return fail("subnet sweep", *error, kRunFailed);
    }
    return sweep.is_good() ? kDone : kRunFailed;
}

}  // namespace tulle::cli
