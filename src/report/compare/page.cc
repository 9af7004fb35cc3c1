#include "report/compare/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/compare/claims.h"
#include "report/compare/rows.h"
#include "report/compare/rules.h"
#include "report/findings/findings.h"
#include "report/json_values.h"

namespace tulle::report {
namespace {

constexpr std::string_view kPlace = "/*figures*/null";
// What keeps the page below two megabytes: so many runs have charts over time and of links, and so
// many switches, the busiest, stand in the latter.
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

// Where charts over time end: a run that takes ten times as long as the others would hide them.
Duration end_of_charts(const Comparison& comparison) {
    std::vector<Duration> ends;
    for (const ComparedRun* run : comparison.runs_at(comparison.values.front()))
        if (!run->series.empty()) ends.push_back(length_of(run->series));
    if (ends.empty()) return {};
    std::sort(ends.begin(), ends.end());
    return std::min(ends.back(), Duration{2 * ends[(ends.size() - 1) / 2].ps});
}

// The most of each bin of the chart.
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

Json run_figures(const ComparedRun& run, bool is_detailed, Duration end) {
    Json lines = Json::array();
    for (const BillLine& line : run.bill.lines)
        lines.push_back({line.part, line.count, line.is_priced ? price_text(line.price) : "?",
                         line.is_priced ? watts_text(line.milliwatts) : "?"});
    return {{"fabric", run.fabric},
            {"value", run.value},
            {"profile", run.facts->setup.fabric_name},
            {"complete", run.verdict.complete},
            {"time_us", microseconds(run.facts->span)},
            {"hash", fmt::format("{:016x}", run.facts->result.hash)},
            {"sentence", run.verdict.sentence},
            {"collectives", collectives_json(*run.facts)},
            {"latency", latency_json(run.latency)},
            {"series", is_detailed ? series_json(run.series, end) : Json(nullptr)},
            {"load", is_detailed ? load_json(*run.facts) : Json::array()},
            {"bill",
             {{"lines", std::move(lines)},
              {"price", price_text(run.bill.price)},
              {"power", watts_text(run.bill.milliwatts)}}}};
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
            {"fabrics", std::move(names)},
            {"rows", std::move(rows)},
            {"claims", std::move(claims)},
            {"rules", std::move(rules)}};
}

Json figures(const Comparison& comparison) {
    Json runs = Json::array();
    const Duration end = comparison.runs.empty() ? Duration{} : end_of_charts(comparison);
    for (size_t i = 0; i < comparison.runs.size(); ++i)
        runs.push_back(run_figures(comparison.runs[i], i < kMostDetailed, end));
    Json tables = Json::array();
    for (const std::string& value : comparison.values)
        tables.push_back(table_json(comparison, value));
    Json json = {{"scenario", comparison.scenario}, {"sweep_key", comparison.sweep_key},
                 {"fabrics", comparison.fabrics},   {"values", comparison.values},
                 {"missing", comparison.missing},   {"prices", comparison.prices_file},
                 {"tables", std::move(tables)},     {"runs", std::move(runs)}};
    if (comparison.runs.empty()) return json;
    const ComparedRun& first = comparison.runs.front();
    json["cluster"] =
        fmt::format("{}, {}, {} switches, {}", counted(first.facts->servers(), "server"),
                    counted(first.bill.adapters, "adapter"), first.bill.switches,
                    counted(first.bill.cables, "cable"));
    json["currency"] = first.bill.currency;
    return json;
}

// Nothing in a name can end the script that the figures stand in.
std::string script_safe(const std::string& json) {
    std::string text;
    for (const char c : json)
        if (c == '<')
            text += "\\u003c";
        else
            text += c;
    return text;
}

}  // namespace

std::string compare_page(const Comparison& comparison) {
    std::string page(page_texts().front().text);
    const std::string json =
        figures(comparison).dump(-1, ' ', true, Json::error_handler_t::replace);
    page.replace(page.find(kPlace), kPlace.size(), script_safe(json));
    return page;
}

}  // namespace tulle::report
