#include "report/compare/compare_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/compare/claims.h"
#include "report/compare/rules.h"
#include "report/compare/sweep.h"
#include "report/csv_values.h"
#include "workload/collectives/collective.h"

namespace tulle::report {
namespace {

Json one_run(const Comparison& comparison, const ComparedRun& run) {
    Json json = {{"name", run.fabric}};
    json["sweep"] = comparison.sweep_key.empty() ? Json(nullptr)
                                                 : Json{{"key", comparison.sweep_key},
                                                        {"value", run.value},
                                                        {"values", split_value(run.value)}};
    Json seeds = Json::array();
    for (const SeedTime& one : run.seeds)
        seeds.push_back({{"seed", one.seed},
                         {"complete", one.complete},
                         {"span_ns", static_cast<double>(one.span.ps) / 1000}});
    json["seeds"] = std::move(seeds);
    json.update(run_json(*run.facts, run.verdict));
    return json;
}

Json cost_json(const ComparedRun& run) {
    const Bill& bill = run.bill;
    Json lines = Json::array();
    for (const BillLine& line : bill.lines)
        lines.push_back({{"part", line.part},
                         {"count", line.count},
                         {"each", line.is_priced ? ratio(line.each) : Json(nullptr)},
                         {"price", line.is_priced ? ratio(line.price) : Json(nullptr)},
                         {"price_is_guess", line.price_is_guess},
                         {"watts", line.is_priced ? ratio(line.milliwatts) : Json(nullptr)},
                         {"watts_are_guess", line.watts_are_guess}});
    return {{"name", run.fabric},
            {"switches", bill.switches},
            {"switch_ports", bill.switch_ports},
            {"adapters", bill.adapters},
            {"cables", bill.cables},
            {"copper_cables", bill.copper_cables},
            {"transceivers", bill.transceivers},
            {"currency", bill.currency},
            {"price", ratio(bill.price)},
            {"watts", ratio(bill.milliwatts)},
            {"unpriced_parts", bill.unpriced},
            {"guessed", ratio(bill.guessed)},
            {"lines", std::move(lines)}};
}

// Fields with the values that they have in this very document.
Json evidence_json(const std::vector<std::string>& fields, const Json& document) {
    Json json = Json::array();
    for (const std::string& field : fields)
        json.push_back({{"field", field}, {"value", document.at(Json::json_pointer(field))}});
    return json;
}

Json sweep_value(const std::string& value) {
    return value.empty() ? Json(nullptr) : Json(value);
}

Json parts_json(const std::vector<GapPart>& parts) {
    Json json = Json::array();
    for (const GapPart& part : parts)
        json.push_back(
            {{"kind", share_name(part.kind)}, {"text", part.text}, {"ps", part.time.ps}});
    return json;
}

Json verdict_json(const Comparison& comparison, const Json& document) {
    Json claims = Json::array();
    Json ranking = Json::array();
    for (const std::string& value : comparison.values) {
        Json names = Json::array();
        for (const size_t index : comparison.ranking(value))
            names.push_back(comparison.runs[index].fabric);
        ranking.push_back({{"value", sweep_value(value)}, {"fabrics", std::move(names)}});
        for (const Claim& claim : claims_of(comparison, value))
            claims.push_back({{"value", sweep_value(value)},
                              {"kind", claim_name(claim.kind)},
                              {"run", claim.run},
                              {"fabric", comparison.runs[claim.run].fabric},
                              {"sentence", claim.sentence},
                              {"parts", parts_json(claim.parts)},
                              {"evidence", evidence_json(claim.evidence, document)}});
    }
    Json best = Json::array();
    for (const BestValue& one : best_values(comparison))
        best.push_back({{"fabric", one.fabric},
                        {"value", sweep_value(one.value)},
                        {"sentence", one.sentence},
                        {"evidence", evidence_json(one.evidence, document)}});
    return {{"ranking", std::move(ranking)},
            {"claims", std::move(claims)},
            {"best_values", std::move(best)}};
}

Json rules_json(const Comparison& comparison, const Json& document) {
    Json rules = Json::array();
    for (const std::string& value : comparison.values)
        for (const Advice& one : advice_on(comparison, value))
            rules.push_back({{"value", sweep_value(value)},
                             {"id", one.id},
                             {"about", topic_name(one.topic)},
                             {"basis", one.is_opinion ? "opinion" : "found"},
                             {"sentence", one.sentence},
                             {"evidence", evidence_json(one.evidence, document)}});
    return rules;
}

// Key and value of the first setting that is swept, then of the second.
std::string sweep_cells(const Comparison& comparison, const std::string& value) {
    const std::vector<std::string> values = split_value(value);
    std::vector<std::string> cells(4);
    for (size_t i = 0; i < comparison.axes.size() && i < values.size(); ++i) {
        cells[2 * i] = csv_quoted(comparison.axes[i].key);
        cells[2 * i + 1] = csv_quoted(values[i]);
    }
    return fmt::format("{}", fmt::join(cells, ","));
}

std::string run_cells(const ComparedRun& run) {
    const sim::Totals& totals = run.facts->result.totals;
    const auto percentile = [&](uint64_t parts, uint64_t out_of) {
        return csv_ns(static_cast<int64_t>(run.latency.percentile(parts, out_of)));
    };
    return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                       csv_ns(run.facts->span.ps), run.seeds.size(), csv_ns(run.least().ps),
                       csv_ns(run.most().ps), csv_ratio(run.verdict.limit_permille),
                       percentile(1, 2), percentile(99, 100), percentile(999, 1000),
                       run.facts->drops(), totals.retransmitted, totals.ecn_marked, totals.cnps,
                       csv_ns(totals.paused.ps), csv_ratio(run.facts->header_permille()),
                       csv_ns(run.facts->result.cpu.ps), run.peak_queue_bytes(),
                       run.bill.is_whole() ? csv_ratio(run.bill.price) : "");
}

std::string collective_cells(const CollectiveFacts& phase) {
    const auto gigabytes = [](uint64_t bytes) { return csv_ratio(bytes / 1'000'000); };
    return fmt::format("{},{},{},{},{},{},{},{}", csv_quoted(phase.name),
                       workload::name_of(phase.collective), phase.bytes, phase.ranks,
                       phase.finished ? csv_ns(phase.time.ps) : "",
                       gigabytes(phase.algorithm_bandwidth), gigabytes(phase.bus_bandwidth),
                       csv_ratio(phase.limit_permille));
}

}  // namespace

Json comparison_json(const Comparison& comparison) {
    Json json = {{"scenario", comparison.scenario},
                 {"sweep_key", sweep_value(comparison.sweep_key)},
                 {"runs", Json::array()},
                 {"missing", comparison.missing},
                 {"prices", comparison.prices_file},
                 {"sample_prices", comparison.has_sample_prices},
                 {"cost", Json::array()}};
    for (const ComparedRun& run : comparison.runs) {
        json["runs"].push_back(one_run(comparison, run));
        json["cost"].push_back(cost_json(run));
    }
    json["verdict"] = verdict_json(comparison, json);
    json["rules"] = rules_json(comparison, json);
    return json;
}

std::string compare_csv(const Comparison& comparison) {
    std::string text =
        "fabric,sweep_key,sweep_value,sweep_key_2,sweep_value_2,complete,time_ns,seeds,"
        "least_time_ns,most_time_ns,limit_ratio,p50_ns,p99_ns,p999_ns,dropped,retransmitted,"
        "ecn_marked,cnps,paused_ns,header_ratio,cpu_ns,peak_queue_bytes,price,collective,kind,"
        "bytes,ranks,collective_ns,algbw_GBps,busbw_GBps,collective_limit_ratio\n";
    for (const ComparedRun& run : comparison.runs) {
        const std::string head =
            fmt::format("{},{},{},{}", csv_quoted(run.fabric), sweep_cells(comparison, run.value),
                        run.verdict.complete ? "yes" : "no", run_cells(run));
        if (run.facts->collectives.empty()) text += head + ",,,,,,,,\n";
        for (const CollectiveFacts& phase : run.facts->collectives)
            text += head + "," + collective_cells(phase) + "\n";
    }
    return text;
}

}  // namespace tulle::report
