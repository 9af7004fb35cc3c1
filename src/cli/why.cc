#include "cli/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/result_files.h"
#include "cli/set_up.h"
#include "cli/sim/estimate.h"
#include "cli/sim/input.h"
#include "cli/sim/options.h"
#include "cli/sim/progress.h"
#include "drive/crew.h"
#include "drive/run.h"
#include "report/proof.h"
#include "report/serving_causes.h"

namespace tulle::cli {
namespace {

constexpr const char* kWhyExamples = R"(Examples:
  tulle show incast > incast.yaml           an example to begin with
  tulle why incast.yaml                     where the time went, and why
  tulle why incast.yaml --profile ib-ndr    the same work on another fabric
  tulle why incast.yaml --causes 5 --json why.json

The work runs again without each suspected cause: without the loss, the marks,
the other work, the slow cable. The time saved is what the cause had cost.
`man tulle-why` explains the shares and the causes.)";

// The run itself, and once more to follow its chain of waits. Each cause is one run more.
constexpr uint32_t kPasses = 2;

struct WhyOptions {
    SimInput input;
    uint32_t threads = 1;
    uint32_t causes = 3;
    std::string json;
};

base::Result<sim::Result> run_once(const sim::Setup& setup, const WhyOptions& options,
                                   bool explains, SetUp* set_up) {
    ProgressLine line(setup.stop);
    drive::Options how;
    how.threads = std::min(options.threads, drive::usable_cores());
    how.interrupt = &interrupt_flag();
    how.explains = explains;
    how.on_begin = [&] {
        if (set_up != nullptr) set_up->end();
    };
    how.on_progress = [&](const drive::Progress& progress) { line.show(progress); };
    return drive::run(setup, how);
}

// Runs the work again without each of the first causes.
std::vector<report::Trial> try_causes(const WhyOptions& options, const report::Facts& facts,
                                      const report::Verdict& verdict) {
    std::vector<report::Trial> trials;
    for (const report::Cause& cause : verdict.causes) {
        if (trials.size() == options.causes || is_interrupted()) break;
        report::Trial trial{cause, "", false, facts.result.account.end - base::Instant{}, {}};
        if (const auto remedy = report::without(facts, cause)) {
            const auto result = run_once(remedy->setup, options, false, nullptr);
            trial.without = remedy->without;
            const auto time = result ? report::time_without(*remedy, *result) : std::nullopt;
            trial.ended = time.has_value();
            if (time) trial.after = *time;
        }
        trials.push_back(std::move(trial));
    }
    return trials;
}

// The same for jobs that serve: each with its own suspects.
std::vector<report::ServingTrial> try_serving(const WhyOptions& options,
                                              const report::Facts& facts) {
    std::vector<report::ServingTrial> trials;
    for (const report::ServingFacts& serving : facts.servings) {
        uint32_t tried = 0;
        for (const report::ServingSuspect& suspect : report::serving_suspects(facts, serving)) {
            if (tried++ == options.causes || is_interrupted()) break;
            const auto result = run_once(suspect.setup, options, false, nullptr);
            if (result) trials.push_back(report::serving_trial(suspect, serving, *result));
        }
    }
    return trials;
}

int explain(const WhyOptions& options) {
    catch_interrupts();
    SetUp set_up("tulle why");
    set_up.say("reading the scenario");
    const auto task = read_task(options.input);
    if (!task) return fail("why", task.error(), kInputWrong);
    std::string json;
    auto files = ResultFiles::open({{options.json, [&] { return json; }}});
    if (!files) return fail("why", files.error(), kInputWrong);
    for (const std::string& note : task->notes) tell("tulle why: note: {}\n", note);
    const uint32_t threads = std::min(options.threads, drive::usable_cores());
    warn_of_cost("tulle why",
                 estimate({&task->setup, 1}, {threads, threads, kPasses + options.causes, false}));
    set_up.say("building the network");
    const auto result = run_once(task->setup, options, true, &set_up);
    if (!result) return fail("why", result.error(), kInputWrong);
    if (result->end == sim::Result::End::plugin_failed)
        return fail("why", {result->stuck_reason}, kRunFailed);
    const report::Facts facts(task->setup, *result);
    const report::Verdict verdict = report::judge(facts);
    const std::vector<report::Trial> trials = try_causes(options, facts, verdict);
    const std::vector<report::ServingTrial> waits = try_serving(options, facts);
    if (!options.json.empty()) {
        report::Json found = report::why_json(facts, verdict, trials);
        if (!waits.empty()) found["serving_trials"] = report::serving_trials_json(waits);
        json = report::json_text(found);
    }
    if (!files->takes_standard_output()) {
        Output standard = Output::standard();
        standard.write(report::why_text(facts, verdict, trials));
        standard.write(report::serving_trials_text(waits));
        if (const auto error = standard.finish()) return fail("why", *error, kRunFailed);
    }
    if (const auto error = files->write()) return fail("why", *error, kRunFailed);
    if (is_interrupted())
        return fail("why", {"interrupted; not all causes were tested"}, kRunFailed);
    return verdict.complete ? kDone : kRunFailed;
}

}  // namespace

void add_why(Command& program) {
    const auto options = std::make_shared<WhyOptions>();
    Command command = program.add_command("why", "Find what held a run up, by running without it");
    command.add_examples(kWhyExamples);
    add_sim_input(command, options->input);
    command.option("--causes", options->causes, "Number of causes to test",
                   {.shown = "N [3]", .to = 100});
    command.option("--threads", options->threads, "Number of threads; results do not depend on it",
                   {.shown = "N [1]", .from = 1, .to = 1024});
    command.option("--json", options->json, "Write everything as JSON; - is standard output",
                   {.shown = "FILE"});
    command.when_chosen([options] { return explain(*options); });
}

}  // namespace tulle::cli
