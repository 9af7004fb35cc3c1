#include "report/compare/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/findings/findings.h"

namespace tulle::report {
namespace {

// The input of a rule: the runs of one value that completed the work.
struct Candidates {
    const Comparison& comparison;
    std::vector<size_t> complete;  // the fastest first
    std::vector<size_t> leaders;   // the fastest, and those equally fast

    const ComparedRun& run(size_t index) const { return comparison.runs[index]; }
};

Candidates look_at(const Comparison& comparison, const std::string& value) {
    Candidates field{comparison, {}, {}};
    for (const size_t index : comparison.ranking(value)) {
        const ComparedRun& run = comparison.runs[index];
        if (!run.verdict.complete) continue;
        field.complete.push_back(index);
        if (behind_permille(run, comparison.runs[field.complete.front()]) <= kAlikePermille)
            field.leaders.push_back(index);
    }
    return field;
}

bool is_infiniband(const ComparedRun& run) {
    return run.facts->setup.fabric.flow_control == fabric::FlowControl::credits;
}

// What the comparison found.

void add_fastest(const Candidates& field, std::vector<Advice>& advice) {
    if (field.complete.size() < 2) return;
    std::vector<std::string> names;
    std::vector<std::string> evidence;
    for (const size_t index : field.leaders) {
        names.push_back(field.run(index).fabric);
        evidence.push_back(fmt::format("/runs/{}/verdict/span_ns", index));
    }
    advice.push_back({"fastest", Topic::speed, false,
                      names.size() == 1
                          ? fmt::format("For this work {} is the fastest by more than {} %.",
                                        names.front(), kAlikePermille / 10)
                          : fmt::format("For this work there is nothing to choose between {}.",
                                        fmt::join(names, ", ")),
                      std::move(evidence)});
}

void add_unpriced(const Candidates& field, std::vector<Advice>& advice) {
    std::vector<std::string> names;
    std::vector<std::string> evidence;
    for (const size_t index : field.complete)
        if (!field.run(index).bill.is_whole()) {
            names.push_back(field.run(index).fabric);
            evidence.push_back(fmt::format("/cost/{}/unpriced_parts", index));
        }
    if (names.empty()) return;
    advice.push_back({"unpriced", Topic::budget, false,
                      fmt::format("Parts of {} have no price, so {} not ranked by cost.",
                                  fmt::join(names, ", "), names.size() == 1 ? "it is" : "they are"),
                      std::move(evidence)});
}

void add_cheapest(const Candidates& field, std::vector<Advice>& advice) {
    if (field.complete.size() < 2) return;
    // An incomplete sum says nothing, so that fabric is left out.
    const auto priced = [&](std::vector<size_t> indices) {
        std::erase_if(indices, [&](size_t index) { return !field.run(index).bill.is_whole(); });
        return indices;
    };
    const std::vector<size_t> leaders = priced(field.leaders);
    const std::vector<size_t> complete = priced(field.complete);
    if (leaders.empty()) return add_unpriced(field, advice);
    const auto price = [&](size_t index) { return field.run(index).bill.price; };
    const auto cheaper = [&](size_t a, size_t b) { return price(a) < price(b); };
    const size_t leader = *std::min_element(leaders.begin(), leaders.end(), cheaper);
    const size_t least = *std::min_element(complete.begin(), complete.end(), cheaper);
    if (price(leader) == 0) return;
    const Bill& bill = field.run(leader).bill;
    const auto is_as_dear = [&](size_t index) { return price(index) == price(leader); };
    const bool is_tie = leaders.size() > 1 && std::ranges::all_of(leaders, is_as_dear);
    std::string sentence = fmt::format(
        "{}: {} {} and {}{}",
        is_tie ? "The fastest cost the same"
               : fmt::format("Of the fastest, {} costs least", field.run(leader).fabric),
        price_text(bill.price), bill.currency, watts_text(bill.milliwatts), basis_text(bill));
    std::vector<std::string> evidence = {fmt::format("/cost/{}/price", leader),
                                         fmt::format("/cost/{}/watts", leader)};
    if (price(least) < price(leader)) {
        sentence += fmt::format("; {} costs {}, and takes {} longer", field.run(least).fabric,
                                price_text(price(least)),
                                percent_text(behind_permille(field.run(least), field.run(leader))));
        evidence.push_back(fmt::format("/cost/{}/price", least));
        evidence.push_back(fmt::format("/runs/{}/verdict/span_ns", least));
    }
    advice.push_back({"cheapest", Topic::budget, false, sentence + ".", std::move(evidence)});
    add_unpriced(field, advice);
}

void add_settings(const Candidates& field, std::vector<Advice>& advice) {
    std::vector<std::string> names;
    std::vector<std::string> evidence;
    for (const size_t index : field.complete)
        if (field.run(index).facts->drops() != 0) {
            names.push_back(field.run(index).fabric);
            evidence.push_back(fmt::format("/runs/{}/totals/dropped", index));
        }
    if (names.empty()) return;
    advice.push_back({"losses", Topic::skills, false,
                      fmt::format("Packets were lost on {}: there it takes someone who tunes it.",
                                  fmt::join(names, ", ")),
                      std::move(evidence)});
}

void add_processors(const Candidates& field, std::vector<Advice>& advice) {
    constexpr uint64_t kCorePermille = 1000;
    for (const size_t index : field.complete) {
        const uint64_t cores = field.run(index).facts->busy_cores_permille();
        if (cores < kCorePermille) continue;
        advice.push_back({"processors",
                          Topic::budget,
                          false,
                          fmt::format("{} takes {} cores of each server away from other work.",
                                      field.run(index).fabric, ratio_text(cores)),
                          {fmt::format("/runs/{}/host/cpu_cores_per_server", index)}});
    }
}

// Rules from experience: when they apply, and their text.

bool is_small(const Candidates& field) {
    return field.run(field.complete.front()).bill.adapters <= 1024;
}
bool is_large(const Candidates& field) {
    return !is_small(field);
}
bool has_infiniband(const Candidates& field) {
    return std::any_of(field.complete.begin(), field.complete.end(),
                       [&](size_t index) { return is_infiniband(field.run(index)); });
}
bool has_ethernet(const Candidates& field) {
    return std::any_of(field.complete.begin(), field.complete.end(),
                       [&](size_t index) { return !is_infiniband(field.run(index)); });
}
bool has_both(const Candidates& field) {
    return has_infiniband(field) && has_ethernet(field);
}

struct Opinion {
    const char* id;
    Topic topic;
    bool (*applies)(const Candidates&);
    const char* sentence;
};

constexpr Opinion kOpinions[] = {
    {"small-scale", Topic::scale, is_small,
     "Up to a thousand adapters either kind of fabric can be kept healthy; who runs it decides."},
    {"large-scale", Topic::scale, is_large,
     "Beyond a thousand adapters collisions of paths decide: look at adaptive routes first."},
    {"two-sources", Topic::budget, has_both,
     "Ethernet has several makers, InfiniBand one: ask both, and put the answers into --cost."},
    {"roce-skills", Topic::skills, has_ethernet,
     "RoCE is as good as PFC, ECN and DCQCN on every port of it; without someone to look after "
     "them, read the untuned column."},
    {"infiniband-skills", Topic::skills, has_infiniband,
     "InfiniBand needs little tuning, but a subnet manager and people who know it."},
    {"shared-network", Topic::workload, has_both,
     "Storage and other tenants on the same cables speak for Ethernet, one large job for speed."},
};

}  // namespace

std::vector<Advice> advice_on(const Comparison& comparison, const std::string& value) {
    std::vector<Advice> advice;
    const Candidates field = look_at(comparison, value);
    if (field.complete.empty()) return advice;
    add_fastest(field, advice);
    add_cheapest(field, advice);
    add_settings(field, advice);
    add_processors(field, advice);
    for (const Opinion& opinion : kOpinions)
        if (opinion.applies(field))
            advice.push_back({opinion.id, opinion.topic, true, opinion.sentence, {}});
    return advice;
}

const char* topic_name(Topic topic) {
    switch (topic) {
        case Topic::speed: return "speed";
        case Topic::budget: return "budget";
        case Topic::scale: return "scale";
        case Topic::skills: return "skills";
        case Topic::workload: return "workload";
    }
    return "unknown";
}

}  // namespace tulle::report
