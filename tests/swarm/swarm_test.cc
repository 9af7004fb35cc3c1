// Random fabrics, load and faults; README.md says how to repeat a seed.
#include <cstdio>

#include "run.h"
#include "seeds.h"

namespace {

using tulle::swarm::Result;
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

bool check_share(const Tally& tally) {
    const double share = tally.rc_operations == 0 ? 1.0
                                                  : static_cast<double>(tally.rc_successes) /
                                                        static_cast<double>(tally.rc_operations);
    std::printf(
        "swarm: %llu packets, %llu through bytes, %llu found damaged; %llu messages "
        "received; %.2f %% of %llu RC operations succeeded\n",
        static_cast<unsigned long long>(tally.packets),
        static_cast<unsigned long long>(tally.through_bytes),
        static_cast<unsigned long long>(tally.damaged),
        static_cast<unsigned long long>(tally.received), 100 * share,
        static_cast<unsigned long long>(tally.rc_operations));
    return share >= 0.95;
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
    const bool enough = check_share(tally) || options->count < 100;
    if (!enough) std::printf("swarm: FAILED: too little succeeds for the swarm to test anything\n");
    return enough ? 0 : 1;
}
