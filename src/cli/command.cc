#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>

#include "cli/exit_code.h"

namespace tulle::cli {
namespace {

std::optional<uint64_t> parse_number(const std::string& text) {
    uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc() || rest != end) return std::nullopt;
    return value;
}

// What is wrong with a number, in the words of CLI11's checks: nothing is "".
std::string judge_number(const std::string& text, const Value& written) {
    const auto value = parse_number(text);
    if (value && *value >= written.from && *value <= written.to) return {};
    if (written.to == std::numeric_limits<uint64_t>::max())
        return fmt::format("'{}' is not a whole number from {} on", text, written.from);
    return fmt::format("'{}' is not a whole number from {} to {}", text, written.from, written.to);
}

std::string judge_choice(const std::string& text, const Value& written) {
    std::string known;
    for (const std::string& choice : written.choices) {
        if (choice == text) return {};
        known += (known.empty() ? "" : ", ") + choice;
    }
    return fmt::format("'{}' is none of {}", text, known);
}

void describe(CLI::Option& option, const Value& written) {
    option.option_text(*written.shown == 0 ? " " : written.shown);
    option.required(written.is_required);
    if (!written.choices.empty())
        option.check([written](const std::string& text) { return judge_choice(text, written); });
}

// What is wrong where no command was chosen: CLI11 calls a word that is no command a missing one.
std::string no_command(const CLI::App& app, int argc, const char* const* argv) {
    std::string known;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        known.append(known.empty() ? "" : ", ").append(command->get_name());
    for (int i = 1; i < argc; ++i)
        if (argv[i][0] != '-')
            return fmt::format("there is no command '{}'; the commands are: {}", argv[i], known);
    if (argc > 1) return fmt::format("there is no option '{}'", argv[1]);
    return fmt::format("name a command: {}", known);
}

// CLI11 reports --help and --version as errors of their own with exit code 0.
int report(const CLI::App& app, const CLI::ParseError& error, int argc, const char* const* argv) {
    if (error.get_exit_code() == 0) return app.exit(error) == 0 ? kDone : kRunFailed;
    const auto chosen = app.get_subcommands();
    const std::string command =
        chosen.empty() ? app.get_name() : app.get_name() + " " + chosen.front()->get_name();
    const std::string what = chosen.empty() ? no_command(app, argc, argv) : error.what();
    fmt::print(stderr, "{}: {}; `{} --help` shows what can be written\n", command, what, command);
    return kInputWrong;
}

}  // namespace

Command Command::add_command(const char* name, const char* what) {
    app_->require_subcommand(1);
    return {*app_->add_subcommand(name, what), *exit_code_};
}

void Command::add_examples(const std::string& text) {
    app_->footer(text);
}

void Command::option(const char* names, std::string& value, const char* what,
                     const Value& written) {
    describe(*app_->add_option(names, value, what), written);
}

void Command::option(const char* names, std::vector<std::string>& values, const char* what,
                     const Value& written) {
    CLI::Option* option = app_->add_option(names, values, what);
    describe(*option, written);
    if (written.separator != 0) option->delimiter(written.separator);
    if (written.words > 1)
        option->expected(written.words);
    else
        option->allow_extra_args(false);
}

void Command::number(const char* names, const char* what, const Value& written,
                     std::function<void(uint64_t)> take) {
    CLI::Option* option = app_->add_option_function<std::string>(
        names, [take = std::move(take)](const std::string& text) { take(*parse_number(text)); },
        what);
    describe(*option, written);
    option->check([written](const std::string& text) { return judge_number(text, written); });
}

void Command::option(const char* names, uint32_t& value, const char* what, Value written) {
    written.to = std::min<uint64_t>(written.to, std::numeric_limits<uint32_t>::max());
    number(names, what, written,
           [&value](uint64_t number) { value = static_cast<uint32_t>(number); });
}

void Command::option(const char* names, uint64_t& value, const char* what, const Value& written) {
    number(names, what, written, [&value](uint64_t number) { value = number; });
}

void Command::option(const char* names, std::optional<uint64_t>& value, const char* what,
                     const Value& written) {
    number(names, what, written, [&value](uint64_t number) { value = number; });
}

void Command::flag(const char* names, bool& value, const char* what) {
    app_->add_flag(names, value, what);
}

void Command::exclude(const char* option, const char* other) {
    app_->get_option(option)->excludes(app_->get_option(other));
}

void Command::when_chosen(std::function<int()> work) {
    app_->callback([work = std::move(work), code = exit_code_] { *code = work(); });
}

// What stands behind `--` CLI11 leaves to the command above, which keeps it for us.
void Command::when_chosen_with_program(std::function<int(std::vector<std::string>)> work) {
    app_->prefix_command();
    app_->preparse_callback([app = app_](size_t) { app->get_parent()->prefix_command(); });
    app_->callback([app = app_, work = std::move(work), code = exit_code_] {
        std::vector<std::string> rest = app->remaining();
        for (std::string& word : app->get_parent()->remaining()) rest.push_back(std::move(word));
        *code = work(std::move(rest));
    });
}

int run_program(const ProgramText& about, const std::function<void(Command&)>& add_commands,
                int argc, const char* const* argv) {
    int exit_code = kDone;
    CLI::App app{about.what, about.name};
    app.footer(about.examples);
    app.set_version_flag("--version", about.version);
    Command program(app, exit_code);
    add_commands(program);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return report(app, error, argc, argv);
    }
    return exit_code;
}

}  // namespace tulle::cli
