#include "report/compare/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/int128.h"
#include "base/units.h"
#include "report/compare/rows.h"

namespace tulle::report {
namespace {

using Runs = std::vector<const ComparedRun*>;

uint64_t bandwidth(const ComparedRun& run, size_t phase) {
    const CollectiveFacts* of = phase_of(run, phase);
    return of != nullptr ? of->bus_bandwidth : 0;
}

uint64_t time_of(const ComparedRun& run, size_t) {
    return static_cast<uint64_t>(run.facts->span.ps);
}

uint64_t limit_of(const ComparedRun& run, size_t) {
    return run.verdict.limit_permille;
}

// True for the same work: sizes, numbers and ranks, with any algorithm or fabric.
bool is_same_work(const ComparedRun& a, const ComparedRun& b) {
    const auto bytes = [](const ComparedRun& run) {
        uint64_t sum = 0;
        for (const sim::Flow& flow : run.facts->setup.flows) sum += flow.bytes;
        return sum;
    };
    const auto alike = [](const CollectiveFacts& one, const CollectiveFacts& other) {
        return std::tie(one.name, one.collective, one.bytes, one.ranks) ==
               std::tie(other.name, other.collective, other.bytes, other.ranks);
    };
    return a.facts->flows() == b.facts->flows() && bytes(a) == bytes(b) &&
           std::ranges::equal(a.facts->collectives, b.facts->collectives, alike);
}

// The criterion for the best value.
struct Goal {
    Measure measure;
    bool most_is_best = false;
};

Goal goal_of(const Runs& runs, const std::vector<Measure>& measures) {
    const bool is_same = std::all_of(runs.begin(), runs.end(), [&](const ComparedRun* run) {
        return is_same_work(*run, *runs.front());
    });
    if (is_same) return {measures.back(), false};
    if (measures.size() > 1) return {measures.front(), true};
    return {
        {"share of the limit", limit_of,
         [](const ComparedRun& run, size_t) { return percent_text(run.verdict.limit_permille); }},
        true};
}

// How much worse than the best, in thousandths; 0 if equal.
uint64_t worse_permille(const ComparedRun& run, const ComparedRun& best, const Goal& goal) {
    if (!goal.most_is_best) return behind_permille(run, best);
    const uint64_t most = goal.measure.value(best, goal.measure.phase);
    const uint64_t own = goal.measure.value(run, goal.measure.phase);
    if (most == 0 || own >= most) return 0;
    return static_cast<uint64_t>((base::uint128_t{most - own} * 1000 + most / 2) / most);
}

class Judge {
public:
    Judge(const Comparison& comparison, std::string fabric, Runs runs, Goal goal)
        : comparison_(comparison),
          fabric_(std::move(fabric)),
          runs_(std::move(runs)),
          goal_(std::move(goal)) {
        // Among equals the first in the sweep wins.
        std::stable_sort(runs_.begin(), runs_.end(), [&](const auto* a, const auto* b) {
            return goal_.most_is_best ? value(*a) > value(*b) : value(*a) < value(*b);
        });
    }

    BestValue judge() const {
        BestValue best{fabric_, runs_.front()->value, "", {evidence(*runs_.front())}};
        const ComparedRun& worst = *runs_.back();
        if (worse_permille(worst, *runs_.front(), goal_) <= kAlikePermille) {
            best.value.clear();
            best.sentence = fmt::format("{}: {} makes no difference: {}{}", fabric_,
                                        comparison_.sweep_key, range(), why_none());
            best.evidence.push_back(evidence(worst));
            return best;
        }
        best.sentence = fmt::format("{}: best at {}, {}{}{}; worst at {}, {}", fabric_,
                                    comparison_.place_text(best.value), what(),
                                    text(*runs_.front()), as_good(), worst.value, text(worst));
        if (!goal_.most_is_best)
            best.sentence +=
                fmt::format(" ({} longer)", percent_text(behind_permille(worst, *runs_.front())));
        best.evidence.push_back(evidence(worst));
        best.sentence += at_the_end(best.value);
        return best;
    }

private:
    uint64_t value(const ComparedRun& run) const {
        return goal_.measure.value(run, goal_.measure.phase);
    }
    std::string text(const ComparedRun& run) const {
        return goal_.measure.is_time ? spread_text(run)
                                     : goal_.measure.text(run, goal_.measure.phase);
    }
    std::string what() const { return goal_.measure.is_time ? "" : goal_.measure.name + " "; }
    std::string range() const {
        const std::string first = goal_.measure.text(*runs_.front(), goal_.measure.phase);
        const std::string last = goal_.measure.text(*runs_.back(), goal_.measure.phase);
        return what() + (first == last ? first : first + " to " + last);
    }
    std::string why_none() const {
        if (runs_.size() < 2) return "";
        return comparison_.seed_count() > 1 && !goal_.most_is_best &&
                       is_within_spread(*runs_.front(), *runs_.back())
                   ? fmt::format(", within the spread of {} seeds", comparison_.seed_count())
                   : fmt::format(", less than {} %", kAlikePermille / 10);
    }
    static constexpr size_t kMostNamed = 4;

    std::string as_good() const {
        std::vector<std::string> names;
        for (const ComparedRun* run : runs_)
            if (run != runs_.front() &&
                worse_permille(*run, *runs_.front(), goal_) <= kAlikePermille)
                names.push_back(run->value);
        if (names.empty()) return "";
        const size_t others = names.size() - std::min(names.size(), kMostNamed);
        names.resize(names.size() - others);
        // Values of a grid contain commas.
        return fmt::format("; as good: {}{}",
                           fmt::join(names, comparison_.axes.size() > 1 ? "; " : ", "),
                           others == 0 ? "" : fmt::format(" and {} more", others));
    }
    // The best value may lie beyond the ends of the list.
    std::string at_the_end(const std::string& value) const {
        if (comparison_.axes.size() != 1 || goal_.most_is_best) return "";
        const std::vector<std::string>& list = comparison_.axes.front().values;
        if (list.size() < 3 || (value != list.front() && value != list.back())) return "";
        if (!as_good().empty()) return "";
        return ". It stands at the end of the list: look further";
    }
    std::string evidence(const ComparedRun& run) const {
        const std::string field =
            goal_.measure.is_time ? "verdict/span_ns"
            : goal_.measure.value == limit_of
                ? "verdict/limit_ratio"
                : fmt::format("collectives/{}/busbw_GBps", goal_.measure.phase);
        return fmt::format("/runs/{}/{}", &run - comparison_.runs.data(), field);
    }

    const Comparison& comparison_;
    const std::string fabric_;
    Runs runs_;
    const Goal goal_;
};

}  // namespace

std::vector<BestValue> best_values(const Comparison& comparison) {
    std::vector<BestValue> found;
    if (comparison.sweep_key.empty() || comparison.runs.empty()) return found;
    const std::vector<Measure> measures = main_measures(comparison);
    for (const std::string& fabric : comparison.fabrics) {
        Runs runs;
        for (const ComparedRun& run : comparison.runs)
            if (run.fabric == fabric && run.verdict.complete) runs.push_back(&run);
        if (runs.empty()) {
            found.push_back({fabric, "", fabric + ": no value completed the work", {}});
            continue;
        }
        Goal goal = goal_of(runs, measures);
        found.push_back(Judge(comparison, fabric, std::move(runs), std::move(goal)).judge());
    }
    return found;
}

std::vector<Measure> main_measures(const Comparison& comparison) {
    std::vector<Measure> all;
    for (size_t i = 0; i < comparison.runs.front().facts->collectives.size(); ++i) {
        const CollectiveFacts& phase = comparison.runs.front().facts->collectives[i];
        if (!is_collective(phase.collective)) continue;
        all.push_back(
            {fmt::format("{}: bus bandwidth, GB/s", phase.name), bandwidth,
             [](const ComparedRun& run, size_t at) { return gigabytes_text(bandwidth(run, at)); },
             i});
    }
    all.push_back({"time", time_of,
                   [](const ComparedRun& run, size_t) { return short_time(run.facts->span); }, 0,
                   true});
    return all;
}

std::vector<Measure> other_measures(const Comparison& comparison) {
    const Bill& bill = comparison.runs.front().bill;
    return {{"links held up",
             [](const ComparedRun& run, size_t) {
                 return static_cast<uint64_t>(run.facts->result.totals.paused.ps);
             },
             [](const ComparedRun& run, size_t) {
                 return short_time(run.facts->result.totals.paused);
             }},
            {"marks",
             [](const ComparedRun& run, size_t) { return run.facts->result.totals.ecn_marked; },
             [](const ComparedRun& run, size_t) {
                 return std::to_string(run.facts->result.totals.ecn_marked);
             }},
            {"lost", [](const ComparedRun& run, size_t) { return run.facts->drops(); },
             [](const ComparedRun& run, size_t) { return std::to_string(run.facts->drops()); }},
            {"deepest queue", [](const ComparedRun& run, size_t) { return run.peak_queue_bytes(); },
             [](const ComparedRun& run, size_t) {
                 return base::bytes_to_string(run.peak_queue_bytes());
             }},
            {fmt::format("{}, {}", bill.is_sample ? "sample price" : "price", bill.currency),
             [](const ComparedRun& run, size_t) { return run.bill.price; },
             [](const ComparedRun& run, size_t) { return sum_text(run.bill); }}};
}

std::string spread_text(const ComparedRun& run) {
    const std::string time = short_time(run.facts->span);
    if (run.seeds.size() < 2 || run.facts->span.ps <= 0) return time;
    const auto half = static_cast<uint64_t>((run.most() - run.least()).ps / 2);
    return fmt::format(
        "{} ±{}", time,
        percent_text(static_cast<uint64_t>(base::uint128_t{half} * 1000 /
                                           static_cast<uint64_t>(run.facts->span.ps))));
}

}  // namespace tulle::report
