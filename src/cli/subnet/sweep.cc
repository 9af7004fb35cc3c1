#include "cli/subnet/sweep.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/fabric_input.h"
#include "cli/output.h"
#include "cli/result_files.h"
#include "control/subnet/world.h"

namespace tulle::cli {
namespace {

// A fabric that has not come up by then never will.
constexpr base::Instant kLimit{3'600'000'000'000'000};  // an hour

int fail(const base::Error& error, int exit_code) {
    fmt::print(stderr, "tulle subnet sweep: {}\n", error.message);
    return exit_code;
}

std::string_view name_of(uint16_t attribute) {
    switch (attribute) {
        case wire::kSmpNotice: return "Notice";
        case wire::kSmpNodeDescription: return "NodeDescription";
        case wire::kSmpNodeInfo: return "NodeInfo";
        case wire::kSmpSwitchInfo: return "SwitchInfo";
        case wire::kSmpPortInfo: return "PortInfo";
        case wire::kSmpSlToVlMappingTable: return "SLtoVLMappingTable";
        case wire::kSmpLinearForwardingTable: return "LinearForwardingTable";
        case wire::kSmpSmInfo: return "SMInfo";
        default: return "others";
    }
}

struct Sweep {
    control::ManagerCounters counters;
    control::Reach reach;
    std::string engine;
    base::Instant end{};
    size_t ports = 0;  // of hosts, and switches
    bool has_settled = false;
    bool are_links_active = false;

    bool is_good() const { return has_settled && are_links_active && reach.is_whole(); }
};

std::string text_of(const Sweep& sweep, const SweepOptions& options) {
    std::string out;
    const auto line = [&](std::string_view label, std::string_view value, std::string_view more) {
        out += more.empty() ? fmt::format("{:<24}{:>12}\n", label, value)
                            : fmt::format("{:<24}{:>12}   {}\n", label, value, more);
    };
    const auto number = [](uint64_t value) { return fmt::format("{}", value); };
    line("Nodes", number(sweep.ports), "ports of hosts, and switches");
    line("Engine", sweep.engine, "");
    line("Bring-up", fmt::format("{:.3f} s", static_cast<double>(sweep.end.ps) / 1e12),
         fmt::format("virtual time, {} SMPs under way at the most", options.window));
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
    return out;
}

std::string json_of(const Sweep& sweep, const SweepOptions& options) {
    nlohmann::ordered_json json;
    json["is_wrong"] = !sweep.is_good();
    json["nodes"] = sweep.ports;
    json["engine"] = sweep.engine;
    json["window"] = options.window;
    json["bring_up_ps"] = sweep.end.ps;
    json["sweeps"] = sweep.counters.sweeps;
    json["smps"] = sweep.counters.sent;
    json["smps_repeated"] = sweep.counters.repeated;
    for (const auto& [attribute, count] : sweep.counters.sent_of)
        json["smps_of"][std::string(name_of(attribute))] = count;
    json["host_pairs"] = sweep.reach.host_pairs;
    json["host_pairs_without_route"] = sweep.reach.lost_host_pairs + sweep.reach.looping_host_pairs;
    return json.dump(2) + "\n";
}

Sweep run(const topology::Graph& graph, const SweepOptions& options,
          const control::RoutingEngine* engine) {
    control::WorldSettings settings;
    settings.loss_per_million = options.loss_per_million;
    settings.seed = options.seed;
    control::World world(graph, settings);
    control::ManagerSettings manager;
    manager.engine = engine;
    manager.window = options.window;
    world.start_manager(world.add_manager(graph.endpoints().front(), manager));
    Sweep sweep;
    sweep.has_settled = world.run_until_settled(kLimit);
    sweep.end = world.now();
    sweep.counters = world.manager(0).counters();
    sweep.engine = world.manager(0).engine_name();
    sweep.ports = world.manager(0).node_count();
    sweep.are_links_active = world.all_links_are_active();
    sweep.reach = world.reach();
    return sweep;
}

}  // namespace

int sweep_subnet(const SweepOptions& options) {
    const auto graph = read_fabric(options.fabric, "");
    if (!graph) return fail(graph.error(), kInputWrong);
    const control::RoutingEngine* const engine = control::routing_engine_named(options.engine);
    if (!options.engine.empty() && engine == nullptr)
        return fail({fmt::format("there is no engine '{}'; `tulle subnet route --help` names them",
                                 options.engine)},
                    kInputWrong);
    const auto owners = control::assign_lids(*graph);
    if (!owners) return fail(owners.error(), kInputWrong);
    if (const auto subnet = control::Subnet::make(*graph, *owners); !subnet)
        return fail(subnet.error(), kInputWrong);
    Sweep sweep;
    auto files = ResultFiles::open({{options.json_file, [&] { return json_of(sweep, options); }}});
    if (!files) return fail(files.error(), kInputWrong);
    sweep = run(*graph, options, engine);
    if (const auto error = files->write()) return fail(*error, kRunFailed);
    if (!files->takes_standard_output()) {
        Output standard = Output::standard();
        standard.write(text_of(sweep, options));
        if (const auto error = standard.finish()) return fail(*error, kRunFailed);
    }
    return sweep.is_good() ? kDone : kRunFailed;
}

}  // namespace tulle::cli
