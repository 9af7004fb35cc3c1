#include "report/compare/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/int128.h"

namespace tulle::report {
namespace {

constexpr std::string_view kBetweenValues = ", ";

// A single run; of several seeds one represents all.
ComparedRun run_of(const FinishedRun& one) {
    ComparedRun run;
    run.fabric = one.fabric;
    run.value = one.value;
    run.facts = std::make_unique<const Facts>(*one.setup, *one.result);
    run.series = one.series;
    run.seeds = {{one.setup->seed, run.facts->is_complete(), run.facts->span}};
    return run;
}

// Groups runs by fabric and value, adjacent or not, in the order of first appearance.
std::vector<std::vector<ComparedRun>> by_place(const std::vector<FinishedRun>& finished) {
    std::vector<std::vector<ComparedRun>> places;
    for (const FinishedRun& one : finished) {
        auto place = std::find_if(places.begin(), places.end(), [&](const auto& runs) {
            return runs.front().fabric == one.fabric && runs.front().value == one.value;
        });
        if (place == places.end()) place = places.emplace(places.end());
        place->push_back(run_of(one));
    }
    return places;
}

ComparedRun median_of(std::vector<ComparedRun> seeds) {
    std::vector<SeedTime> times;
    for (const ComparedRun& run : seeds) times.push_back(run.seeds.front());
    std::stable_sort(seeds.begin(), seeds.end(), [](const ComparedRun& a, const ComparedRun& b) {
        const auto key = [](const SeedTime& one) {
            return std::tuple(one.complete, one.complete ? one.span : Duration{});
        };
        return key(a.seeds.front()) < key(b.seeds.front());
    });
    const bool all_complete = seeds.front().seeds.front().complete;
    ComparedRun median = std::move(seeds[all_complete ? (seeds.size() - 1) / 2 : 0]);
    median.seeds = std::move(times);
    return median;
}

}  // namespace

std::string ComparedRun::name() const {
    return value.empty() ? fabric : fmt::format("{} at {}", fabric, value);
}

Duration ComparedRun::least() const {
    return std::ranges::min_element(seeds, {}, &SeedTime::span)->span;
}

Duration ComparedRun::most() const {
    return std::ranges::max_element(seeds, {}, &SeedTime::span)->span;
}

uint64_t ComparedRun::peak_queue_bytes() const {
    uint64_t most = 0;
    for (const sim::LinkResult& link : facts->result.links)
        most = std::max(most, link.peak_queue_bytes);
    return most;
}

Comparison::Comparison(const std::vector<FinishedRun>& finished, const scenario::Prices& prices)
    : prices_file(prices.file), has_sample_prices(prices.is_sample) {
    const auto add = [](std::vector<std::string>& names, const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (std::vector<ComparedRun>& seeds : by_place(finished)) {
        ComparedRun run = median_of(std::move(seeds));
        run.verdict = judge(*run.facts);
        run.bill = bill_of(run.facts->setup, prices);
        run.latency = run.facts->message_latency();
        add(fabrics, run.fabric);
        add(values, run.value);
        if (scenario.empty()) scenario = run.facts->setup.name;
        runs.push_back(std::move(run));
    }
}

const ComparedRun* Comparison::find(const std::string& fabric, const std::string& value) const {
    for (const ComparedRun& run : runs)
        if (run.fabric == fabric && run.value == value) return &run;
    return nullptr;
}

std::vector<const ComparedRun*> Comparison::runs_at(const std::string& value) const {
    std::vector<const ComparedRun*> found;
    for (const ComparedRun& run : runs)
        if (run.value == value) found.push_back(&run);
    return found;
}

std::vector<size_t> Comparison::ranking(const std::string& value) const {
    std::vector<size_t> order;
    for (size_t i = 0; i < runs.size(); ++i)
        if (runs[i].value == value) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        const auto key = [&](size_t i) {
            return std::tuple(!runs[i].verdict.complete, runs[i].facts->span);
        };
        return key(a) < key(b);
    });
    return order;
}

void Comparison::set_axes(std::vector<SweepAxis> of) {
    axes = std::move(of);
    std::vector<std::string> keys;
    for (const SweepAxis& axis : axes) keys.push_back(axis.key);
    sweep_key = joined_value(keys);
}

std::string Comparison::place_text(const std::string& value) const {
    const std::vector<std::string> parts = split_value(value);
    std::vector<std::string> texts;
    for (size_t i = 0; i < axes.size() && i < parts.size(); ++i)
        texts.push_back(fmt::format("{} = {}", axes[i].key, parts[i]));
    return fmt::format("{}", fmt::join(texts, kBetweenValues));
}

size_t Comparison::seed_count() const {
    size_t most = 1;
    for (const ComparedRun& run : runs) most = std::max(most, run.seeds.size());
    return most;
}

std::string joined_value(const std::vector<std::string>& values) {
    return fmt::format("{}", fmt::join(values, kBetweenValues));
}

std::vector<std::string> split_value(const std::string& value) {
    std::vector<std::string> parts;
    std::string_view rest = value;
    while (true) {
        const size_t cut = rest.find(kBetweenValues);
        parts.emplace_back(rest.substr(0, cut));
        if (cut == std::string_view::npos) return parts;
        rest.remove_prefix(cut + kBetweenValues.size());
    }
}

bool is_within_spread(const ComparedRun& a, const ComparedRun& b) {
    if (a.seeds.size() < 2 || b.seeds.size() < 2) return false;
    return a.least() <= b.most() && b.least() <= a.most();
}

uint64_t behind_permille(const ComparedRun& run, const ComparedRun& best) {
    if (&run != &best && is_within_spread(run, best)) return 0;
    const auto took = static_cast<uint64_t>(run.facts->span.ps);
    const auto least = static_cast<uint64_t>(best.facts->span.ps);
    if (least == 0 || took <= least) return 0;
    return static_cast<uint64_t>((base::uint128_t{took - least} * 1000 + least / 2) / least);
}

}  // namespace tulle::report
