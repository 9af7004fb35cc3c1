// What a program that runs seeds needs: its options, and a word about the seed when it dies.
#pragma once

#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace tulle::swarm {

struct SeedOptions {
    uint64_t first = 1;
    uint64_t count = 300;
    bool trace = false;
    bool keep_going = false;
};

inline std::optional<uint64_t> number_after(std::string_view argument, std::string_view name) {
    if (!argument.starts_with(name)) return std::nullopt;
    argument.remove_prefix(name.size());
    uint64_t number = 0;
    const auto end = argument.data() + argument.size();
    const auto [rest, error] = std::from_chars(argument.data(), end, number);
    if (error != std::errc() || rest != end) return std::nullopt;
    return number;
}

inline std::optional<SeedOptions> read_options(int count, char** arguments) {
    SeedOptions options;
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
inline char death_note[80];

inline void on_death(int signal) {
    const ssize_t written = write(STDERR_FILENO, death_note, std::strlen(death_note));
    static_cast<void>(written);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

inline void catch_death() {
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGALRM})
        std::signal(signal, on_death);
}

inline void write_death_note(const char* program, uint64_t seed, unsigned seconds) {
    std::snprintf(death_note, sizeof death_note, "%s: FAILED seed %llu: the program ended\n",
                  program, static_cast<unsigned long long>(seed));
    alarm(seconds);
}

}  // namespace tulle::swarm
