#include "report/proof.h"

#include <fmt/format.h>

#include "base/units.h"
#include "report/time_shares.h"

namespace tulle::report {
namespace {

const char* judgement_name(Judgement judgement) {
    switch (judgement) {
        case Judgement::untried: return "untried";
        case Judgement::cause: return "cause";
        case Judgement::part: return "part";
        case Judgement::not_the_cause: return "not_the_cause";
    }
    return "";
}

const char* judgement_text(Judgement judgement) {
    switch (judgement) {
        case Judgement::untried: return "not tried";
        case Judgement::cause: return "the cause";
        case Judgement::part: return "part of the cause";
        case Judgement::not_the_cause: return "not the cause";
    }
    return "";
}

std::string outcome_text(const Trial& trial) {
    if (trial.without.empty()) return "cannot be taken away by itself";
    if (!trial.ended) return fmt::format("{}: the run did not end", trial.without);
    return fmt::format("{}: {} instead of {}: {}", trial.without, base::to_string(trial.after),
                       base::to_string(trial.before), judgement_text(judge_trial(trial)));
}

}  // namespace

Judgement judge_trial(const Trial& trial) {
    if (trial.without.empty() || !trial.ended) return Judgement::untried;
    const Duration saved = trial.before - trial.after;
    if (saved * 20 < trial.before) return Judgement::not_the_cause;
    return saved * 2 >= trial.cause.time ? Judgement::cause : Judgement::part;
}

std::string why_text(const Facts& facts, const Verdict& verdict, const std::vector<Trial>& trials) {
    std::string text = fmt::format("{}\n", verdict.sentence) + time_shares_text(facts) + "\n";
    for (size_t i = 0; i < trials.size(); ++i)
        text += fmt::format("{}. {} ({})\n   {}\n", i + 1, trials[i].cause.sentence,
                            base::to_string(trials[i].cause.time), outcome_text(trials[i]));
    return text;
}

Json why_json(const Facts& facts, const Verdict& verdict, const std::vector<Trial>& trials) {
    Json json = run_json(facts, verdict);
    json["trials"] = Json::array();
    for (const Trial& trial : trials)
        json["trials"].push_back({{"kind", cause_name(trial.cause.kind)},
                                  {"place", trial.cause.place},
                                  {"share_ps", trial.cause.time.ps},
                                  {"without", trial.without},
                                  {"before_ps", trial.before.ps},
                                  {"after_ps", trial.ended ? Json(trial.after.ps) : Json(nullptr)},
                                  {"judgement", judgement_name(judge_trial(trial))}});
    return json;
}

}  // namespace tulle::report
