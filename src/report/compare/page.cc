#include "report/compare/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/compare/claims.h"
#include "report/compare/decision.h"
#include "report/compare/rows.h"
#include "report/compare/rules.h"
#include "report/compare/sweep.h"
#include "report/findings/findings.h"
#include "report/json_values.h"
#include "report/time_shares.h"

namespace tulle::report {
namespace {

// Limits that keep the page below two megabytes: the number of runs with charts over time and of
// links, and the number of switches (the busiest) in the latter.
constexpr size_t kMostDetailed = 12;
constexpr size_t kMostSwitches = 48;
constexpr int64_t kChartBins = 240;

Json latency_json(const base::Histogram& latency) {
    Json points = Json::array();
    const auto add = [&](uint64_t parts, uint64_t out_of) {
        points.push_back({static_cast<double>(latency.percentile(parts, out_of)) / 1e6,
                          static_cast<double>(parts) / static_cast<double>(out_of)});
    };
    if (latency.empty()) return points;
    for (uint64_t percent = 0; percent <= 98; percent += 2) add(percent, 100);
    for (uint64_t parts = 990; parts <= 998; ++parts) add(parts, 1000);
    for (uint64_t parts = 9990; parts < 10'000; ++parts) add(parts, 10'000);
    return points;
}

Duration length_of(const TimeSeries& series) {
    return {series.bin.ps * static_cast<int64_t>(series.queue_bytes.size())};
}

// The end of charts over time: a run ten times as long as the others would hide them.
Duration end_of_charts(const Comparison& comparison) {
    std::vector<Duration> ends;
    for (const ComparedRun* run : comparison.runs_at(comparison.values.front()))
        if (!run->series.empty()) ends.push_back(length_of(run->series));
    if (ends.empty()) return {};
    std::sort(ends.begin(), ends.end());
    return std::min(ends.back(), Duration{2 * ends[(ends.size() - 1) / 2].ps});
}

// The maximum of each bin of the chart.
Json resampled(const std::vector<uint64_t>& values, Duration bin, Duration end) {
    Json json = Json::array();
    for (int64_t i = 0; i < kChartBins; ++i) {
        const int64_t first = end.ps / kChartBins * i / bin.ps;
        const int64_t last = std::max(first, end.ps / kChartBins * (i + 1) / bin.ps - 1);
        if (last >= static_cast<int64_t>(values.size())) break;
        json.push_back(*std::max_element(values.begin() + first, values.begin() + last + 1));
    }
    return json;
}

Json series_json(const TimeSeries& series, Duration end) {
    if (series.empty()) return nullptr;
    return {{"bin_us", microseconds({end.ps / kChartBins})},
            {"length_us", microseconds(length_of(series))},
            {"queue", resampled(series.queue_bytes, series.bin, end)},
            {"paused", resampled(series.paused_ports, series.bin, end)}};
}

// Rows of switches, cells of ports: [busy, paused] in thousandths of the run.
Json load_json(const Facts& facts) {
    struct Row {
        uint32_t node = 0;
        Duration busy{};
        Json ports = Json::array();
    };
    std::vector<Row> rows;
    for (const sim::LinkResult& link : facts.result.links) {
        if (facts.is_host(link.node)) continue;
        if (rows.empty() || rows.back().node != link.node) rows.push_back({link.node, {}, {}});
        rows.back().busy += link.busy;
        rows.back().ports.push_back(
            {facts.names.link(link), facts.busy_permille(link), facts.permille(link.paused)});
    }
    if (rows.size() > kMostSwitches) {
        std::stable_sort(rows.begin(), rows.end(),
                         [](const Row& a, const Row& b) { return a.busy > b.busy; });
        rows.resize(kMostSwitches);
    }
    Json json = Json::array();
    for (Row& row : rows)
        json.push_back({{"name", facts.names.node(row.node)}, {"ports", std::move(row.ports)}});
    return json;
}

Json collectives_json(const Facts& facts) {
    Json json = Json::array();
    for (const CollectiveFacts& phase : facts.collectives)
        if (is_collective(phase.collective) && phase.finished)
            json.push_back({{"name", phase.name},
                            {"bytes", phase.bytes},
                            {"busbw", gigabytes(phase.bus_bandwidth)},
                            {"time_us", microseconds(phase.time)}});
    return json;
}

std::string guess(const std::string& text, bool is_guess) {
    return text + (is_guess ? "*" : "");
}

Json bill_json(const Bill& bill) {
    Json lines = Json::array();
    for (const BillLine& line : bill.lines)
        lines.push_back(
            {line.part, line.count,
             line.is_priced ? guess(price_text(line.each), line.price_is_guess) : "no price",
             line.is_priced ? guess(price_text(line.price), line.price_is_guess) : "?",
             line.is_priced ? guess(watts_text(line.milliwatts), line.watts_are_guess) : "?"});
    return {{"lines", std::move(lines)},
            {"is_whole", bill.is_whole()},
            {"price", sum_text(bill)},
            {"power", watts_text(bill.milliwatts)}};
}

// By kind, the largest first. Places differ between fabrics and cannot be compared.
Json shares_json(const Facts& facts) {
    std::vector<std::pair<fabric::ShareKind, Duration>> kinds;
    for (const ShareRow& row : share_rows(facts)) {
        auto kind = std::ranges::find(kinds, row.kind, [](const auto& one) { return one.first; });
        if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {row.kind, Duration{}});
        kind->second += row.time;
    }
    Json json = Json::array();
    for (const auto& [kind, time] : kinds)
        json.push_back({{"name", share_text({kind, "", {}})}, {"ps", time.ps}});
    return json;
}

// How far behind the fastest of its value, in words; empty if it is not.
std::string behind_words(const Comparison& comparison, const ComparedRun& run) {
    const ComparedRun& best = comparison.runs[comparison.ranking(run.value).front()];
    const uint64_t behind = behind_permille(run, best);
    if (&run == &best || !run.verdict.complete) return "";
    if (behind >= 1000) return fmt::format("{} times as long", ratio_text(behind + 1000));
    return behind == 0 ? "no difference" : fmt::format("{} longer", percent_text(behind));
}

Json run_figures(const Comparison& comparison, const ComparedRun& run, bool is_detailed,
                 Duration end) {
    return {{"fabric", run.fabric},
            {"value", run.value},
            {"profile", run.facts->setup.fabric_name},
            {"complete", run.verdict.complete},
            {"time_us", microseconds(run.facts->span)},
            {"least_us", microseconds(run.least())},
            {"most_us", microseconds(run.most())},
            {"behind", behind_words(comparison, run)},
            {"limit", percent_text(run.verdict.limit_permille)},
            {"hash", fmt::format("{:016x}", run.facts->result.hash)},
            {"sentence", run.verdict.sentence},
            {"shares", shares_json(*run.facts)},
            {"collectives", collectives_json(*run.facts)},
            {"latency", latency_json(run.latency)},
            {"series", is_detailed ? series_json(run.series, end) : Json(nullptr)},
            {"load", is_detailed ? load_json(*run.facts) : Json::array()},
            {"bill", bill_json(run.bill)}};
}

Json table_json(const Comparison& comparison, const std::string& value) {
    const std::vector<const ComparedRun*> runs = comparison.runs_at(value);
    Json names = Json::array();
    for (const ComparedRun* run : runs) names.push_back(run->fabric);
    Json rows = Json::array();
    for (const ComparedRow& row : compared_rows(runs)) {
        Json cells = {row.label};
        for (const std::string& cell : row.cells) cells.push_back(cell);
        rows.push_back(std::move(cells));
    }
    Json claims = Json::array();
    for (const Claim& claim : claims_of(comparison, value))
        claims.push_back({{"kind", claim_name(claim.kind)}, {"sentence", claim.sentence}});
    Json rules = Json::array();
    for (const Advice& one : advice_on(comparison, value))
        rules.push_back({{"opinion", one.is_opinion},
                         {"about", topic_name(one.topic)},
                         {"sentence", one.sentence}});
    return {{"value", value},
            {"order", comparison.ranking(value)},
            {"fabrics", std::move(names)},
            {"rows", std::move(rows)},
            {"claims", std::move(claims)},
            {"rules", std::move(rules)}};
}

Json axes_json(const Comparison& comparison) {
    Json json = Json::array();
    for (const SweepAxis& axis : comparison.axes)
        json.push_back({{"key", axis.key}, {"values", axis.values}});
    return json;
}

Json figures(const Comparison& comparison) {
    Json runs = Json::array();
    const Duration end = comparison.runs.empty() ? Duration{} : end_of_charts(comparison);
    for (size_t i = 0; i < comparison.runs.size(); ++i)
        runs.push_back(run_figures(comparison, comparison.runs[i], i < kMostDetailed, end));
    Json tables = Json::array();
    for (const std::string& value : comparison.values)
        tables.push_back(table_json(comparison, value));
    Json json = {{"scenario", comparison.scenario}, {"sweep_key", comparison.sweep_key},
                 {"axes", axes_json(comparison)},   {"seeds", comparison.seed_count()},
                 {"fabrics", comparison.fabrics},   {"values", comparison.values},
                 {"missing", comparison.missing},   {"tables", std::move(tables)},
                 {"runs", std::move(runs)}};
    if (comparison.runs.empty()) return json;
    const Decision decision = decision_of(comparison);
    json["decision"] = {{"headline", decision.headline}, {"sentences", decision.sentences}};
    json["best_values"] = Json::array();
    for (const BestValue& best : best_values(comparison))
        json["best_values"].push_back(
            {{"fabric", best.fabric}, {"value", best.value}, {"sentence", best.sentence}});
    json["prices_text"] = fmt::format(
        "{} {}", comparison.has_sample_prices ? "Sample prices, not quotes:" : "Prices of",
        comparison.prices_file);
    json["has_guesses"] = std::ranges::any_of(
        comparison.runs, [](const ComparedRun& run) { return run.bill.guessed != 0; });
    json["work"] = work_text(*comparison.runs.front().facts);
    const ComparedRun& first = comparison.runs.front();
    json["cluster"] =
        fmt::format("{}, {}, {} switches, {}", counted(first.facts->servers(), "server"),
                    counted(first.bill.adapters, "adapter"), first.bill.switches,
                    counted(first.bill.cables, "cable"));
    const bool is_everywhere = std::ranges::all_of(comparison.runs, [&](const ComparedRun& run) {
        return std::tie(run.bill.adapters, run.bill.switches, run.bill.cables) ==
               std::tie(first.bill.adapters, first.bill.switches, first.bill.cables);
    });
    if (!is_everywhere)
        json["cluster"] = fmt::format("{} at {}", json["cluster"].get<std::string>(),
                                      comparison.place_text(comparison.values.front()));
    json["currency"] = first.bill.currency;
    return json;
}

}  // namespace

std::string compare_page(const Comparison& comparison, const About& about) {
    Json json = figures(comparison);
    json["about"] = about_json(about);
    return page_of("compare",
                   comparison.scenario.empty() ? "Fabrics compared" : comparison.scenario, json);
}

}  // namespace tulle::report
