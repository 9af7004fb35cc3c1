#include "report/collectives.h"

#include <algorithm>

#include "base/int128.h"
#include "report/collective_limits.h"
#include "workload/bus_bandwidth.h"

namespace tulle::report {
namespace {

using base::Duration;
using base::uint128_t;
using workload::Collective;

uint64_t bytes_per_second(uint64_t bytes, Duration time) {
    if (time.ps <= 0) return 0;
    return static_cast<uint64_t>(uint128_t{bytes} * 1'000'000'000'000u /
                                 static_cast<uint64_t>(time.ps));
}

CollectiveFacts facts_of(const workload::Phase& phase, const sim::PhaseResult& found,
                         base::Instant end_of_run, Duration limit) {
    CollectiveFacts facts;
    facts.name = phase.name;
    facts.collective = phase.collective;
    facts.algorithm = phase.algorithm;
    facts.protocol = phase.protocol;
    facts.channels = phase.channels;
    facts.is_automatic = phase.is_automatic;
    facts.predicted = phase.predicted;
    facts.next_best = phase.next_best;
    facts.bytes = phase.bytes;
    facts.ranks = phase.ranks;
    facts.job = phase.job;
    facts.purpose = phase.purpose;
    facts.messages = found.messages;
    facts.finished = found.finished;
    facts.begin = found.begin;
    facts.time = std::max(Duration{}, (found.finished ? found.end : end_of_run) - found.begin);
    facts.limit = limit;
    if (facts.time.ps > 0 && found.finished)
        facts.limit_permille = std::min<uint64_t>(
            1000, static_cast<uint64_t>((uint128_t{static_cast<uint64_t>(limit.ps)} * 1000 +
                                         static_cast<uint64_t>(facts.time.ps) / 2) /
                                        static_cast<uint64_t>(facts.time.ps)));
    if (!found.finished || !has_bandwidth(phase.collective)) return facts;
    facts.algorithm_bandwidth = bytes_per_second(phase.bytes, facts.time);
    const workload::BusFactor factor = workload::bus_factor(phase.collective, phase.ranks);
    facts.bus_bandwidth = static_cast<uint64_t>(uint128_t{facts.algorithm_bandwidth} *
                                                factor.numerator / factor.denominator);
    return facts;
}

}  // namespace

std::vector<CollectiveFacts> collective_facts(const sim::Setup& setup, const sim::Result& result) {
    std::vector<CollectiveFacts> all;
    if (setup.program.phases.empty()) return all;
    const std::vector<Duration> limits = collective_limits(setup);
    for (size_t i = 0; i < setup.program.phases.size(); ++i) {
        const sim::PhaseResult found =
            i < result.phases.size() ? result.phases[i] : sim::PhaseResult{};
        all.push_back(facts_of(setup.program.phases[i], found, result.time, limits[i]));
    }
    return all;
}

JobEnd end_of_job(const sim::Setup& setup, const sim::Result& result,
                  const std::vector<CollectiveFacts>& collectives, uint32_t job) {
    const base::Instant start = setup.program.jobs[job].start;
    JobEnd found{result.tasks.size() == setup.program.size(), {}};
    for (const CollectiveFacts& phase : collectives) {
        if (phase.job != job) continue;
        found.finished &= phase.finished;
        found.time = std::max(found.time, phase.begin + phase.time - start);
    }
    return found;
}

base::Duration taken_by(const sim::Setup& setup, const workload::Task& task) {
    const sim::RankPlace& place = setup.ranks[task.rank];
    const uint32_t permille = task.is_launch ? place.reaction_permille : place.compute_permille;
    return task.duration * permille / 1000;
}

std::string way_text(const CollectiveFacts& facts) {
    if (facts.algorithm.empty()) return "-";
    return facts.protocol.empty() ? facts.algorithm : facts.algorithm + " " + facts.protocol;
}

bool has_bandwidth(Collective collective) {
    return collective != Collective::compute;
}

bool is_collective(Collective collective) {
    return has_bandwidth(collective) && collective != Collective::storage_read &&
           collective != Collective::storage_write;
}

}  // namespace tulle::report
