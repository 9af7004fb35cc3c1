// Plants causes and asks the verdict for them; README.md says how to repeat a seed.
#include <cstdio>
#include <map>

#include "seeds.h"
#include "trial.h"

namespace {

using tulle::causes::Trial;

constexpr unsigned kSecondsForOneSeed = 300;
constexpr uint64_t kRightPercent = 95;

struct Count {
    unsigned right = 0;
    unsigned drawn = 0;
};

unsigned long long number(uint64_t value) {
    return value;
}

void tell_miss(uint64_t seed, const Trial& trial) {
    std::printf(
        "causes: MISSED seed %llu\n  planted %s\n  said    %s\n%s\nWithout the cause:\n%s\n",
        number(seed), trial.planted.c_str(), trial.said.c_str(), trial.shares.c_str(),
        trial.shares_without.c_str());
}

void tell_counts(const std::map<size_t, Count>& counts) {
    const auto plants = tulle::causes::all_plants();
    for (const auto& [plant, count] : counts)
        std::printf("causes: %3u of %3u  %s\n", count.right, count.drawn, plants[plant].name);
}

}  // namespace

int main(int count, char** arguments) {
    const auto options = tulle::swarm::read_options(count, arguments);
    if (!options) {
        std::fputs("usage: causes_test [--seed=N [--trace] | --first=N --seeds=N]\n", stderr);
        return 2;
    }
    tulle::swarm::catch_death();
    std::map<size_t, Count> counts;
    uint64_t right = 0;
    uint64_t failures = 0;
    for (uint64_t seed = options->first; seed < options->first + options->count; ++seed) {
        tulle::swarm::write_death_note("causes", seed, kSecondsForOneSeed);
        const Trial trial = tulle::causes::try_seed(seed);
        ++counts[trial.plant].drawn;
        counts[trial.plant].right += trial.is_right ? 1 : 0;
        right += trial.is_right ? 1 : 0;
        if (!trial.failure.empty()) {
            ++failures;
            std::printf("causes: FAILED seed %llu: %s\n  %s\n", number(seed), trial.failure.c_str(),
                        trial.planted.c_str());
        }
        if (!trial.is_right || options->trace) tell_miss(seed, trial);
        std::fflush(stdout);
    }
    tell_counts(counts);
    std::printf("causes: %llu of %llu right, seeds from %llu\n", number(right),
                number(options->count), number(options->first));
    return failures == 0 && right * 100 >= options->count * kRightPercent ? 0 : 1;
}
