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

constexpr const char* kSimExamples = R"(Examples:
  tulle show incast > incast.yaml             an example to begin with
  tulle sim incast.yaml                       what happened, and the verdict
  tulle sim incast.yaml --profile ib-ndr      the same work on another fabric
  tulle sim incast.yaml --set fabric.switch.buffer=4MiB -q
  tulle sim --hpcc config.txt --fct fct.txt   the files of HPCC's simulator
  tulle sim --cm perm.cm --topology fat-tree:k=8 --profile roce-v2-400g
  tulle sim --chakra traces/gpt --topology rail:servers=4,rails=8 \
            --profile ib-ndr
  tulle sim incast.yaml --pcap out.pcapng --tap h0-switch0
  tulle sim incast.yaml --trace out.json      a timeline for ui.perfetto.dev
  tulle sim incast.yaml --html run.html --link h0-switch0

`tulle list profiles` lists the fabrics. The same input and seed give the same
results with any number of threads. `man tulle-sim` explains the report, the
files and every key of the JSON.)";

struct SimOptions {
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

base::Result<sim::Result> run_with_progress(const sim::Setup& setup, const SimOptions& options,
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

std::optional<base::Error> print_result(const SimOptions& options, const report::Facts& facts,
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

// What the output files are made from.
struct Finished {
    std::unique_ptr<const report::Facts> facts;
    report::Verdict verdict;
};

int report_run(const SimOptions& options, const sim::Setup& setup, sim::Result& result,
               RecordFiles& records, Finished& finished, ResultFiles& outputs,
               const SimPage& page) {
    if (result.end == sim::Result::End::plugin_failed)
        return fail("sim", {result.stuck_reason}, kRunFailed);
    result.trace = records.take_trace();
    finished.facts = std::make_unique<const report::Facts>(setup, result);
    records.finish(*finished.facts);
    finished.verdict = report::judge(*finished.facts);
    const report::Facts& facts = *finished.facts;
    const report::Verdict& verdict = finished.verdict;
    if (!outputs.takes_standard_output())
        if (const auto error = print_result(options, facts, verdict, page))
            return fail("sim", *error, kRunFailed);
    if (const auto error = outputs.write()) return fail("sim", *error, kRunFailed);
    if (result.end == sim::Result::End::interrupted)
        return fail("sim", {verdict.sentence}, kRunFailed);
    return verdict.complete ? kDone : kRunFailed;
}

std::optional<base::Error> read_measured(const SimOptions& options, SimPage& page) {
    if (options.measured.empty()) return std::nullopt;
    const auto text = read_text(options.measured);
    if (!text) return text.error();
    auto measured = scenario::read_measured(*text, options.measured);
    if (!measured) return measured.error();
    page.measured = std::move(*measured);
    return std::nullopt;
}

int simulate(const SimOptions& options) {
    catch_interrupts();
    SetUp set_up("tulle sim");
    set_up.say("reading the scenario");
    if (options.pcap.empty() && !options.input.taps.empty())
        return fail("sim", {"--tap needs a file for its packets: add --pcap FILE"}, kInputWrong);
    const auto task = read_task(options.input);
    if (!task) return fail("sim", task.error(), kInputWrong);
    const sim::Setup& setup = task->setup;
    if (options.html.empty() && !options.input.links.empty())
        return fail("sim", {"--link needs a page to show the cable on: add --html FILE"},
                    kInputWrong);
    if (!options.pcap.empty() && setup.taps.empty())
        return fail("sim", {"--pcap needs a cable to capture at: add --tap A-B"}, kInputWrong);
    Finished finished;
    SimPage page{task->links, about(options.input.source(), task->text), {}};
    if (const auto error = read_measured(options, page)) return fail("sim", *error, kInputWrong);
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
    if (!outputs) return fail("sim", outputs.error(), kInputWrong);
    if (!options.quiet)
        for (const std::string& note : task->notes) tell("tulle sim: note: {}\n", note);
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
        return fail("sim", {fmt::format("{}: {}", options.input.source(), result.error().message)},
                    kInputWrong);
    return report_run(options, setup, *result, records, finished, *outputs, page);
}

void add_files(Command& command, SimOptions& options) {
    const auto file = [&](const char* name, std::string& path, const char* what) {
        command.option(name, path, what, {.shown = "FILE"});
    };
    file("--json", options.json, "Write everything as JSON; - is standard output");
    file("--csv", options.flows_csv, "Write one row per flow");
    file("--links-csv", options.links_csv, "Write one row per link");
    file("--fct", options.fct, "Write flow completion times as HPCC's simulator does");
    file("--pcap", options.pcap, "Write the packets that pass each --tap");
    file("--trace", options.timeline, "Write a timeline for Perfetto or Chrome");
    file("--measured", options.measured, "Show this output of nccl-tests next to the results");
    file("--html", options.html, "Write a page: topology with loads, links over time");
}

}  // namespace

void add_sim(Command& program) {
    const auto options = std::make_shared<SimOptions>();
    Command command = program.add_command("sim", "Simulate a fabric packet by packet");
    command.add_examples(kSimExamples);
    add_sim_input(command, options->input);
    command.option("--tap", options->input.taps, "Capture at this cable, for --pcap",
                   {.shown = "A-B"});
    command.option("--link", options->input.links, "Show this cable over time, for --html",
                   {.shown = "A-B"});
    add_files(command, *options);
    command.option("--threads", options->threads, "Number of threads; results do not depend on it",
                   {.shown = "N [1]", .from = 1, .to = 1024});
    add_skipping(command, options->input.skips, options->input.checks_skipping);
    command.option("--join", options->input.most_packets,
                   "With --skip: join packets of trees and chains that send more than this many",
                   {.shown = "PACKETS [500000000]"});
    command.need("--join", "--skip");
    command.flag("--no-reuse", options->input.no_reuse,
                 "For training: simulate also what repeats exactly");
    command.flag("-q,--quiet", options->quiet, "Print only the verdict");
    command.flag("--no-verdict", options->no_verdict, "Run once; do not say where the time went");
    command.when_chosen([options] {
        options->input.trace = !options->timeline.empty() || !options->html.empty();
        return simulate(*options);
    });
}

}  // namespace tulle::cli
