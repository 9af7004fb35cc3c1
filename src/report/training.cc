#include "report/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/int128.h"
#include "base/units.h"
#include "report/compare/rows.h"
#include "report/facts.h"
#include "report/table.h"
#include "report/training_routine.h"
#include "workload/bus_bandwidth.h"
#include "workload/collectives/collective.h"

namespace tulle::report {
namespace {

using base::Duration;
using base::Instant;
using base::uint128_t;
using workload::Purpose;
using workload::Task;

constexpr Purpose kExposed[] = {Purpose::tensor,   Purpose::context,    Purpose::expert,
                                Purpose::pipeline, Purpose::parameters, Purpose::gradients};

uint64_t per_second(uint128_t amount, Duration time) {
    if (time.ps <= 0) return 0;
    return static_cast<uint64_t>(amount * 1'000'000'000'000u / static_cast<uint64_t>(time.ps));
}

// What a task of a stream waited for, looking through meeting points.
Purpose waited_for(const sim::Setup& setup, const sim::Result& result, uint32_t task) {
    uint32_t need = result.tasks[task].last_need;
    while (need != sim::TaskTime::kNothing) {
        const Task& before = setup.program[need];
        const bool is_meeting = before.kind == Task::Kind::compute && before.duration.ps == 0;
        if (!is_meeting || result.tasks[need].last_need == sim::TaskTime::kNothing)
            return setup.program.phases[before.phase].purpose;
        need = result.tasks[need].last_need;
    }
    return Purpose::pipeline;
}

// Sums over all ranks of a job.
struct Sums {
    int64_t computing = 0;
    std::array<int64_t, workload::kPurposes> others{};
    int64_t& of(Purpose purpose) { return others[static_cast<size_t>(purpose)]; }
};

Sums sums_of(const sim::Setup& setup, const sim::Result& result, const workload::TrainingJob& job,
             Instant end) {
    Sums sums;
    for (size_t place = 0; place < job.streams.size(); ++place) {
        const int64_t ranks = job.stands_for[place];
        if (ranks == 0) continue;
        Instant last{};
        for (const Stretch& one : stretches_of(setup, result, job, place)) {
            const bool computes =
                one.purpose == Purpose::compute || one.purpose == Purpose::optimizer;
            const int64_t time = ranks * (one.end - one.begin).ps;
            if (computes && !one.is_waiting)
                sums.computing += time;
            else
                sums.of(computes ? Purpose::pipeline : one.purpose) += time;
            last = one.end;
        }
        sums.of(Purpose::pipeline) += ranks * (end - last).ps;
    }
    return sums;
}

uint64_t bus_bandwidth(workload::Collective collective, uint32_t ranks, uint64_t bytes,
                       Duration time) {
    const workload::BusFactor factor = workload::bus_factor(collective, ranks);
    return per_second(uint128_t{bytes} * factor.numerator / factor.denominator, time);
}

// Collectives that were simulated in place.
void add_simulated(const std::vector<CollectiveFacts>& collectives, uint32_t job,
                   TrainingFacts& facts) {
    std::map<std::pair<Purpose, workload::Collective>, SlowestCollective> found;
    for (const CollectiveFacts& phase : collectives) {
        if (phase.job != job || !is_collective(phase.collective) || !phase.finished) continue;
        if (phase.bytes == 0 || phase.ranks < 2) continue;
        SlowestCollective& slowest = found[{phase.purpose, phase.collective}];
        ++slowest.count;
        if (slowest.ranks != 0 && slowest.bus_bandwidth <= phase.bus_bandwidth) continue;
        slowest.purpose = phase.purpose;
        slowest.collective = phase.collective;
        slowest.bytes = phase.bytes;
        slowest.ranks = phase.ranks;
        slowest.time = phase.time;
        slowest.bus_bandwidth = phase.bus_bandwidth;
        slowest.way = way_text(phase);
        slowest.leaves_server = facts.job->leaves_server[static_cast<size_t>(phase.purpose)];
    }
    for (const auto& [unused, one] : found) facts.slowest.push_back(one);
}

void add_repeated(TrainingFacts& facts) {
    for (const workload::RepeatedCollective& one : facts.job->repeated) {
        SlowestCollective slowest;
        slowest.purpose = one.purpose;
        slowest.collective = one.collective;
        slowest.bytes = one.bytes;
        slowest.ranks = one.ranks;
        slowest.time = one.time;
        slowest.bus_bandwidth = bus_bandwidth(one.collective, one.ranks, one.bytes, one.time);
        slowest.way = one.way;
        slowest.count = one.times;
        slowest.is_repeated = true;
        slowest.leaves_server = one.leaves_server;
        facts.slowest.push_back(slowest);
    }
}

void add_times(const sim::Setup& setup, const sim::Result& result, uint32_t number,
               TrainingFacts& facts) {
    const workload::TrainingJob& job = *facts.job;
    const Instant begin = setup.program.jobs[number].start;
    const auto ranks = static_cast<int64_t>(job.ranks.size());
    const auto ideal =
        workload::ideal_ends(setup.program, number, static_cast<uint32_t>(setup.ranks.size()));
    facts.ideal = *std::ranges::max_element(ideal);
    Sums sums = sums_of(setup, result, job, begin + facts.step);
    const int64_t least = std::max<int64_t>(0, facts.ideal.ps * ranks - sums.computing);
    const int64_t bubble = std::min(least, sums.of(Purpose::pipeline));
    sums.of(Purpose::pipeline) -= bubble;
    facts.computing = {sums.computing / ranks};
    facts.bubble = {bubble / ranks};
    for (const Purpose purpose : kExposed)
        facts.exposed[static_cast<size_t>(purpose)] = {sums.of(purpose) / ranks};
    facts.tokens_per_second = per_second(job.tokens, facts.step);
    const uint128_t peak = uint128_t{job.options.engine.gpu.bf16_gflops} * job.ranks.size();
    const uint128_t could = peak * static_cast<uint64_t>(facts.step.ps) / 1000;  // operations
    facts.mfu_permille =
        could == 0 ? 0 : static_cast<uint64_t>((job.operations * 1000 + could / 2) / could);
}

std::string place_text(bool leaves_server) {
    return leaves_server ? "between servers" : "inside servers";
}

std::string text_of(const TrainingFacts& facts) {
    const workload::StepOptions& options = facts.job->options;
    std::string text =
        fmt::format("\nTraining: {} on {} {}, {}\n", options.model.name, facts.job->ranks.size(),
                    options.engine.gpu.name, layout_text(options));
    if (!facts.finished) return text + "  the step did not end\n";
    text += fmt::format("  a step of {} tokens: {}, MFU {}, {} tokens/s\n", facts.job->tokens,
                        short_time(facts.step), percent_text(facts.mfu_permille),
                        facts.tokens_per_second);
    Table table;
    table.row({"a rank, on average", "time", "share", "network"});
    const auto row = [&](const std::string& what, Duration time, const std::string& network) {
        table.row({what, short_time(time), percent_text(facts.permille(time)), network});
    };
    row("computing", facts.computing, "-");
    row("bubble of the pipeline", facts.bubble, "-");
    for (const Purpose purpose : kExposed) {
        const auto i = static_cast<size_t>(purpose);
        // Ignores differences of a few picoseconds between the ends of ranks.
        if (facts.permille(facts.exposed[i]) > 0)
            row("exposed: " + purpose_text(purpose), facts.exposed[i],
                place_text(facts.job->leaves_server[i]));
    }
    text += table.text() + routine_text(facts);
    if (facts.slowest.empty()) return text;
    Table slowest;
    slowest.row({"slowest of its kind", "size", "ranks", "time", "busbw GB/s", "by", "of"});
    for (const SlowestCollective& one : facts.slowest)
        slowest.row({fmt::format("{}: {}", workload::name_of(one.purpose),
                                 workload::name_of(one.collective)),
                     base::bytes_to_string(one.bytes), std::to_string(one.ranks),
                     short_time(one.time), gigabytes_text(one.bus_bandwidth), one.way,
                     one.is_repeated ? fmt::format("simulated once, then {} times", one.count)
                                     : fmt::format("{}", one.count)});
    return text + slowest.text();
}

}  // namespace

uint64_t TrainingFacts::permille(Duration part) const {
    if (step.ps <= 0) return 0;
    return static_cast<uint64_t>(
        (uint128_t{static_cast<uint64_t>(std::max<int64_t>(0, part.ps))} * 1000 +
         static_cast<uint64_t>(step.ps) / 2) /
        static_cast<uint64_t>(step.ps));
}

std::vector<Stretch> stretches_of(const sim::Setup& setup, const sim::Result& result,
                                  const workload::TrainingJob& job, size_t place) {
    std::vector<Stretch> found;
    Instant now{};
    if (!job.streams[place].empty()) {
        const Task& first = setup.program[job.streams[place].front()];
        now = setup.program.jobs[setup.program.phases[first.phase].job].start;
    }
    for (const uint32_t number : job.streams[place]) {
        const Task& task = setup.program[number];
        const Instant begin = result.tasks[number].begin;
        if (begin > now) found.push_back({waited_for(setup, result, number), true, now, begin});
        now = begin + taken_by(setup, task);
        found.push_back({setup.program.phases[task.phase].purpose, false, begin, now});
    }
    return found;
}

std::vector<TrainingFacts> training_facts(const sim::Setup& setup, const sim::Result& result,
                                          const std::vector<CollectiveFacts>& collectives) {
    std::vector<TrainingFacts> all;
    for (uint32_t number = 0; number < setup.program.jobs.size(); ++number) {
        const workload::Job& job = setup.program.jobs[number];
        if (!job.training) continue;
        TrainingFacts facts;
        facts.name = job.name;
        facts.job = job.training.get();
        const JobEnd end = end_of_job(setup, result, collectives, number);
        facts.finished = end.finished;
        facts.step = end.time;
        if (facts.finished) {
            add_times(setup, result, number, facts);
            add_repeated(facts);
            add_simulated(collectives, number, facts);
            add_routine(collectives, number, job.start + facts.step, facts);
        }
        all.push_back(std::move(facts));
    }
    return all;
}

std::string purpose_text(Purpose purpose) {
    switch (purpose) {
        case Purpose::general:
        case Purpose::compute: return "computing";
        case Purpose::tensor: return "tensor";
        case Purpose::context: return "context";
        case Purpose::expert: return "experts";
        case Purpose::pipeline: return "messages between stages";
        case Purpose::parameters: return "gathered parameters";
        case Purpose::gradients: return "sum of gradients";
        case Purpose::optimizer: return "optimizer";
        case Purpose::serving: return "serving";
        case Purpose::traced: return "collectives of a trace";
    }
    return "";
}

std::string layout_text(const workload::StepOptions& options) {
    const workload::Layout& layout = options.layout;
    std::string text;
    const auto add = [&](std::string_view name, uint32_t degree) {
        if (degree > 1) text += fmt::format("{} {}, ", name, degree);
    };
    add("tp", layout.tensor);
    add("pp", layout.pipeline);
    add("cp", layout.context);
    add("dp", layout.data);
    add("ep", layout.expert);
    add("virtual", layout.chunks);
    text += fmt::format("zero {}, {}", layout.zero, workload::name_of(options.schedule));
    return text + fmt::format(", {} micro-batches of {} x {}", layout.micro_batches,
                              layout.micro_batch, layout.sequence);
}

std::string training_text(const std::vector<TrainingFacts>& facts) {
    std::string text;
    for (const TrainingFacts& one : facts) text += text_of(one);
    return text;
}

}  // namespace tulle::report
