// Random fabrics, load and faults; README.md says how to repeat a seed.
#include <algorithm>
#include <array>
#include <cstdio>

#include "run.h"
#include "seeds.h"

namespace {

using tulle::swarm::Result;
using tulle::swarm::Share;
using tulle::swarm::Tally;

constexpr unsigned kSecondsForOneSeed = 30;

Result run(uint64_t seed, bool trace = false) {
    tulle::swarm::write_death_note("swarm", seed, kSecondsForOneSeed);
    return tulle::swarm::run_seed(seed, trace ? stdout : nullptr);
}

bool check(uint64_t seed, const Result& result) {
    const auto number = static_cast<unsigned long long>(seed);
    if (!result.failure.empty()) {
        std::printf("swarm: FAILED seed %llu: %s\n", number, result.failure.c_str());
        std::printf("swarm: repeat it with swarm_test --seed=%llu\n", number);
        return false;
    }
    return true;
}

// The same seed again is the same run.
bool check_repeats(uint64_t seed, const Result& result) {
    if (run(seed).hash == result.hash) return true;
    std::printf("swarm: FAILED seed %llu: two runs of it differ\n",
                static_cast<unsigned long long>(seed));
    return false;
}

unsigned long long number(uint64_t value) {
    return value;
}

double percent_of(const Share& share) {
    return share.operations == 0 ? 100.0
                                 : 100.0 * static_cast<double>(share.successes) /
                                       static_cast<double>(share.operations);
}

void print(const Tally& tally) {
    std::printf(
        "swarm: %llu packets, %llu through bytes, %llu found damaged, %llu trimmed, %llu too "
        "early; "
        "%llu messages received, %llu from groups\n",
        number(tally.packets), number(tally.through_bytes), number(tally.damaged),
        number(tally.trimmed), number(tally.too_early), number(tally.received),
        number(tally.received_from_groups));
    std::printf(
        "swarm: %llu RESYNCs, %llu receives aborted, %llu refused, %llu queue pairs made again, "
        "%llu with "
        "their old number, %llu paths migrated, %llu not with their peer's, %llu notifications "
        "heeded, %llu limits told, %llu works too late for "
        "their memory\n",
        number(tally.resyncs), number(tally.aborted), number(tally.refused),
        number(tally.made_again), number(tally.numbers_reused), number(tally.migrated),
        number(tally.not_migrated), number(tally.notified), number(tally.limits),
        number(tally.too_late));
    std::printf(
        "swarm: %.2f %% of %llu RC operations succeeded, %.2f %% of %llu of XRC, %.2f %% of "
        "%llu of RD\n",
        percent_of(tally.rc), number(tally.rc.operations), percent_of(tally.xrc),
        number(tally.xrc.operations), percent_of(tally.rd), number(tally.rd.operations));
}

bool check_share(const Tally& tally) {
    return percent_of(tally.rc) >= 95 && percent_of(tally.xrc) >= 90 && percent_of(tally.rd) >= 70;
}

// Everything that the model watches has happened.
bool check_all_happened(const Tally& tally) {
    return std::ranges::all_of(
        std::array{tally.damaged, tally.received_from_groups, tally.resyncs, tally.aborted,
                   tally.refused, tally.numbers_reused, tally.migrated, tally.not_migrated,
                   tally.notified, tally.limits, tally.too_late, tally.trimmed, tally.too_early},
        [](uint64_t count) { return count != 0; });
}

}  // namespace

int main(int count, char** arguments) {
    const auto options = tulle::swarm::read_options(count, arguments);
    if (!options) {
        std::fputs("usage: swarm_test [--seed=N [--trace] | --first=N --seeds=N [--keep-going]]\n",
                   stderr);
        return 2;
    }
    tulle::swarm::catch_death();
    Tally tally;
    uint64_t hash = 0;
    uint64_t failures = 0;
    for (uint64_t seed = options->first; seed < options->first + options->count; ++seed) {
        const Result result = run(seed, options->trace);
        const bool holds = check(seed, result);
        failures += holds ? 0 : 1;
        if (!holds && !options->keep_going) return 1;
        if (!holds) continue;
        if ((options->count == 1 || seed % 16 == 0) && !check_repeats(seed, result)) return 1;
        tally += result.tally;
        hash = tulle::base::Hash().add(hash).add(result.hash).value();
    }
    if (failures != 0) return 1;
    std::printf("swarm: %llu seeds from %llu hold, hash %016llx\n",
                static_cast<unsigned long long>(options->count),
                static_cast<unsigned long long>(options->first),
                static_cast<unsigned long long>(hash));
    print(tally);
    // Few seeds need not show everything.
    const bool enough = (check_share(tally) || options->count < 100) &&
                        (check_all_happened(tally) || options->count < 1000);
    if (!enough) std::printf("swarm: FAILED: too little succeeds for the swarm to test anything\n");
    return enough ? 0 : 1;
}
