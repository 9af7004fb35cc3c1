#include "report/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/int128.h"

namespace tulle::report {

std::string ComparedRun::name() const {
    return value.empty() ? fabric : fmt::format("{} at {}", fabric, value);
}

Comparison::Comparison(const std::vector<FinishedRun>& finished, const scenario::Prices& prices)
    : prices_file(prices.file) {
    const auto add = [](std::vector<std::string>& names, const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const FinishedRun& one : finished) {
        ComparedRun run;
        run.fabric = one.fabric;
        run.value = one.value;
        run.facts = std::make_unique<const Facts>(*one.setup, *one.result);
        run.verdict = judge(*run.facts);
        run.bill = bill_of(*one.setup, prices);
        run.latency = run.facts->message_latency();
        run.series = one.series;
        add(fabrics, one.fabric);
        add(values, one.value);
        if (scenario.empty()) scenario = one.setup->name;
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

uint64_t behind_permille(const ComparedRun& run, const ComparedRun& best) {
    const auto took = static_cast<uint64_t>(run.facts->span.ps);
    const auto least = static_cast<uint64_t>(best.facts->span.ps);
    if (least == 0 || took <= least) return 0;
    return static_cast<uint64_t>((base::uint128_t{took - least} * 1000 + least / 2) / least);
}

}  // namespace tulle::report
