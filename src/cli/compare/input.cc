#include "cli/compare/input.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/plugins.h"
#include "cli/scenario_input.h"
#include "scenario/built_in.h"
#include "scenario/profile.h"
#include "scenario/scenario.h"

namespace tulle::cli {
namespace {

using base::Error;
using base::Result;

constexpr std::string_view kBuiltIn = "compare";
constexpr size_t kMostRuns = 1000;

struct Source {
    std::string text;
    std::string file;
};

// A fabric given by its profile, or by its position in the scenario's list.
struct Choice {
    std::string name;
    std::string profile;
    std::optional<size_t> index;
};

Result<Source> read_source(const std::string& scenario) {
    if (scenario.empty())
        return Source{std::string(scenario::built_in_text(kBuiltIn)), "examples/compare.yaml"};
    auto text = read_scenario_text(scenario);
    if (!text) return text.error();
    return Source{std::move(*text), scenario};
}

// `all` is every profile that connects servers.
std::vector<std::string> names_of(const std::vector<std::string>& wanted) {
    return wanted == std::vector<std::string>{"all"} ? scenario::networks_between_servers()
                                                     : wanted;
}

// The fabrics of --fabrics, else those of the scenario, else those of the built-in scenario.
Result<std::vector<Choice>> choose_fabrics(const Source& source,
                                           const std::vector<std::string>& wanted) {
    const auto listed = scenario::read_fabrics(source.text, source.file, read_text);
    if (!listed) return listed.error();
    std::vector<Choice> choices;
    for (size_t i = 0; i < listed->size() && wanted.empty(); ++i)
        choices.push_back({(*listed)[i].name, "", i});
    for (const std::string& name : wanted) {
        if (name == "all") return Error{"--fabrics all takes every profile; leave the others out"};
        const auto place = std::find_if(listed->begin(), listed->end(),
                                        [&](const auto& one) { return one.name == name; });
        if (place == listed->end())
            choices.push_back({name, name, std::nullopt});
        else
            choices.push_back({name, "", static_cast<size_t>(place - listed->begin())});
    }
    if (choices.empty()) {
        const auto usual = scenario::read_fabrics(scenario::built_in_text(kBuiltIn), "", read_text);
        if (!usual) return usual.error();
        for (const scenario::FabricChoice& one : *usual)
            choices.push_back({one.profile, one.profile, std::nullopt});
    }
    for (size_t i = 0; i < choices.size(); ++i)
        for (size_t j = 0; j < i; ++j)
            if (choices[i].name == choices[j].name)
                return Error{
                    fmt::format("{} is compared with itself; give one of the two a name "
                                "of its own, in `fabrics` of the scenario",
                                choices[i].name)};
    return choices;
}

Result<report::SweepAxis> parse_sweep(const std::string& text) {
    const size_t equals = text.find('=');
    report::SweepAxis sweep;
    sweep.key = text.substr(0, equals);
    std::string_view rest = text;
    rest.remove_prefix(equals == std::string::npos ? text.size() : equals + 1);
    while (!rest.empty()) {
        const size_t comma = rest.find(',');
        sweep.values.emplace_back(rest.substr(0, comma));
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
        if (rest.empty()) sweep.values.emplace_back();
    }
    const bool lacks_value = std::ranges::find(sweep.values, "") != sweep.values.end();
    if (sweep.key.empty() || sweep.values.empty() || lacks_value)
        return Error{
            fmt::format("--sweep {}: write KEY=A,B,C, such as bytes=64KiB,1MiB,16MiB", text)};
    for (size_t i = 0; i < sweep.values.size(); ++i)
        for (size_t j = 0; j < i; ++j)
            if (sweep.values[i] == sweep.values[j])
                return Error{fmt::format("--sweep {}: {} is given twice", text, sweep.values[i])};
    return sweep;
}

Result<std::vector<report::SweepAxis>> parse_sweeps(const std::vector<std::string>& texts) {
    constexpr size_t kMostAxes = 2;
    if (texts.size() > kMostAxes)
        return Error{fmt::format("--sweep names {} settings; at most {} can be swept", texts.size(),
                                 kMostAxes)};
    std::vector<report::SweepAxis> axes;
    for (const std::string& text : texts) {
        auto axis = parse_sweep(text);
        if (!axis) return axis.error();
        if (!axes.empty() && axes.front().key == axis->key)
            return Error{
                fmt::format("--sweep {}: {} is swept already; write all its values into "
                            "one --sweep",
                            text, axis->key)};
        axes.push_back(std::move(*axis));
    }
    return axes;
}

// All combinations of values, one per axis; the second axis varies faster. Without a sweep, one
// empty combination.
std::vector<std::vector<std::string>> places_of(const std::vector<report::SweepAxis>& axes) {
    std::vector<std::vector<std::string>> places = {{}};
    for (const report::SweepAxis& axis : axes) {
        std::vector<std::vector<std::string>> longer;
        for (const auto& place : places)
            for (const std::string& value : axis.values) {
                longer.push_back(place);
                longer.back().push_back(value);
            }
        places = std::move(longer);
    }
    return places;
}

class Reader {
public:
    Reader(const CompareInput& input, Source source) : input_(input), source_(std::move(source)) {}

    // The given seed and those that follow it.
    std::optional<Error> add_seeds(const Choice& choice, const std::vector<std::string>& place) {
        std::optional<uint64_t> seed = input_.seed;
        for (uint32_t i = 0; i < input_.seeds; ++i) {
            if (auto error = add(choice, place, seed)) return error;
            seed = task_.setups.back().seed + 1;
        }
        return std::nullopt;
    }

    std::optional<Error> add(const Choice& choice, const std::vector<std::string>& place,
                             std::optional<uint64_t> seed) {
        scenario::Overrides overrides = overrides_;
        overrides.seed = seed;
        overrides.profile = choice.profile;
        overrides.fabric = choice.index;
        for (size_t i = 0; i < place.size(); ++i)
            overrides.set.emplace_back(task_.axes[i].key, place[i]);
        auto setup = scenario::read_scenario(source_.text, source_.file, read_text, overrides);
        if (!setup) {
            // A setting for all fabrics may have no effect on some of them.
            overrides.unused_is_fine = true;
            const Error strict = setup.error();
            setup = scenario::read_scenario(source_.text, source_.file, read_text, overrides);
            if (!setup) return setup.error();
            unused_.push_back(strict);
            const std::string note = fmt::format("on {}: {}", choice.name, strict.message);
            if (std::find(task_.notes.begin(), task_.notes.end(), note) == task_.notes.end())
                task_.notes.push_back(note);
        }
        if (auto error = load_plugins(*setup)) return error;
        setup->trace = setup->trace || input_.trace;
        task_.setups.push_back(std::move(*setup));
        task_.fabrics.push_back(choice.name);
        task_.values.push_back(report::joined_value(place));
        return std::nullopt;
    }

    Result<ComparisonTask> read() {
        const auto choices = choose_fabrics(source_, names_of(input_.fabrics));
        if (!choices) return choices.error();
        auto axes = parse_sweeps(input_.sweeps);
        if (!axes) return axes.error();
        task_.axes = std::move(*axes);
        const std::vector<std::vector<std::string>> places = places_of(task_.axes);
        const size_t runs = choices->size() * places.size() * input_.seeds;
        if (runs > kMostRuns)
            return Error{
                fmt::format("{} runs are too many; at most {} are allowed", runs, kMostRuns)};
        auto set = parse_settings(input_.set);
        if (!set) return set.error();
        overrides_.set = std::move(*set);
        overrides_.skips = input_.skips || input_.checks_skipping;
        overrides_.checks_skipping = input_.checks_skipping;
        for (const std::vector<std::string>& place : places)
            for (const Choice& choice : *choices)
                if (auto error = add_seeds(choice, place)) return *error;
        if (unused_.size() == task_.setups.size()) return unused_.front();
        task_.file = source_.file;
        task_.text = source_.text;
        return std::move(task_);
    }

private:
    const CompareInput& input_;
    Source source_;
    scenario::Overrides overrides_;
    ComparisonTask task_;
    std::vector<Error> unused_;
};

}  // namespace

Result<ComparisonTask> read_comparison(const CompareInput& words) {
    CompareInput input = words;
    const std::string names = fmt::format("{}", fmt::join(input.congestion, ","));
    if (!names.empty())
        (input.congestion.size() == 1 ? input.set : input.sweeps)
            .push_back(congestion_setting(names));
    auto source = read_source(input.scenario);
    if (!source) return source.error();
    return Reader(input, std::move(*source)).read();
}

}  // namespace tulle::cli
