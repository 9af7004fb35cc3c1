#include "cli/sim.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/about.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/result_files.h"
#include "cli/scenario_input.h"
#include "cli/set_up.h"
#include "cli/sim/estimate.h"
#include "cli/sim/input.h"
#include "cli/sim/options.h"
#include "cli/sim/outputs.h"
#include "cli/sim/progress.h"
#include "cli/sim/record_files.h"
#include "drive/crew.h"
#include "drive/run.h"
#include "report/measured.h"
#include "report/text_report.h"

namespace tulle::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  tulle sim incast.yaml                       what happened, and the verdict
  tulle sim incast.yaml --profile ib-ndr      the same work on another fabric
  tulle sim incast.yaml --set fabric.pfc.xoff=100KB -q
  tulle sim --hpcc config.txt --fct fct.txt   the files of HPCC's simulator
  tulle sim --cm perm.cm --topology fat-tree:k=8 --profile roce-v2-400g
  tulle sim --chakra traces/gpt --topology rail:servers=4,rails=8 \
            --profile ib-ndr
  tulle sim incast.yaml --pcap out.pcapng --tap h0-switch0
  tulle sim incast.yaml --trace out.json      for Perfetto (ui.perfetto.dev)
  tulle sim incast.yaml --html run.html --link h0-switch0

`tulle list profiles` names the fabrics. The same input and seed give the same
results with any number of threads. `man tulle-sim` explains the report, the
files and every key of the JSON.)";

struct Options {
    SimInput input;
    uint32_t threads = 1;
    std::string json;
    std::string flows_csv;
    std::string links_csv;
    std::string fct;
    std::string pcap;
    std::string timeline;
    std::string html;
    std::string measured;
    bool quiet = false;
    bool no_verdict = false;
};

int fail(const base::Error& error, int exit_code) {
    fmt::print(stderr, "tulle sim: {}\n", error.message);
    return exit_code;
}

base::Result<sim::Result> run_with_progress(const sim::Setup& setup, const Options& options,
                                            SetUp& set_up, RecordFiles& records) {
    ProgressLine line(setup.stop);
    drive::Options how;
    how.on_begin = [&] { set_up.end(); };
    how.threads = std::min(options.threads, drive::usable_cores());
    how.interrupt = &interrupt_flag();
    how.explains = !options.no_verdict;
    how.on_records = [&](const sim::Records& some) { records.add(some); };
    how.on_progress = [&](const drive::Progress& progress) { line.show(progress); };
    return drive::run(setup, how);
}

std::optional<base::Error> print(const Options& options, const report::Facts& facts,
                                 const report::Verdict& verdict, const SimPage& page) {
    Output standard = Output::standard();
    if (page.measured)
        standard.write(report::measured_text(facts, *page.measured).substr(1) + "\n");
    if (!options.quiet)
        standard.write(report::text_report(facts, verdict));
    else if (!options.no_verdict)
        standard.write(report::verdict_text(verdict));
    return standard.finish();
}

// What files are written of, once there is something to write.
struct Finished {
    std::unique_ptr<const report::Facts> facts;
    report::Verdict verdict;
};

int report_run(const Options& options, const sim::Setup& setup, sim::Result& result,
               RecordFiles& records, Finished& finished, ResultFiles& outputs,
               const SimPage& page) {
    if (result.end == sim::Result::End::plugin_failed)
        return fail({result.stuck_reason}, kRunFailed);
    result.trace = records.take_trace();
    finished.facts = std::make_unique<const report::Facts>(setup, result);
    records.finish(*finished.facts);
    finished.verdict = report::judge(*finished.facts);
    const report::Facts& facts = *finished.facts;
    const report::Verdict& verdict = finished.verdict;
    if (!outputs.takes_standard_output())
        if (const auto error = print(options, facts, verdict, page))
            return fail(*error, kRunFailed);
    if (const auto error = outputs.write()) return fail(*error, kRunFailed);
    if (result.end == sim::Result::End::interrupted) return fail({verdict.sentence}, kRunFailed);
    return verdict.complete ? kDone : kRunFailed;
}

std::optional<base::Error> read_measured(const Options& options, SimPage& page) {
    if (options.measured.empty()) return std::nullopt;
    const auto text = read_text(options.measured);
    if (!text) return text.error();
    auto measured = scenario::read_measured(*text, options.measured);
    if (!measured) return measured.error();
    page.measured = std::move(*measured);
    return std::nullopt;
}

int simulate(const Options& options) {
    catch_interrupts();
    SetUp set_up("tulle sim");
    set_up.say("reading the scenario");
    if (options.pcap.empty() && !options.input.taps.empty())
        return fail({"--tap says what is captured, but not where it goes: add --pcap FILE"},
                    kInputWrong);
    const auto task = read_task(options.input);
    if (!task) return fail(task.error(), kInputWrong);
    const sim::Setup& setup = task->setup;
    if (options.html.empty() && !options.input.links.empty())
        return fail({"--link says what a page shows, but there is none: add --html FILE"},
                    kInputWrong);
    if (!options.pcap.empty() && setup.taps.empty())
        return fail({"--pcap needs a cable to listen at: add --tap A-B"}, kInputWrong);
    Finished finished;
    SimPage page{task->links, about(options.input.source(), task->text), {}};
    if (const auto error = read_measured(options, page)) return fail(*error, kInputWrong);
    const auto file = [&](SimFile kind, const std::string& path) -> ResultFiles::Wanted {
        return {path, [&finished, &page, kind] {
                    return sim_file(kind, *finished.facts, finished.verdict, page);
                }};
    };
    auto outputs = ResultFiles::open(
        {file(SimFile::json, options.json), file(SimFile::flows_csv, options.flows_csv),
         file(SimFile::links_csv, options.links_csv), file(SimFile::fct, options.fct),
         ResultFiles::Wanted{options.pcap, {}}, ResultFiles::Wanted{options.timeline, {}},
         file(SimFile::page, options.html)});
    if (!outputs) return fail(outputs.error(), kInputWrong);
    if (!options.quiet)
        for (const std::string& note : task->notes)
            fmt::print(stderr, "tulle sim: note: {}\n", note);
    const uint32_t passes = options.no_verdict ? 1 : 2;
    const uint32_t threads = std::min(options.threads, drive::usable_cores());
    const bool keeps_trace = !options.html.empty();
    if (!setup.skips)
        warn_of_cost("tulle sim", estimate({&setup, 1}, {threads, threads, passes, keeps_trace}));
    RecordFiles records(setup, outputs->stream(options.pcap), outputs->stream(options.timeline),
                        keeps_trace);
    set_up.say("building the network");
    auto result = run_with_progress(setup, options, set_up, records);
    if (!result)
        return fail({fmt::format("{}: {}", options.input.source(), result.error().message)},
                    kInputWrong);
    return report_run(options, setup, *result, records, finished, *outputs, page);
}

void add_files(Command& command, Options& options) {
    const auto file = [&](const char* name, std::string& path, const char* what) {
        command.option(name, path, what, {.shown = "FILE"});
    };
    file("--json", options.json, "Write everything as JSON; - is standard output, without text");
    file("--csv", options.flows_csv, "Write a row a flow");
    file("--links-csv", options.links_csv, "Write a row a link");
    file("--fct", options.fct, "Write flow completion times as HPCC's simulator does");
    file("--pcap", options.pcap, "Write the packets of each --tap");
    file("--trace", options.timeline, "Write a timeline for Perfetto or Chrome");
    file("--measured", options.measured, "Read nccl-tests' output, to stand beside the run's");
    file("--html", options.html, "Write one page: topology with loads, links over time");
}

}  // namespace

void add_sim(Command& program) {
    const auto options = std::make_shared<Options>();
    Command command = program.add_command("sim", "Simulate a fabric packet by packet");
    command.add_examples(kExamples);
    add_sim_input(command, options->input);
    command.option("--tap", options->input.taps, "A cable that --pcap listens at",
                   {.shown = "A-B"});
    command.option("--link", options->input.links, "A cable that --html shows over time",
                   {.shown = "A-B"});
    add_files(command, *options);
    command.option("--threads", options->threads, "How many; the results are the same",
                   {.shown = "N [1]", .from = 1, .to = 1024});
    command.flag("--skip", options->input.skips,
                 "Skip what repeats once its pace has settled: rings, chains, trees");
    command.flag("--check", options->input.checks_skipping,
                 "With --skip: simulate a part of that in full and compare");
    command.flag("-q,--quiet", options->quiet, "The verdict alone");
    command.flag("--no-verdict", options->no_verdict,
                 "Run once, and do not find out where the time went");
    command.when_chosen([options] {
        options->input.trace = !options->timeline.empty() || !options->html.empty();
        return simulate(*options);
    });
}

}  // namespace tulle::cli
