#include "report/compare/decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "report/compare/rows.h"
#include "report/compare/rules.h"
#include "report/compare/sweep.h"

namespace tulle::report {
namespace {

std::string longer_text(uint64_t permille) {
    if (permille >= 1000) return fmt::format("{} times as long", ratio_text(permille + 1000));
    return fmt::format("{} longer", percent_text(permille));
}

// "a, b and c".
std::string listed(std::vector<std::string> names) {
    const std::string last = std::move(names.back());
    names.pop_back();
    return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

std::string headline_of_fabrics(const Comparison& comparison, const std::string& value) {
    std::vector<const ComparedRun*> runs;
    for (const size_t index : comparison.ranking(value))
        if (comparison.runs[index].verdict.complete) runs.push_back(&comparison.runs[index]);
    if (runs.empty()) return "No fabric completed the work";
    const ComparedRun& best = *runs.front();
    if (comparison.fabrics.size() == 1)
        return fmt::format("{} takes {}, {} of the limit", best.fabric, spread_text(best),
                           percent_text(best.verdict.limit_permille));
    if (runs.size() == 1) return fmt::format("Only {} completed the work", best.fabric);
    std::vector<std::string> leaders;
    for (const ComparedRun* run : runs)
        if (behind_permille(*run, best) <= kAlikePermille) leaders.push_back(run->fabric);
    if (leaders.size() > 1)
        return fmt::format("{} are equally fast: {}", listed(leaders), spread_text(best));
    return fmt::format("{} is the fastest: {}; {}, the next, takes {}", best.fabric,
                       spread_text(best), runs[1]->fabric,
                       longer_text(behind_permille(*runs[1], best)));
}

std::string headline_of_values(const Comparison& comparison, const std::vector<BestValue>& all) {
    if (all.size() == 1) return all.front().sentence;
    const auto makes_difference = [](const BestValue& one) { return !one.value.empty(); };
    if (std::none_of(all.begin(), all.end(), makes_difference))
        return fmt::format("{} makes no difference", comparison.sweep_key);
    const bool is_same = std::all_of(all.begin(), all.end(), [&](const BestValue& one) {
        return one.value == all.front().value;
    });
    if (is_same)
        return fmt::format("{} is best on every fabric", comparison.place_text(all.front().value));
    return fmt::format("The best {} depends on the fabric", comparison.sweep_key);
}

}  // namespace

Decision decision_of(const Comparison& comparison) {
    Decision decision;
    if (comparison.runs.empty()) return decision;
    const std::string& value = comparison.values.front();
    if (const std::vector<BestValue> all = best_values(comparison); !all.empty()) {
        decision.headline = headline_of_values(comparison, all);
        return decision;
    }
    decision.headline = headline_of_fabrics(comparison, value);
    for (const Advice& one : advice_on(comparison, value))
        if (!one.is_opinion && std::string_view(one.id) != "fastest")
            decision.sentences.push_back(one.sentence);
    return decision;
}

}  // namespace tulle::report
