#include "report/compare/compare_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/units.h"
#include "report/compare/chart.h"
#include "report/compare/claims.h"
#include "report/compare/rows.h"
#include "report/compare/rules.h"
#include "report/compare/words.h"
#include "report/findings/findings.h"
#include "report/table.h"

namespace tulle::report {
namespace {

constexpr size_t kMostHeldUp = 190;  // two lines; `tulle sim` tells the rest
constexpr size_t kFabricsAbreast = 5;
constexpr size_t kColumnWidth = 13;  // of a fabric's name

// Names over columns, in as many lines as the longest needs.
void add_names(const std::string& label, const std::vector<std::string>& fabrics, Table& table) {
    std::vector<std::vector<std::string>> names;
    size_t lines = 0;
    for (const std::string& fabric : fabrics) {
        names.push_back(pieces_of(fabric, kColumnWidth));
        lines = std::max(lines, names.back().size());
    }
    for (size_t line = 0; line < lines; ++line) {
        std::vector<std::string> cells = {line + 1 == lines ? label : ""};
        for (const auto& pieces : names) cells.push_back(line < pieces.size() ? pieces[line] : "");
        table.row(std::move(cells));
    }
}

std::string table_of(const std::vector<const ComparedRun*>& runs) {
    Table table;
    std::vector<std::string> fabrics;
    for (const ComparedRun* run : runs) fabrics.push_back(run->fabric);
    add_names("", fabrics, table);
    for (const ComparedRow& row : compared_rows(runs)) {
        std::vector<std::string> cells = {row.label};
        cells.insert(cells.end(), row.cells.begin(), row.cells.end());
        table.row(std::move(cells));
    }
    return table.text();
}

std::string tables(const Comparison& comparison, const std::string& value) {
    const std::vector<const ComparedRun*> runs = comparison.runs_at(value);
    std::string text;
    for (size_t first = 0; first < runs.size(); first += kFabricsAbreast) {
        const size_t end = std::min(runs.size(), first + kFabricsAbreast);
        text.append("\n").append(table_of({runs.begin() + static_cast<int64_t>(first),
                                           runs.begin() + static_cast<int64_t>(end)}));
    }
    return text;
}

std::string time_text(Duration duration) {
    return base::to_string(duration);
}

std::string header(const Comparison& comparison) {
    std::string text;
    if (!comparison.scenario.empty()) text += fmt::format("Scenario  {}\n", comparison.scenario);
    if (comparison.runs.empty()) return text;
    const ComparedRun& first = comparison.runs.front();
    const Bill& bill = first.bill;
    text +=
        fmt::format("Cluster   {}, {}, {} switches with {} ports in use, {}\n",
                    counted(first.facts->servers(), "server"), counted(bill.adapters, "adapter"),
                    bill.switches, bill.switch_ports, counted(bill.cables, "cable"));
    return text;
}

std::string bottlenecks(const Comparison& comparison, const std::string& value) {
    std::string text = "\nWhat held each one up\n";
    for (const ComparedRun* run : comparison.runs_at(value))
        text += wrapped(
            shortened(fmt::format("  {}: {}", run->fabric, run->verdict.sentence), kMostHeldUp),
            "    ");
    return text;
}

std::string missing(const Comparison& comparison) {
    if (comparison.missing.empty()) return "";
    return wrapped(
        fmt::format("Missing: {} did not come to an end.", fmt::join(comparison.missing, ", ")),
        "  ");
}

std::string advice(const Comparison& comparison, const std::string& value) {
    const std::vector<Advice> all = advice_on(comparison, value);
    if (all.empty()) return "";
    std::string text = "\nWhich to choose\n";
    for (const Advice& one : all)
        text +=
            wrapped(fmt::format("  {}{}", one.is_opinion ? "Opinion: " : "", one.sentence), "    ");
    return text;
}

// What a sweep shows: bus bandwidth where there are collectives, else time.
struct Measure {
    std::string name;
    std::function<uint64_t(const ComparedRun&)> value;
    std::function<std::string(const ComparedRun&)> text;
    bool is_time = false;
};

const CollectiveFacts* phase_of(const ComparedRun& run, size_t phase) {
    return phase < run.facts->collectives.size() ? &run.facts->collectives[phase] : nullptr;
}

std::vector<Measure> measures(const Comparison& comparison) {
    std::vector<Measure> all;
    for (size_t i = 0; i < comparison.runs.front().facts->collectives.size(); ++i) {
        const CollectiveFacts& phase = comparison.runs.front().facts->collectives[i];
        if (!is_collective(phase.collective)) continue;
        const auto bandwidth = [i](const ComparedRun& run) {
            const CollectiveFacts* of = phase_of(run, i);
            return of != nullptr ? of->bus_bandwidth : 0;
        };
        all.push_back(
            {fmt::format("{}: bus bandwidth, GB/s", phase.name), bandwidth,
             [bandwidth](const ComparedRun& run) { return gigabytes_text(bandwidth(run)); }});
    }
    all.push_back({"time",
                   [](const ComparedRun& run) { return static_cast<uint64_t>(run.facts->span.ps); },
                   [](const ComparedRun& run) { return time_text(run.facts->span); }, true});
    return all;
}

std::string sweep_table(const Comparison& comparison, const Measure& measure) {
    Table table;
    add_names(comparison.sweep_key, comparison.fabrics, table);
    for (const std::string& value : comparison.values) {
        std::vector<std::string> cells = {value};
        for (const std::string& fabric : comparison.fabrics) {
            const ComparedRun* run = comparison.find(fabric, value);
            cells.push_back(run == nullptr          ? "missing"
                            : run->verdict.complete ? measure.text(*run)
                                                    : "failed");
        }
        table.row(std::move(cells));
    }
    return fmt::format("\n{}\n{}", measure.name, table.text());
}

std::string sweep_chart(const Comparison& comparison, const Measure& measure) {
    std::vector<Bar> all;
    for (const std::string& value : comparison.values)
        for (const std::string& fabric : comparison.fabrics) {
            const ComparedRun* run = comparison.find(fabric, value);
            const bool is_good = run != nullptr && run->verdict.complete;
            all.push_back({value, fabric, is_good ? measure.value(*run) : 0,
                           is_good ? measure.text(*run) : "-"});
        }
    return fmt::format("\n{} against {}\n{}", measure.name, comparison.sweep_key,
                       bars(all, measure.is_time));
}

std::string sweep_text(const Comparison& comparison) {
    std::string text;
    const std::vector<Measure> all = measures(comparison);
    for (const Measure& measure : all) text += sweep_table(comparison, measure);
    return text + sweep_chart(comparison, all.front());
}

}  // namespace

std::string compare_verdict_text(const Comparison& comparison) {
    std::string text;
    for (const std::string& value : comparison.values) {
        text += value.empty() ? "Verdict\n"
                              : fmt::format("Verdict at {} = {}\n", comparison.sweep_key, value);
        for (const Claim& claim : claims_of(comparison, value))
            text += wrapped(fmt::format("  {}.", claim.sentence), "    ");
    }
    return text + missing(comparison);
}

std::string compare_text(const Comparison& comparison) {
    if (comparison.runs.empty()) return header(comparison) + missing(comparison);
    if (!comparison.sweep_key.empty())
        return header(comparison) + sweep_text(comparison) + "\n" +
               compare_verdict_text(comparison);
    const std::string& value = comparison.values.front();
    return header(comparison) + tables(comparison, value) + bottlenecks(comparison, value) + "\n" +
           compare_verdict_text(comparison) + advice(comparison, value);
}

}  // namespace tulle::report
