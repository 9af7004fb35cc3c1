#include "report/traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/units.h"
#include "report/compare/rows.h"
#include "report/facts.h"
#include "report/table.h"
#include "workload/collectives/collective.h"
#include "workload/training/step.h"

namespace tulle::report {
namespace {

// The most rows in the text; the JSON has every collective.
constexpr size_t kMostKinds = 20;

// How long a rank computes on at least one lane. Its tasks are not in order of time.
base::Duration computed_by(const sim::Setup& setup, const sim::Result& result,
                           const std::vector<uint32_t>& tasks) {
    std::vector<std::pair<int64_t, int64_t>> stretches;
    for (const uint32_t number : tasks) {
        const int64_t begin = result.tasks[number].begin.ps;
        stretches.emplace_back(begin, begin + taken_by(setup, setup.program[number]).ps);
    }
    std::ranges::sort(stretches);
    int64_t sum = 0;
    int64_t end = 0;
    for (const auto& [from, to] : stretches) {
        sum += std::max<int64_t>(0, to - std::max(from, end));
        end = std::max(end, to);
    }
    return {sum};
}

void add_traced(const std::vector<CollectiveFacts>& collectives, uint32_t job, TraceFacts& facts) {
    std::map<std::tuple<workload::Collective, uint64_t, uint32_t>, TracedCollectives> found;
    for (const CollectiveFacts& phase : collectives) {
        if (phase.job != job || !is_collective(phase.collective) || !phase.finished) continue;
        TracedCollectives& kind = found[{phase.collective, phase.bytes, phase.ranks}];
        kind.fastest = kind.count == 0 ? phase.time : std::min(kind.fastest, phase.time);
        if (kind.count == 0 || phase.time > kind.slowest) {
            kind.slowest = phase.time;
            kind.bus_bandwidth = phase.bus_bandwidth;
        }
        ++kind.count;
        kind.total += phase.time;
        kind.collective = phase.collective;
        kind.bytes = phase.bytes;
        kind.ranks = phase.ranks;
    }
    for (const auto& [unused, kind] : found) facts.kinds.push_back(kind);
    std::ranges::stable_sort(facts.kinds, std::greater(), &TracedCollectives::total);
}

void add_trace_times(const sim::Setup& setup, const sim::Result& result, uint32_t job,
                     TraceFacts& facts) {
    const auto ideal =
        workload::ideal_ends(setup.program, job, static_cast<uint32_t>(setup.ranks.size()));
    facts.ideal = *std::ranges::max_element(ideal);
    int64_t computing = 0;
    for (const std::vector<uint32_t>& stream : facts.job->streams)
        computing +=
            computed_by(setup, result, stream).ps / static_cast<int64_t>(facts.job->streams.size());
    facts.computing = {computing};
    facts.exposed = facts.time - facts.computing;
}

std::string trace_text(const TraceFacts& facts) {
    const workload::TraceJob& job = *facts.job;
    std::string text = fmt::format(
        "\nTrace: {}, {}, {} ranks, {} nodes, {} collectives, {} messages\n"
        "  read as: {}\n",
        facts.name, job.format, job.ranks.size(), job.nodes, job.collectives, job.messages,
        job.units);
    for (const std::string& note : job.notes) text += fmt::format("  note: {}\n", note);
    if (!facts.finished) return text + "  it did not end\n";
    const auto share = [&](base::Duration part) {
        return percent_text(
            facts.time.ps <= 0 ? 0 : static_cast<uint64_t>(part.ps / (facts.time.ps / 1000 + 1)));
    };
    text += fmt::format("  took {}; on average a rank computes {} ({}) and waits {} ({})\n",
                        short_time(facts.time), short_time(facts.computing), share(facts.computing),
                        short_time(facts.exposed), share(facts.exposed));
    if (facts.kinds.empty()) return text;
    Table table;
    table.row({"collective", "size", "ranks", "count", "fastest", "slowest", "its busbw GB/s"});
    for (size_t i = 0; i < std::min(facts.kinds.size(), kMostKinds); ++i) {
        const TracedCollectives& kind = facts.kinds[i];
        table.row({std::string(workload::name_of(kind.collective)),
                   base::bytes_to_string(kind.bytes), std::to_string(kind.ranks),
                   std::to_string(kind.count), short_time(kind.fastest), short_time(kind.slowest),
                   gigabytes_text(kind.bus_bandwidth)});
    }
    text += table.text();
    if (facts.kinds.size() > kMostKinds)
        text +=
            fmt::format("  and {} more kinds that took less\n", facts.kinds.size() - kMostKinds);
    return text;
}

}  // namespace

std::vector<TraceFacts> trace_facts(const sim::Setup& setup, const sim::Result& result,
                                    const std::vector<CollectiveFacts>& collectives) {
    std::vector<TraceFacts> all;
    for (uint32_t number = 0; number < setup.program.jobs.size(); ++number) {
        const workload::Job& job = setup.program.jobs[number];
        if (!job.trace) continue;
        TraceFacts facts;
        facts.name = job.name;
        facts.job = job.trace.get();
        const JobEnd end = end_of_job(setup, result, collectives, number);
        facts.finished = end.finished;
        facts.time = end.time;
        if (facts.finished) add_trace_times(setup, result, number, facts);
        add_traced(collectives, number, facts);
        all.push_back(std::move(facts));
    }
    return all;
}

std::string traces_text(const std::vector<TraceFacts>& facts) {
    std::string text;
    for (const TraceFacts& one : facts) text += trace_text(one);
    return text;
}

}  // namespace tulle::report
