#include "cli/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/about.h"
#include "cli/command.h"
#include "cli/compare/input.h"
#include "cli/compare/progress.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/result_files.h"
#include "cli/scenario_input.h"
#include "cli/set_up.h"
#include "cli/sim/estimate.h"
#include "drive/crew.h"
#include "drive/together.h"
#include "report/compare/compare_json.h"
#include "report/compare/compare_text.h"
#include "report/compare/page.h"
#include "scenario/prices.h"

namespace tulle::cli {
namespace {

constexpr const char* kCompareExamples = R"(Examples:
  tulle compare                              an AI cluster on the usual fabrics
  tulle show incast > incast.yaml            an example to begin with
  tulle compare incast.yaml --fabrics ib-ndr,roce-v2-400g
  tulle compare incast.yaml --fabrics ib-ndr,mine.yaml --cost quotes.yaml
  tulle compare --sweep bytes=64KiB,1MiB     bandwidth against size
  tulle compare incast.yaml --sweep fabric.ecn.kmin=50KB,200KB --csv kmin.csv
  tulle compare incast.yaml --sweep fabric.ecn.kmin=50KB,200KB \
                            --sweep fabric.ecn.kmax=400KB,1MB
  tulle compare incast.yaml --seeds 8        with the spread over eight seeds
  tulle compare --html report.html           one page with tables and charts

`tulle list profiles` lists the fabrics. `man tulle-compare` explains the table,
the verdict, the file of prices and every key of the JSON.)";

struct CompareOptions {
    CompareInput input;
    uint32_t threads = 0;
    std::string cost;
    std::string json;
    std::string csv;
    std::string html;
    bool quiet = false;
};

using Results = std::vector<std::optional<base::Result<sim::Result>>>;

base::Result<scenario::Prices> read_prices(const std::string& file) {
    if (file.empty()) return scenario::sample_prices();
    const auto text = read_text(file);
    if (!text) return text.error();
    return scenario::read_prices(*text, file);
}

// A switch with more ports than any priced model is an error in the user's file of prices. The
// sample cannot cover every switch: with it this is a note, and the fabric has no price.
std::optional<base::Error> check_prices(const ComparisonTask& task, const scenario::Prices& prices,
                                        bool quiet) {
    std::vector<std::string> said;
    for (size_t i = 0; i < task.setups.size(); ++i) {
        const bool is_seed =
            i > 0 && task.fabrics[i] == task.fabrics[i - 1] && task.values[i] == task.values[i - 1];
        if (is_seed) continue;
        for (const std::string& problem : report::bill_of(task.setups[i], prices).problems) {
            if (!prices.is_sample) return base::Error{task.fabrics[i] + ": " + problem};
            if (quiet || std::find(said.begin(), said.end(), problem) != said.end()) continue;
            said.push_back(problem);
            tell("tulle compare: note: {} has no price: {}\n", task.fabrics[i], problem);
        }
    }
    return std::nullopt;
}

// The outcome of all runs. Traces are long, so the series for charts are taken from each trace as
// soon as its run ends.
struct Runs {
    Results results;
    std::vector<report::TimeSeries> series;
};

Runs run_all(const ComparisonTask& task, uint32_t workers, SetUp& set_up) {
    Runs runs;
    runs.series.resize(task.setups.size());
    TogetherLine line(task.setups);
    drive::TogetherOptions how;
    how.workers = workers;
    how.interrupt = &interrupt_flag();
    how.explains = true;
    how.on_begin = [&](size_t) { set_up.end(); };
    how.on_progress = [&](size_t run, const drive::Progress& progress) {
        line.show(run, progress);
    };
    how.on_end = [&](size_t run, sim::Result* result) {
        line.end(run);
        if (result == nullptr) return;
        runs.series[run] = report::series_of(*result);
        result->trace = {};
    };
    runs.results = drive::run_together(task.setups, how);
    return runs;
}

// An interrupted run counts as missing.
bool is_finished(const std::optional<base::Result<sim::Result>>& result) {
    return result && result->ok() && (*result)->end != sim::Result::End::interrupted;
}

std::string missing_name(const ComparisonTask& task, size_t run) {
    std::string name = task.fabrics[run];
    if (!task.values[run].empty()) name += fmt::format(" at {}", task.values[run]);
    const auto is_same = [&](size_t other) {
        return task.fabrics[other] == task.fabrics[run] && task.values[other] == task.values[run];
    };
    if ((run > 0 && is_same(run - 1)) || (run + 1 < task.setups.size() && is_same(run + 1)))
        name += fmt::format(" with seed {}", task.setups[run].seed);
    return name;
}

std::unique_ptr<report::Comparison> compare(const ComparisonTask& task, const Runs& runs,
                                            const scenario::Prices& prices) {
    std::vector<report::FinishedRun> finished;
    std::vector<std::string> missing;
    const Results& results = runs.results;
    for (size_t i = 0; i < results.size(); ++i) {
        if (is_finished(results[i])) {
            finished.push_back(
                {task.fabrics[i], task.values[i], &task.setups[i], &**results[i], runs.series[i]});
            continue;
        }
        missing.push_back(missing_name(task, i));
    }
    auto comparison = std::make_unique<report::Comparison>(finished, prices);
    comparison->set_axes(task.axes);
    comparison->missing = std::move(missing);
    return comparison;
}

std::optional<base::Error> print_comparison(const CompareOptions& options,
                                            const report::Comparison& comparison) {
    Output standard = Output::standard();
    standard.write(options.quiet ? report::compare_verdict_text(comparison)
                                 : report::compare_text(comparison));
    return standard.finish();
}

int report_all(const CompareOptions& options, const report::Comparison& comparison,
               ResultFiles& files) {
    if (!files.takes_standard_output())
        if (const auto error = print_comparison(options, comparison))
            return fail("compare", *error, kRunFailed);
    if (const auto error = files.write()) return fail("compare", *error, kRunFailed);
    if (!comparison.missing.empty())
        return fail("compare",
                    {fmt::format("interrupted; missing: {}", fmt::join(comparison.missing, ", "))},
                    kRunFailed);
    const bool are_all_complete =
        std::all_of(comparison.runs.begin(), comparison.runs.end(),
                    [](const report::ComparedRun& run) { return run.verdict.complete; });
    return are_all_complete ? kDone : kRunFailed;
}

int compare(const CompareOptions& options) {
    catch_interrupts();
    SetUp set_up("tulle compare");
    const auto prices = read_prices(options.cost);
    if (!prices) return fail("compare", prices.error(), kInputWrong);
    set_up.say("reading the scenario");
    const auto task = read_comparison(options.input);
    if (!task) return fail("compare", task.error(), kInputWrong);
    if (const auto error = check_prices(*task, *prices, options.quiet))
        return fail("compare", *error, kInputWrong);
    std::unique_ptr<report::Comparison> comparison;
    auto files = ResultFiles::open(
        {{options.json, [&] { return report::json_text(report::comparison_json(*comparison)); }},
         {options.csv, [&] { return report::compare_csv(*comparison); }},
         {options.html,
          [&] { return report::compare_page(*comparison, about(task->file, task->text)); }}});
    if (!files) return fail("compare", files.error(), kInputWrong);
    if (!options.quiet)
        for (const std::string& note : task->notes) tell("tulle compare: note: {}\n", note);
    const uint32_t workers = options.threads != 0 ? std::min(options.threads, drive::usable_cores())
                                                  : drive::usable_cores();
    if (!options.input.skips)
        warn_of_cost("tulle compare", estimate(task->setups, {1, workers, 2, true}));
    set_up.say("building the networks");
    const Runs runs = run_all(*task, workers, set_up);
    const Results& results = runs.results;
    for (size_t i = 0; i < results.size(); ++i)
        if (results[i] && !results[i]->ok())
            return fail("compare",
                        {fmt::format("{}: {}", task->fabrics[i], results[i]->error().message)},
                        kInputWrong);
    for (size_t i = 0; i < results.size(); ++i)
        if (results[i] && (*results[i])->end == sim::Result::End::plugin_failed)
            return fail("compare",
                        {fmt::format("{}: {}", task->fabrics[i], (*results[i])->stuck_reason)},
                        kRunFailed);
    comparison = compare(*task, runs, *prices);
    if (comparison->runs.empty())
        return fail("compare", {"interrupted before the first run had ended"}, kRunFailed);
    return report_all(options, *comparison, *files);
}

}  // namespace

void add_compare(Command& program) {
    const auto options = std::make_shared<CompareOptions>();
    Command command =
        program.add_command("compare", "Run the same work on several fabrics, side by side");
    command.add_examples(kCompareExamples);
    CompareInput& input = options->input;
    command.option("SCENARIO", input.scenario, "The work to run; by default an AI cluster", {});
    command.option("--fabrics", input.fabrics, "Profiles, each a name or a file; or all",
                   {.shown = "A,B,...", .separator = ','});
    command.option("--seed", input.seed, "Seed of all random draws", {.shown = "N"});
    command.option("--set", input.set, "Change a setting on every fabric", {.shown = "KEY=VALUE"});
    command.option("--congestion", input.congestion,
                   "Compare congestion controls: names, or files such as ./mine.so",
                   {.shown = "C,D,...", .separator = ','});
    command.option("--seeds", input.seeds, "Repeat each run with N seeds and give the spread",
                   {.shown = "N [1]", .from = 1, .to = 1000});
    command.option("--sweep", input.sweeps, "Compare values of a setting; given twice: a grid",
                   {.shown = "KEY=A,B,..."});
    command.option("--cost", options->cost, "Read prices of parts; by default a sample",
                   {.shown = "FILE"});
    command.option("--json", options->json, "Write everything as JSON; - is standard output",
                   {.shown = "FILE"});
    command.option("--csv", options->csv, "Write one row per run and collective",
                   {.shown = "FILE"});
    command.option("--html", options->html, "Write a page with tables and charts",
                   {.shown = "FILE"});
    command.option("--threads", options->threads,
                   "Number of runs at a time; by default one per core",
                   {.shown = "N", .from = 1, .to = 1024});
    add_skipping(command, input.skips, input.checks_skipping);
    command.flag("-q,--quiet", options->quiet, "Print only the verdict");
    command.when_chosen([options] {
        options->input.trace = !options->html.empty();
        return compare(*options);
    });
}

}  // namespace tulle::cli
