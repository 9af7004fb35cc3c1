#include "report/serving_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/units.h"
#include "report/compare/rows.h"

namespace tulle::report {
namespace {

constexpr uint64_t kEndlessRoom = uint64_t{1} << 40;  // tokens
constexpr int64_t kSmall = 20;  // a twentieth of a wait is no cause; as in judge_trial()

// The largest first; what is less than a hundredth is left out.
std::string parts_text(Duration all, std::vector<std::pair<Duration, std::string>> parts) {
    std::ranges::sort(parts, [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    for (const auto& [time, name] : parts)
        if (time * 100 > all)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", short_time(time), name);
    return text;
}

std::string wait_text(const ServingFacts& facts, Duration ServingFigures::*wait) {
    const Duration found = facts.found.*wait;
    return fmt::format("{} on average ({})", short_time(found),
                       parts_text(found, {{found - facts.ideal.*wait, "the network"},
                                          {facts.ideal.*wait - facts.apart.*wait, "other requests"},
                                          {facts.apart.*wait, "its own computing"}}));
}

// The job with other instances or options.
template <class Change>
sim::Setup changed(const sim::Setup& setup, uint32_t number, Change change) {
    sim::Setup other = setup;
    auto job = std::make_shared<workload::ServingJob>(*setup.program.jobs[number].serving);
    change(*job);
    other.program.jobs[number].serving = std::move(job);
    return other;
}

bool has_collectives(const workload::ServingJob& job) {
    return std::ranges::any_of(job.instances, [](const workload::ServingInstance& one) {
        return one.costs.tensor > 1 || one.costs.expert > 1;
    });
}

bool is_small(Duration saved, Duration of) {
    return saved * kSmall < of;
}

std::string trial_text(const ServingTrial& trial) {
    if (!trial.ended) return fmt::format("{}: not all requests were answered", trial.without);
    const Duration first = trial.before.first_token_mean - trial.after.first_token_mean;
    const Duration between = trial.before.between_mean - trial.after.between_mean;
    const bool is_cause = !is_small(first, trial.before.first_token_mean) ||
                          !is_small(between, trial.before.between_mean);
    return fmt::format("{}: {} to the first token instead of {}, {} between tokens instead of {}{}",
                       trial.without, short_time(trial.after.first_token_mean),
                       short_time(trial.before.first_token_mean),
                       short_time(trial.after.between_mean), short_time(trial.before.between_mean),
                       is_cause ? "" : ": not the cause");
}

}  // namespace

bool only_serves(const Facts& facts) {
    return facts.flows() == 0 && !facts.servings.empty() &&
           facts.servings.size() == facts.setup.program.jobs.size();
}

std::string serving_sentence(const ServingFacts& facts) {
    std::string text =
        "users wait for the first token for " + wait_text(facts, &ServingFigures::first_token_mean);
    if (facts.found.between_mean.ps > 0)
        text += ", and for the next for " + wait_text(facts, &ServingFigures::between_mean);
    return text;
}

std::vector<ServingSuspect> serving_suspects(const Facts& facts, const ServingFacts& serving) {
    std::vector<ServingSuspect> suspects;
    const auto without = [&](const std::string& name, const std::string& what, auto change) {
        suspects.push_back({name, what, changed(facts.setup, serving.number, change)});
    };
    sim::Setup apart = facts.setup;
    apart.program = requests_apart(facts.setup.program, serving.number, serving.found.time);
    suspects.push_back({"other requests", "one request at a time", std::move(apart)});
    if (serving.job->is_separate())
        without("KV caches on their way", "with KV caches of a byte a token and layer",
                [](workload::ServingJob& job) {
                    for (workload::KvTransfer& transfer : job.transfers) transfer.bytes = 1;
                });
    if (has_collectives(*serving.job))
        without("collectives of layers", "with collectives that take no time",
                [](workload::ServingJob& job) {
                    for (workload::ServingInstance& one : job.instances)
                        one.sum.points = one.dispatch.points = one.combine.points = {};
                });
    without("too few places", "with room for all requests", [](workload::ServingJob& job) {
        job.options.most_sequences = UINT32_MAX;
        for (workload::ServingInstance& one : job.instances) one.kv_room = kEndlessRoom;
    });
    return suspects;
}

ServingTrial serving_trial(const ServingSuspect& suspect, const ServingFacts& before,
                           const sim::Result& result) {
    ServingTrial trial{before.name, suspect.name, suspect.without, false, before.found, {}};
    for (const ServingFacts& one : serving_facts(suspect.setup, result)) {
        if (one.number != before.number) continue;
        trial.ended = one.finished;
        trial.after = one.found;
    }
    return trial;
}

std::string serving_trials_text(const std::vector<ServingTrial>& trials) {
    std::string text;
    for (size_t i = 0; i < trials.size(); ++i)
        text += fmt::format("{}. {}, {}\n   {}\n", i + 1, trials[i].job, trials[i].name,
                            trial_text(trials[i]));
    return text;
}

Json serving_trials_json(const std::vector<ServingTrial>& trials) {
    Json json = Json::array();
    for (const ServingTrial& trial : trials)
        json.push_back({{"job", trial.job},
                        {"suspect", trial.name},
                        {"without", trial.without},
                        {"ended", trial.ended},
                        {"first_token_us", microseconds(trial.before.first_token_mean)},
                        {"first_token_without_us", microseconds(trial.after.first_token_mean)},
                        {"between_tokens_us", microseconds(trial.before.between_mean)},
                        {"between_tokens_without_us", microseconds(trial.after.between_mean)}});
    return json;
}

}  // namespace tulle::report
