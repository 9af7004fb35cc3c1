// Random fabrics, load and faults; README.md says how to repeat a seed.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "run.h"

namespace {

using tulle::swarm::Result;
using tulle::swarm::Share;
using tulle::swarm::Tally;

struct Options {
    uint64_t first = 1;
    uint64_t count = 300;
    bool trace = false;
    bool keep_going = false;
};

std::optional<uint64_t> number_after(std::string_view argument, std::string_view name) {
    if (!argument.starts_with(name)) return std::nullopt;
    argument.remove_prefix(name.size());
    uint64_t number = 0;
    const auto end = argument.data() + argument.size();
    const auto [rest, error] = std::from_chars(argument.data(), end, number);
    if (error != std::errc() || rest != end) return std::nullopt;
    return number;
}

std::optional<Options> read_options(int count, char** arguments) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string_view argument = arguments[i];
        if (argument == "--trace")
            options.trace = true;
        else if (argument == "--keep-going")
            options.keep_going = true;
        else if (const auto seed = number_after(argument, "--seed="))
            options.first = *seed, options.count = 1;
        else if (const auto seeds = number_after(argument, "--seeds="))
            options.count = *seeds;
        else if (const auto first = number_after(argument, "--first="))
            options.first = *first;
        else
            return std::nullopt;
    }
    return options;
}

// A check of the engine ends the program, and what never returns is ended: also then the seed has
// to be known.
constexpr unsigned kSecondsForOneSeed = 30;
char death_note[64];

void on_death(int signal) {
    const ssize_t written = write(STDERR_FILENO, death_note, std::strlen(death_note));
    static_cast<void>(written);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

Result run(uint64_t seed, bool trace = false) {
    std::snprintf(death_note, sizeof death_note, "swarm: FAILED seed %llu: the program ended\n",
                  static_cast<unsigned long long>(seed));
    alarm(kSecondsForOneSeed);
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
        "swarm: %llu packets, %llu through bytes, %llu found damaged; %llu messages "
        "received, %llu from groups\n",
        number(tally.packets), number(tally.through_bytes), number(tally.damaged),
        number(tally.received), number(tally.received_from_groups));
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
                   tally.notified, tally.limits, tally.too_late},
        [](uint64_t count) { return count != 0; });
}

}  // namespace

int main(int count, char** arguments) {
    const auto options = read_options(count, arguments);
    if (!options) {
        std::fputs("usage: swarm_test [--seed=N [--trace] | --first=N --seeds=N [--keep-going]]\n",
                   stderr);
        return 2;
    }
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGALRM})
        std::signal(signal, on_death);
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
