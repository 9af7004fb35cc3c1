#include "report/compare/compare_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "report/compare/chart.h"
#include "report/compare/claims.h"
#include "report/compare/rows.h"
#include "report/compare/rules.h"
#include "report/compare/sweep.h"
#include "report/compare/words.h"
#include "report/findings/findings.h"
#include "report/table.h"

namespace tulle::report {
namespace {

constexpr size_t kMostHeldUp = 190;  // two lines; `tulle sim` shows the rest
constexpr size_t kFabricsAbreast = 5;
constexpr size_t kGridColumns = 6;
constexpr size_t kColumnWidth = 13;  // of a fabric's name
// With more fabrics than this, the best get columns, and those that take half as long again or more
// get one line each. Chosen.
constexpr size_t kMostInFull = 10;
constexpr uint64_t kFarPermille = 500;

struct Shown {
    std::vector<const ComparedRun*> in_full;
    std::vector<const ComparedRun*> in_short;

    bool has_in_short(const ComparedRun& run) const {
        return std::ranges::find(in_short, &run) != in_short.end();
    }
};

Shown shown_at(const Comparison& comparison, const std::string& value) {
    Shown shown{comparison.runs_at(value), {}};
    if (shown.in_full.size() <= kMostInFull) return shown;
    shown.in_full.clear();
    const std::vector<size_t> ranking = comparison.ranking(value);
    const ComparedRun& best = comparison.runs[ranking.front()];
    for (const size_t index : ranking) {
        const ComparedRun& run = comparison.runs[index];
        const bool is_near = run.verdict.complete && shown.in_full.size() < kMostInFull &&
                             behind_permille(run, best) < kFarPermille;
        (is_near ? shown.in_full : shown.in_short).push_back(&run);
    }
    return shown;
}

// Column heads, in as many lines as the longest name needs.
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

std::string tables(const std::vector<const ComparedRun*>& runs) {
    std::string text;
    for (size_t first = 0; first < runs.size(); first += kFabricsAbreast) {
        const size_t end = std::min(runs.size(), first + kFabricsAbreast);
        text.append("\n").append(table_of({runs.begin() + static_cast<int64_t>(first),
                                           runs.begin() + static_cast<int64_t>(end)}));
    }
    return text;
}

std::string counted_switches(uint64_t count) {
    return count == 1 ? "1 switch" : fmt::format("{} switches", count);
}

std::string header(const Comparison& comparison) {
    std::string text;
    if (!comparison.scenario.empty()) text += fmt::format("Scenario  {}\n", comparison.scenario);
    if (comparison.runs.empty()) return text;
    const ComparedRun& first = comparison.runs.front();
    const Bill& bill = first.bill;
    text += fmt::format("Cluster   {}, {}, {} with {} ports in use, {}\n",
                        counted(first.facts->servers(), "server"),
                        counted(bill.adapters, "adapter"), counted_switches(bill.switches),
                        bill.switch_ports, counted(bill.cables, "cable"));
    if (comparison.seed_count() > 1)
        text += fmt::format(
            "Seeds     {}: figures are those of the run with the median time; ± is half of what "
            "they span\n",
            comparison.seed_count());
    return text;
}

// One line each; the verdict says how far behind they are.
std::string others(const std::vector<const ComparedRun*>& runs) {
    if (runs.empty()) return "";
    Table table;
    table.row({"the others", "time", "of the limit", "sent again", "price"});
    for (const ComparedRun* run : runs)
        table.row({run->fabric, run->verdict.complete ? spread_text(*run) : "failed",
                   run->verdict.complete ? percent_text(run->verdict.limit_permille) : "-",
                   std::to_string(run->facts->result.totals.retransmitted),
                   run->bill.is_whole() ? price_text(run->bill.price) : "?"});
    return "\n" + table.text();
}

std::string bottlenecks(const std::vector<const ComparedRun*>& runs) {
    std::string text = "\nWhat held each one up\n";
    for (const ComparedRun* run : runs)
        text += wrapped(
            shortened(fmt::format("  {}: {}", run->fabric, run->verdict.sentence), kMostHeldUp),
            "    ");
    return text;
}

std::string without_reason(const Claim& claim) {
    return claim.sentence.substr(0, claim.sentence.find(": "));
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

std::string cell_of(const ComparedRun* run, const Measure& measure) {
    if (run == nullptr) return "missing";
    if (!run->verdict.complete) return "failed";
    return measure.is_time ? spread_text(*run) : measure.text(*run, measure.phase);
}

// Values as rows, fabrics as columns.
std::string sweep_table(const Comparison& comparison, const Measure& measure) {
    std::string text = fmt::format("\n{}\n", measure.name);
    const std::vector<std::string>& fabrics = comparison.fabrics;
    for (size_t first = 0; first < fabrics.size(); first += kFabricsAbreast) {
        const std::vector<std::string> some(
            fabrics.begin() + static_cast<int64_t>(first),
            fabrics.begin() +
                static_cast<int64_t>(std::min(fabrics.size(), first + kFabricsAbreast)));
        Table table;
        add_names(comparison.sweep_key, some, table);
        for (const std::string& value : comparison.values) {
            std::vector<std::string> cells = {value};
            for (const std::string& fabric : some)
                cells.push_back(cell_of(comparison.find(fabric, value), measure));
            table.row(std::move(cells));
        }
        text += table.text();
    }
    return text;
}

// For one fabric: values of the first setting as rows, of the second as columns.
std::string grid_table(const Comparison& comparison, const Measure& measure,
                       const std::string& fabric) {
    const SweepAxis& down = comparison.axes[0];
    const SweepAxis& across = comparison.axes[1];
    std::string text =
        fmt::format("\n{}, {}: {} down, {} across\n", measure.name, fabric, down.key, across.key);
    for (size_t first = 0; first < across.values.size(); first += kGridColumns) {
        const size_t end = std::min(across.values.size(), first + kGridColumns);
        Table table;
        std::vector<std::string> head = {""};
        for (size_t i = first; i < end; ++i) head.push_back(across.values[i]);
        table.row(std::move(head));
        for (const std::string& row : down.values) {
            std::vector<std::string> cells = {row};
            for (size_t i = first; i < end; ++i)
                cells.push_back(cell_of(
                    comparison.find(fabric, joined_value({row, across.values[i]})), measure));
            table.row(std::move(cells));
        }
        text += table.text();
    }
    return text;
}

std::string sweep_chart(const Comparison& comparison, const Measure& measure) {
    std::vector<Bar> all;
    for (const std::string& value : comparison.values)
        for (const std::string& fabric : comparison.fabrics) {
            const ComparedRun* run = comparison.find(fabric, value);
            const bool is_good = run != nullptr && run->verdict.complete;
            all.push_back({value, fabric, is_good ? measure.value(*run, measure.phase) : 0,
                           is_good ? cell_of(run, measure) : "-"});
        }
    const bool is_one_scale = !measure.is_time || comparison.fabrics.size() == 1;
    return fmt::format(
        "\n{} against {}; {}\n{}", measure.name, comparison.sweep_key,
        is_one_scale ? "the longest bar is the most" : "the longest bar is the most of each value",
        bars(all, !is_one_scale));
}

// Further figures, one row per run.
std::string other_table(const Comparison& comparison) {
    const std::vector<Measure> measures = other_measures(comparison);
    Table table;
    std::vector<std::string> head = {comparison.sweep_key, "fabric"};
    for (const Measure& measure : measures) head.push_back(measure.name);
    table.row(std::move(head));
    for (const std::string& value : comparison.values)
        for (const ComparedRun* run : comparison.runs_at(value)) {
            std::vector<std::string> cells = {
                run->fabric == comparison.fabrics.front() ? value : "", run->fabric};
            for (const Measure& measure : measures) cells.push_back(measure.text(*run, 0));
            table.row(std::move(cells));
        }
    return "\nWhat happened besides\n" + table.text();
}

std::string sweep_text(const Comparison& comparison) {
    std::string text;
    const std::vector<Measure> all = main_measures(comparison);
    const bool is_grid = comparison.axes.size() > 1;
    for (const Measure& measure : all) {
        if (!is_grid) text += sweep_table(comparison, measure);
        for (size_t i = 0; is_grid && i < comparison.fabrics.size(); ++i)
            text += grid_table(comparison, measure, comparison.fabrics[i]);
    }
    if (!is_grid) text += sweep_chart(comparison, all.front());
    return text + other_table(comparison);
}

std::string best_text(const Comparison& comparison) {
    const std::vector<BestValue> all = best_values(comparison);
    if (all.empty()) return "";
    std::string text = "Best value\n";
    for (const BestValue& best : all) text += wrapped(fmt::format("  {}.", best.sentence), "    ");
    return text;
}

// Parts of a fabric; fabrics with the same parts share a table.
std::string bill_table(const std::vector<const ComparedRun*>& runs) {
    const Bill& bill = runs.front()->bill;
    std::vector<std::string> names;
    for (const ComparedRun* run : runs) names.push_back(run->fabric);
    Table table;
    table.row({"part", "count", "each", "together", "power"});
    for (const BillLine& line : bill.lines) {
        const auto guess = [](const std::string& text, bool is) { return text + (is ? "*" : " "); };
        table.row(
            {line.part, std::to_string(line.count),
             line.is_priced ? guess(price_text(line.each), line.price_is_guess) : "no price ",
             line.is_priced ? guess(price_text(line.price), line.price_is_guess) : "? ",
             line.is_priced ? guess(watts_text(line.milliwatts), line.watts_are_guess) : "? "});
    }
    table.row({bill.is_whole() ? "sum" : "sum of what has a price", "", "",
               price_text(bill.price) + " ", watts_text(bill.milliwatts) + " "});
    return wrapped(fmt::format("  {}", fmt::join(names, ", ")), "  ") + table.text();
}

bool is_same_bill(const Bill& a, const Bill& b) {
    return std::ranges::equal(a.lines, b.lines, [](const BillLine& one, const BillLine& other) {
        return std::tie(one.part, one.count) == std::tie(other.part, other.count);
    });
}

std::string bills(const Comparison& comparison, const std::vector<const ComparedRun*>& runs) {
    std::vector<std::vector<const ComparedRun*>> groups;
    bool has_guess = false;
    for (const ComparedRun* run : runs) {
        has_guess = has_guess || run->bill.guessed != 0;
        auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& one) {
            return is_same_bill(one.front()->bill, run->bill);
        });
        if (group == groups.end()) group = groups.emplace(groups.end());
        group->push_back(run);
    }
    const Bill& bill = comparison.runs.front().bill;
    const std::string head = fmt::format("\nParts and prices, {}, {} {}{}", bill.currency,
                                         bill.is_sample ? "sample prices of" : "prices of",
                                         comparison.prices_file, has_guess ? "; * is a guess" : "");
    std::string text = wrapped(head, "  ");
    for (const auto& group : groups) text += bill_table(group);
    return text;
}

}  // namespace

std::string compare_verdict_text(const Comparison& comparison) {
    std::string text = best_text(comparison);
    // Of one fabric there is nothing to compare at a value.
    const bool is_of_values = !comparison.sweep_key.empty() && comparison.fabrics.size() == 1;
    for (const std::string& value : comparison.values) {
        if (is_of_values) break;
        text += value.empty() ? "Verdict\n"
                              : fmt::format("Verdict at {}\n", comparison.place_text(value));
        const Shown shown = shown_at(comparison, value);
        for (const Claim& claim : claims_of(comparison, value)) {
            const bool is_short = shown.has_in_short(comparison.runs[claim.run]);
            text += wrapped(fmt::format("  {}.", is_short ? without_reason(claim) : claim.sentence),
                            "    ");
        }
    }
    return text + missing(comparison);
}

std::string compare_text(const Comparison& comparison) {
    if (comparison.runs.empty()) return header(comparison) + missing(comparison);
    if (!comparison.sweep_key.empty())
        return header(comparison) + sweep_text(comparison) + "\n" +
               compare_verdict_text(comparison);
    const std::string& value = comparison.values.front();
    const Shown shown = shown_at(comparison, value);
    return header(comparison) + tables(shown.in_full) + others(shown.in_short) +
           bottlenecks(shown.in_full) + "\n" + compare_verdict_text(comparison) +
           advice(comparison, value) + bills(comparison, shown.in_full);
}

}  // namespace tulle::report
