#include "report/compare/compare_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/units.h"
#include "report/compare/chart.h"
#include "report/compare/claims.h"
#include "report/compare/rules.h"
#include "report/compare/words.h"
#include "report/findings/findings.h"
#include "report/table.h"

namespace tulle::report {
namespace {

constexpr size_t kMostHeldUp = 190;  // two lines; `tulle sim` tells the rest
constexpr size_t kFabricsAbreast = 5;
constexpr size_t kColumnWidth = 13;  // of a fabric's name

using Cell = std::function<std::string(const ComparedRun&)>;

// A row is left out where no fabric has anything in it.
struct Row {
    std::string label;
    Cell cell;
    bool always = true;
};

std::string time_text(Duration duration) {
    return base::to_string(duration);
}

std::string short_time(Duration duration) {
    struct Unit {
        int64_t ps;
        const char* name;
    };
    constexpr Unit kUnits[] = {
        {1'000'000'000'000, "s"}, {1'000'000'000, "ms"}, {1'000'000, "us"}, {1'000, "ns"}};
    for (const Unit& unit : kUnits)
        if (duration.ps >= unit.ps) {
            const int64_t hundredths = (duration.ps * 100 + unit.ps / 2) / unit.ps;
            return fmt::format("{}.{:02} {}", hundredths / 100, hundredths % 100, unit.name);
        }
    return duration.ps == 0 ? "0" : fmt::format("{} ps", duration.ps);
}

std::string gigabytes_text(uint64_t bytes_per_second) {
    const uint64_t hundredths = (bytes_per_second + 5'000'000) / 10'000'000;
    return fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
}

const CollectiveFacts* phase_of(const ComparedRun& run, size_t phase) {
    return phase < run.facts->collectives.size() ? &run.facts->collectives[phase] : nullptr;
}

void add_collectives(const std::vector<const ComparedRun*>& runs, std::vector<Row>& rows) {
    for (size_t i = 0; i < runs.front()->facts->collectives.size(); ++i) {
        const CollectiveFacts& first = runs.front()->facts->collectives[i];
        if (!has_bandwidth(first.collective)) continue;
        const auto of = [i](auto&& text) {
            return [i, text](const ComparedRun& run) -> std::string {
                const CollectiveFacts* phase = phase_of(run, i);
                return phase != nullptr && phase->finished ? text(*phase) : "-";
            };
        };
        rows.push_back({fmt::format("{}, {}", first.name, base::bytes_to_string(first.bytes)),
                        of([](const CollectiveFacts& phase) { return short_time(phase.time); })});
        rows.push_back({"  algbw, busbw  GB/s", of([](const CollectiveFacts& phase) {
                            return fmt::format("{} {}", gigabytes_text(phase.algorithm_bandwidth),
                                               gigabytes_text(phase.bus_bandwidth));
                        })});
        rows.push_back({"  of the limit", of([](const CollectiveFacts& phase) {
                            return percent_text(phase.limit_permille);
                        })});
    }
}

std::vector<Row> rows_of(const std::vector<const ComparedRun*>& runs) {
    const auto totals = [](auto&& value) {
        return [value](const ComparedRun& run) { return std::to_string(value(run)); };
    };
    const auto latency = [](uint64_t parts, uint64_t out_of) {
        return [=](const ComparedRun& run) {
            return short_time({static_cast<int64_t>(run.latency.percentile(parts, out_of))});
        };
    };
    std::vector<Row> rows = {
        {"time", [](const ComparedRun& run) { return short_time(run.facts->span); }},
        {"of the limit",
         [](const ComparedRun& run) { return percent_text(run.verdict.limit_permille); }},
    };
    add_collectives(runs, rows);
    const std::vector<Row> rest = {
        {"message latency p50", latency(1, 2)},
        {"  p99", latency(99, 100)},
        {"  p99.9", latency(999, 1000)},
        {"packets lost", totals([](const ComparedRun& run) { return run.facts->drops(); })},
        {"packets sent again",
         totals([](const ComparedRun& run) { return run.facts->result.totals.retransmitted; })},
        {"marks, CNPs",
         [](const ComparedRun& run) {
             const sim::Totals& of = run.facts->result.totals;
             return fmt::format("{}, {}", of.ecn_marked, of.cnps);
         }},
        {"links paused, in all",
         [](const ComparedRun& run) { return short_time(run.facts->result.totals.paused); }},
        {"header overhead",
         [](const ComparedRun& run) { return percent_text(run.facts->header_permille()); }},
        {"host CPU time", [](const ComparedRun& run) { return short_time(run.facts->result.cpu); },
         false},
        {"  cores a server",
         [](const ComparedRun& run) { return ratio_text(run.facts->busy_cores_permille()); },
         false},
        {fmt::format("price, {}", runs.front()->bill.currency),
         [](const ComparedRun& run) {
             return fmt::format("{}{}", price_text(run.bill.price),
                                run.bill.unpriced != 0 ? "+" : "");
         }},
        {"power", [](const ComparedRun& run) { return watts_text(run.bill.milliwatts); }},
    };
    rows.insert(rows.end(), rest.begin(), rest.end());
    return rows;
}

bool has_any_cpu(const std::vector<const ComparedRun*>& runs) {
    return std::any_of(runs.begin(), runs.end(),
                       [](const ComparedRun* run) { return run->facts->result.cpu.ps > 0; });
}

void add_names(const std::vector<const ComparedRun*>& runs, Table& table) {
    std::vector<std::vector<std::string>> names;
    size_t lines = 0;
    for (const ComparedRun* run : runs) {
        names.push_back(pieces_of(run->fabric, kColumnWidth));
        lines = std::max(lines, names.back().size());
    }
    for (size_t line = 0; line < lines; ++line) {
        std::vector<std::string> cells = {""};
        for (const auto& pieces : names) cells.push_back(line < pieces.size() ? pieces[line] : "");
        table.row(std::move(cells));
    }
}

std::string table_of(const std::vector<const ComparedRun*>& runs) {
    Table table;
    add_names(runs, table);
    const bool has_cpu = has_any_cpu(runs);
    for (const Row& row : rows_of(runs)) {
        if (!row.always && !has_cpu) continue;
        std::vector<std::string> cells = {row.label};
        for (const ComparedRun* run : runs) cells.push_back(row.cell(*run));
        table.row(std::move(cells));
    }
    return table.text();
}

std::vector<const ComparedRun*> runs_at(const Comparison& comparison, const std::string& value) {
    std::vector<const ComparedRun*> runs;
    for (const ComparedRun& run : comparison.runs)
        if (run.value == value) runs.push_back(&run);
    return runs;
}

std::string tables(const Comparison& comparison, const std::string& value) {
    const std::vector<const ComparedRun*> runs = runs_at(comparison, value);
    std::string text;
    for (size_t first = 0; first < runs.size(); first += kFabricsAbreast) {
        const size_t end = std::min(runs.size(), first + kFabricsAbreast);
        text.append("\n").append(table_of({runs.begin() + static_cast<int64_t>(first),
                                           runs.begin() + static_cast<int64_t>(end)}));
    }
    return text;
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
    for (const ComparedRun* run : runs_at(comparison, value))
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
};

std::vector<Measure> measures(const Comparison& comparison) {
    std::vector<Measure> all;
    for (size_t i = 0; i < comparison.runs.front().facts->collectives.size(); ++i) {
        const CollectiveFacts& phase = comparison.runs.front().facts->collectives[i];
        if (!has_bandwidth(phase.collective)) continue;
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
                   [](const ComparedRun& run) { return time_text(run.facts->span); }});
    return all;
}

std::string sweep_table(const Comparison& comparison, const Measure& measure) {
    Table table;
    std::vector<std::string> head = {comparison.sweep_key};
    head.insert(head.end(), comparison.fabrics.begin(), comparison.fabrics.end());
    table.row(std::move(head));
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
    return fmt::format("\n{} against {}\n{}", measure.name, comparison.sweep_key, bars(all));
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
