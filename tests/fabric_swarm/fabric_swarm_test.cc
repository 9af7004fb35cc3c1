// Random fabrics, settings, work and faults; README.md says how to repeat a seed.
#include <cstdio>

#include "base/hash.h"
#include "run.h"
#include "seeds.h"

namespace {

using tulle::fabric_swarm::Outcome;
using tulle::fabric_swarm::Tally;

constexpr unsigned kSecondsForOneSeed = 300;

void tell(const Tally& tally) {
    const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
    std::printf(
        "fabric_swarm: %llu hops; %llu of %llu flows finished; %llu runs stopped, %llu stuck, %llu "
        "with a circle, %llu refused\n",
        number(tally.hops), number(tally.finished), number(tally.flows), number(tally.stopped),
        number(tally.stuck), number(tally.deadlocks), number(tally.refused));
    std::printf(
        "fabric_swarm: %llu packets dropped, %llu trimmed, %llu marked; %llu pause frames, %llu "
        "credit packets, %llu watchdogs\n",
        number(tally.dropped), number(tally.trimmed), number(tally.marked), number(tally.pauses),
        number(tally.credits), number(tally.watchdogs));
    std::printf(
        "fabric_swarm: %llu programs, %llu of them with a network inside servers; %llu of %llu "
        "phases finished, with %llu messages; %llu packets added up\n",
        number(tally.programs), number(tally.inside), number(tally.phases_finished),
        number(tally.phases), number(tally.messages), number(tally.reduced));
}

}  // namespace

int main(int count, char** arguments) {
    const auto options = tulle::swarm::read_options(count, arguments);
    if (!options) {
        std::fputs(
            "usage: fabric_swarm_test [--seed=N [--trace] | --first=N --seeds=N [--keep-going]]\n",
            stderr);
        return 2;
    }
    tulle::swarm::catch_death();
    Tally tally;
    uint64_t hash = 0;
    uint64_t failures = 0;
    for (uint64_t seed = options->first; seed < options->first + options->count; ++seed) {
        tulle::swarm::write_death_note("fabric_swarm", seed, kSecondsForOneSeed);
        const Outcome outcome = tulle::fabric_swarm::run_seed(seed, options->trace);
        tally += outcome.tally;
        hash = tulle::base::Hash().add(hash).add(outcome.hash).value();
        if (outcome.failure.empty()) continue;
        const auto number = static_cast<unsigned long long>(seed);
        std::printf("fabric_swarm: FAILED seed %llu: %s\n", number, outcome.failure.c_str());
        std::printf("fabric_swarm: repeat it with fabric_swarm_test --seed=%llu\n", number);
        std::fflush(stdout);
        if (!options->keep_going) return 1;
        ++failures;
    }
    tell(tally);
    if (failures != 0) return 1;
    std::printf("fabric_swarm: %llu seeds from %llu hold, hash %016llx\n",
                static_cast<unsigned long long>(options->count),
                static_cast<unsigned long long>(options->first),
                static_cast<unsigned long long>(hash));
    const bool enough = (tally.finished * 100 >= tally.flows * 60 &&
                         tally.phases_finished * 100 >= tally.phases * 60) ||
                        options->count < 100;
    if (!enough) std::puts("fabric_swarm: FAILED: too little finishes to test anything");
    return enough ? 0 : 1;
}
