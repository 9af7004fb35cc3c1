#include "cli/compare/input.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/scenario_input.h"
#include "scenario/built_in.h"
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

// A fabric by its profile, or by its place in the scenario's list.
struct Choice {
    std::string name;
    std::string profile;
    std::optional<size_t> index;
};

struct Sweep {
    std::string key;
    std::vector<std::string> values;
};

Result<Source> read_source(const std::string& scenario) {
    if (scenario.empty())
        return Source{std::string(scenario::built_in_text(kBuiltIn)), "examples/compare.yaml"};
    auto text = read_text(scenario);
    if (!text) return text.error();
    return Source{std::move(*text), scenario};
}

// What `--fabrics` says, else the list of the scenario, else that of the built-in one.
Result<std::vector<Choice>> choose_fabrics(const Source& source,
                                           const std::vector<std::string>& wanted) {
    const auto listed = scenario::read_fabrics(source.text, source.file, read_text);
    if (!listed) return listed.error();
    std::vector<Choice> choices;
    for (size_t i = 0; i < listed->size() && wanted.empty(); ++i)
        choices.push_back({(*listed)[i].name, "", i});
    for (const std::string& name : wanted) {
        if (name.empty())
            return Error{
                "--fabrics has an empty name; `tulle list profiles` shows which there are"};
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

Result<Sweep> parse_sweep(const std::string& text) {
    if (text.empty()) return Sweep{"", {""}};
    const size_t equals = text.find('=');
    Sweep sweep;
    sweep.key = text.substr(0, equals);
    std::string_view rest = text;
    rest.remove_prefix(equals == std::string::npos ? text.size() : equals + 1);
    while (!rest.empty()) {
        const size_t comma = rest.find(',');
        if (comma != 0) sweep.values.emplace_back(rest.substr(0, comma));
        rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
    if (sweep.key.empty() || sweep.values.empty())
        return Error{
            fmt::format("--sweep {}: write KEY=A,B,C, such as bytes=64KiB,1MiB,16MiB", text)};
    for (size_t i = 0; i < sweep.values.size(); ++i)
        for (size_t j = 0; j < i; ++j)
            if (sweep.values[i] == sweep.values[j])
                return Error{fmt::format("--sweep {}: {} is there twice", text, sweep.values[i])};
    return sweep;
}

class Reader {
public:
    Reader(const CompareInput& input, Source source) : input_(input), source_(std::move(source)) {}

    std::optional<Error> add(const Choice& choice, const Sweep& sweep, const std::string& value) {
        scenario::Overrides overrides = overrides_;
        overrides.profile = choice.profile;
        overrides.fabric = choice.index;
        if (!sweep.key.empty()) overrides.set.emplace_back(sweep.key, value);
        auto setup = scenario::read_scenario(source_.text, source_.file, read_text, overrides);
        if (!setup) {
            // What a command line sets for all need not be of use on each.
            overrides.unused_is_fine = true;
            const Error strict = setup.error();
            setup = scenario::read_scenario(source_.text, source_.file, read_text, overrides);
            if (!setup) return setup.error();
            unused_.push_back(strict);
            const std::string note = fmt::format("on {}: {}", choice.name, strict.message);
            if (std::find(task_.notes.begin(), task_.notes.end(), note) == task_.notes.end())
                task_.notes.push_back(note);
        }
        setup->trace = setup->trace || input_.trace;
        task_.setups.push_back(std::move(*setup));
        task_.fabrics.push_back(choice.name);
        task_.values.push_back(value);
        return std::nullopt;
    }

    Result<ComparisonTask> read() {
        const auto choices = choose_fabrics(source_, input_.fabrics);
        if (!choices) return choices.error();
        const auto sweep = parse_sweep(input_.sweep);
        if (!sweep) return sweep.error();
        if (choices->size() * sweep->values.size() > kMostRuns)
            return Error{fmt::format("{} runs are too many; at most {}",
                                     choices->size() * sweep->values.size(), kMostRuns)};
        auto set = parse_settings(input_.set);
        if (!set) return set.error();
        overrides_.set = std::move(*set);
        overrides_.seed = input_.seed;
        task_.sweep_key = sweep->key;
        for (const std::string& value : sweep->values)
            for (const Choice& choice : *choices)
                if (auto error = add(choice, *sweep, value)) return *error;
        if (unused_.size() == task_.setups.size()) return unused_.front();
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

Result<ComparisonTask> read_comparison(const CompareInput& input) {
    auto source = read_source(input.scenario);
    if (!source) return source.error();
    return Reader(input, std::move(*source)).read();
}

}  // namespace tulle::cli
