// The command line: commands, their options and their help. CLI11 does the work. Only command.cc
// includes it, because including it adds four seconds to the compile time of a file.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tulle::cli {

// What an option takes as its value.
struct Value {
    const char* shown = "";                              // in the help, for example FILE
    uint64_t from = 0;                                   // of a number
    uint64_t to = std::numeric_limits<uint64_t>::max();  // of a number
    std::vector<std::string> choices{};                  // of a word; empty: any
    char separator = 0;                                  // of several values in one word
    int words = 1;                                       // that the option takes
    bool is_required = false;
};

// A command of the program. It stays valid as long as the program. `names` has the form
// -o,--output; a name without dashes makes a positional argument.
class Command {
public:
    Command(CLI::App& app, int& exit_code) : app_(&app), exit_code_(&exit_code) {}

    // Adds a subcommand; the command line must then name one.
    Command add_command(const char* name, const char* what);
    // Text printed after the options, in lines of at most 80 columns.
    void add_examples(const std::string& text);

    void option(const char* names, std::string& value, const char* what, const Value& written);
    void option(const char* names, std::vector<std::string>& values, const char* what,
                const Value& written);
    void option(const char* names, uint32_t& value, const char* what, Value written);
    void option(const char* names, uint64_t& value, const char* what, const Value& written);
    void option(const char* names, std::optional<uint64_t>& value, const char* what,
                const Value& written);
    void flag(const char* names, bool& value, const char* what);
    // The first option has no effect without the second.
    void need(const char* option, const char* other);
    void exclude(const char* option, const char* other);

    // `work` runs if the command line names this command, and returns the exit code.
    void when_chosen(std::function<int()> work);
    // The same; `work` gets all words after the command's own options: a program and its arguments.
    void when_chosen_with_program(std::function<int(std::vector<std::string>)> work);

private:
    void number(const char* names, const char* what, const Value& written,
                std::function<void(uint64_t)> take);

    CLI::App* app_;
    int* exit_code_;
};

struct ProgramText {
    const char* name;
    const char* what;
    const char* examples;
    std::string version;
};

// Collects the commands, adds `help` and `completion`, and runs the one that `argv` names. Returns
// its exit code, or that of a wrong command line.
int run_program(const ProgramText& about, const std::function<void(Command&)>& add_commands,
                int argc, const char* const* argv);

}  // namespace tulle::cli
