// The command line: commands, their options and their help. CLI11 does the work, and command.cc
// alone includes it: a file that does takes four seconds longer to compile.
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

// What may be written behind an option's name.
struct Value {
    const char* shown = "";                              // in the help, such as FILE
    uint64_t from = 0;                                   // of a number
    uint64_t to = std::numeric_limits<uint64_t>::max();  // of a number
    std::vector<std::string> choices{};                  // of a word; empty: any
    char separator = 0;                                  // of several values in one word
    int words = 1;                                       // that belong to it
    bool is_required = false;
};

// A command of the program; it stays valid as long as the program. `names` are such as -o,--output;
// a name without dashes is that of a word by its place.
class Command {
public:
    Command(CLI::App& app, int& exit_code) : app_(&app), exit_code_(&exit_code) {}

    // A command below this one, which then needs one of them.
    Command add_command(const char* name, const char* what);
    // What stands below the help, in lines of 80 columns.
    void add_examples(const std::string& text);

    void option(const char* names, std::string& value, const char* what, const Value& written);
    void option(const char* names, std::vector<std::string>& values, const char* what,
                const Value& written);
    void option(const char* names, uint32_t& value, const char* what, Value written);
    void option(const char* names, uint64_t& value, const char* what, const Value& written);
    void option(const char* names, std::optional<uint64_t>& value, const char* what,
                const Value& written);
    void flag(const char* names, bool& value, const char* what);
    void exclude(const char* option, const char* other);

    // Does the work and returns the exit code.
    void when_chosen(std::function<int()> work);
    // The same, with all that stands behind the command's own options: a program and its words.
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

// Asks for the commands, adds `help` and `completion`, then runs the one that the words name.
// Returns its exit code, or that of words that name none.
int run_program(const ProgramText& about, const std::function<void(Command&)>& add_commands,
                int argc, const char* const* argv);

}  // namespace tulle::cli
