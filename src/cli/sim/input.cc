#include "cli/sim/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/plugins.h"
#include "cli/scenario_input.h"
#include "scenario/hpcc.h"
#include "scenario/names.h"
#include "scenario/scenario.h"
#include "scenario/set.h"
#include "scenario/work.h"

namespace tulle::cli {
namespace {

using base::Error;
using base::Result;

Result<scenario::Overrides> overrides_of(const SimInput& input) {
    scenario::Overrides overrides;
    overrides.profile = input.profile;
    overrides.topology = input.topology;
    overrides.seed = input.seed;
    overrides.skips = input.skips || input.checks_skipping;
    overrides.checks_skipping = input.checks_skipping;
    overrides.most_packets = input.most_packets;
    overrides.reuses = !input.no_reuse;
    auto set = parse_settings(input.set);
    if (!set) return set.error();
    overrides.set = std::move(*set);
    return overrides;
}

std::optional<Error> check_words(const SimInput& input) {
    int sources = 0;
    for (const std::string* source : {&input.scenario, &input.hpcc_config, &input.connection_matrix,
                                      &input.chakra, &input.simai})
        sources += source->empty() ? 0 : 1;
    if (sources == 0)
        return Error{
            "name a scenario, or --hpcc CONFIG, --cm FILE, --chakra PREFIX or --simai FILE"};
    if (sources > 1)
        return Error{"a scenario, --hpcc, --cm, --chakra and --simai exclude each other; name one"};
    const bool lacks_place = input.topology.empty() || input.profile.empty();
    if (!input.connection_matrix.empty() && lacks_place)
        return Error{
            "--cm says who sends to whom, but not where: add --topology, such as fat-tree:k=8, and "
            "--profile (`tulle list profiles`)"};
    if (input.is_trace() && lacks_place)
        return Error{
            "a trace says what ranks do, but not where: add --topology, such as "
            "rail:servers=4,rails=8, and --profile (`tulle list profiles`)"};
    if (input.is_trace() && !input.paths.empty())
        return Error{"--paths is for flows, and a trace has none; leave it out"};
    if (!input.hpcc_config.empty() && (!input.topology.empty() || !input.profile.empty()))
        return Error{
            "--hpcc takes topology and settings from its files; leave out --topology and "
            "--profile"};
    return std::nullopt;
}

Result<SimTask> read_hpcc(const SimInput& input, const std::string& config) {
    auto run = scenario::read_hpcc(config, input.hpcc_config, read_text, input.paths);
    if (!run) return run.error();
    return SimTask{std::move(run->setup), {}, config, std::move(run->notes)};
}

Result<sim::Setup> read_scenario(const SimInput& input, const std::string& text) {
    const auto overrides = overrides_of(input);
    if (!overrides) return overrides.error();
    return scenario::read_scenario(text, input.scenario, read_text, *overrides);
}

// A trace becomes a scenario with no other work.
Result<SimTask> read_trace(const SimInput& input) {
    const auto overrides = overrides_of(input);
    if (!overrides) return overrides.error();
    const std::string path = nlohmann::json(input.source()).dump();
    const char* work = input.chakra.empty() ? "simai: {file" : "chakra: {files";
    std::string text = fmt::format("name: {0}\nwork:\n  - {1}: {0}}}\n", path, work);
    auto setup = scenario::read_scenario(text, scenario::kCommandLine, read_text, *overrides);
    if (!setup) return setup.error();
    return SimTask{std::move(*setup), {}, std::move(text), {}};
}

std::optional<Error> add_paths(const std::string& file, sim::Setup& setup) {
    const auto text = read_text(file);
    if (!text) return text.error();
    return scenario::add_paths(*text, file, scenario::Names(setup.graph), 0, true, setup);
}

bool chooses_profile(const SimInput& input) {
    return !input.profile.empty() || std::ranges::any_of(input.set, [](const std::string& setting) {
        return setting.starts_with("profile=");
    });
}

Result<SimTask> read_source(const SimInput& input) {
    if (input.is_trace()) return read_trace(input);
    const std::string& file = input.source();
    const auto text = read_scenario_text(file);
    if (!text) return text.error();
    if (!input.hpcc_config.empty()) return read_hpcc(input, *text);
    auto setup = input.connection_matrix.empty()
                     ? read_scenario(input, *text)
                     : scenario::from_connection_matrix(*text, file, input.topology, input.profile,
                                                        read_text);
    if (!setup) return setup.error();
    if (!input.paths.empty())
        if (auto error = add_paths(input.paths, *setup)) return *error;
    SimTask task{std::move(*setup), {}, *text, {}};
    if (!input.scenario.empty() && !chooses_profile(input) &&
        scenario::only_compares(*text, file, read_text))
        task.notes.push_back(
            fmt::format("{} lists fabrics for `tulle compare`; this run is on {}, "
                        "the usual one; --profile takes another",
                        file, task.setup.fabric_name));
    return task;
}

// A scenario has already read its settings.
std::optional<Error> set_on(const SimInput& input, sim::Setup& setup) {
    const auto set = parse_settings(input.set);
    if (!set) return set.error();
    return scenario::set_settings(*set, setup);
}

}  // namespace

Result<SimTask> read_task(const SimInput& words) {
    SimInput input = words;
    if (!input.congestion.empty()) input.set.push_back(congestion_setting(input.congestion));
    if (auto error = check_words(input)) return *error;
    auto task = read_source(input);
    if (!task) return task;
    sim::Setup& setup = task->setup;
    if (input.scenario.empty() && !input.is_trace())
        if (auto error = set_on(input, setup)) return *error;
    if (auto error = load_plugins(setup)) return *error;
    if (input.seed) setup.seed = *input.seed;
    const scenario::Names names(setup.graph);
    for (const std::string& name : input.taps) {
        const auto cable = names.cable(name);
        if (!cable) return Error{"--tap: " + cable.error().message};
        setup.taps.push_back({*cable});
    }
    for (const std::string& name : input.links) {
        const auto cable = names.cable(name);
        if (!cable) return Error{"--link: " + cable.error().message};
        task->links.push_back(*cable);
    }
    setup.trace = setup.trace || input.trace;
    return task;
}

}  // namespace tulle::cli
