#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <sstream>

#include "cli/completion.h"
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

// The error message for a number. CLI11 takes "" for no error.
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
    return fmt::format("'{}' is not one of {}", text, known);
}

void describe(CLI::Option& option, const Value& written) {
    option.option_text(*written.shown == 0 ? " " : written.shown);
    option.required(written.is_required);
    if (!written.choices.empty())
        option.check([written](const std::string& text) { return judge_choice(text, written); });
}

// A help that fits a terminal of 80 columns.
class HelpFormatter : public CLI::Formatter {
public:
    HelpFormatter() { column_width(kNameColumns); }

    std::string make_option(const CLI::Option* option, bool is_positional) const override {
        return row(make_option_name(option, is_positional) + make_option_opts(option),
                   make_option_desc(option));
    }
    std::string make_subcommand(const CLI::App* command) const override {
        return row(command->get_name(), command->get_description());
    }

private:
    static constexpr size_t kColumns = 80;
    static constexpr size_t kNameColumns = 28;

    static std::string row(const std::string& name, const std::string& what) {
        std::string line = "  " + name;
        std::string text;
        if (line.size() + 1 >= kNameColumns) {
            text = line + "\n";
            line.clear();
        }
        line.resize(kNameColumns, ' ');
        std::istringstream words(what);
        for (std::string word; words >> word;) {
            if (line.size() + 1 + word.size() > kColumns) {
                text += line + "\n";
                line.assign(kNameColumns, ' ');
            }
            if (line.back() != ' ') line += ' ';
            line += word;
        }
        return text + line + "\n";
    }
};

// The message when no command was chosen. CLI11's own does not name an unknown word.
std::string no_command(const CLI::App& app, const std::vector<std::string>& words) {
    std::string known;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        known.append(known.empty() ? "" : ", ").append(command->get_name());
    for (const std::string& word : words)
        if (!word.starts_with('-'))
            return fmt::format("there is no command '{}'; the commands are: {}", word, known);
    if (!words.empty()) return fmt::format("there is no option '{}'", words.front());
    return fmt::format("name a command: {}", known);
}

// CLI11 reports --help and --version as errors with exit code 0.
int report(const CLI::App& app, const CLI::ParseError& error,
           const std::vector<std::string>& words) {
    if (error.get_exit_code() == 0) return app.exit(error) == 0 ? kDone : kRunFailed;
    const auto chosen = app.get_subcommands();
    const std::string command =
        chosen.empty() ? app.get_name() : app.get_name() + " " + chosen.front()->get_name();
    const std::string what = chosen.empty() ? no_command(app, words) : error.what();
    fmt::print(stderr, "{}: {}; `{} --help` explains the command line\n", command, what, command);
    return kInputWrong;
}

}  // namespace

Command Command::add_command(const char* name, const char* what) {
    app_->require_subcommand(1);
    CLI::App* command = app_->add_subcommand(name, what);
    command->footer("");  // else it inherits the footer of its parent
    return {*command, *exit_code_};
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

// CLI11 hands the words after `--` to the parent command, so they are collected from both.
void Command::when_chosen_with_program(std::function<int(std::vector<std::string>)> work) {
    app_->prefix_command();
    app_->preparse_callback([app = app_](size_t) { app->get_parent()->prefix_command(); });
    app_->callback([app = app_, work = std::move(work), code = exit_code_] {
        std::vector<std::string> rest = app->remaining();
        for (std::string& word : app->get_parent()->remaining()) rest.push_back(std::move(word));
        *code = work(std::move(rest));
    });
}

namespace {

// `tulle help sim` is `tulle sim --help`.
std::vector<std::string> words_of(const CLI::App& app, int argc, const char* const* argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words.empty() || words.front() != "help") return words;
    if (words.size() > 1 && words[1].starts_with('-')) return words;  // of `help` itself
    words.erase(words.begin());
    const auto is_named = [&](const CLI::App* command) {
        return command->get_name() == words.front();
    };
    if (words.empty() || !app.get_subcommands(is_named).empty()) words.emplace_back("--help");
    return words;
}

CompletedCommand completed(const CLI::App& app) {
    CompletedCommand command{app.get_name(), app.get_description(), {}, {}};
    for (const CLI::Option* option : app.get_options()) {
        if (!option->nonpositional()) continue;
        CompletedOption known{{}, option->get_description(), option->get_option_text()};
        for (const std::string& name : option->get_lnames()) known.names.push_back("--" + name);
        for (const std::string& name : option->get_snames()) known.names.push_back("-" + name);
        if (option->get_expected_max() == 0) known.value.clear();
        command.options.push_back(std::move(known));
    }
    for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; }))
        command.commands.push_back(completed(*below));
    return command;
}

void add_help(Command& program) {
    Command help = program.add_command("help", "Explain a command");
    help.add_examples(R"(Examples:
  tulle help             lists the commands
  tulle help sim         the same as `tulle sim --help`
  man tulle-sim          every detail)");
}

void add_completion(Command& program, const CLI::App& app) {
    Command command =
        program.add_command("completion", "Print a script that lets a shell complete words");
    command.add_examples(R"(Examples:
  source <(tulle completion bash)       `make install` installs it
  tulle completion zsh > ~/.zfunc/_tulle
  tulle completion fish > ~/.config/fish/completions/tulle.fish)");
    const std::pair<const char*, std::string (*)(const CompletedCommand&)> shells[] = {
        {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};
    for (const auto& [name, script] : shells) {
        Command shell = command.add_command(name, "The script of this shell");
        shell.add_examples(fmt::format("Examples:\n  tulle completion {}", name));
        shell.when_chosen([&app, script = script] {
            const std::string text = script(completed(app));
            const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
            return is_written && std::fflush(stdout) == 0 ? kDone : kRunFailed;
        });
    }
}

}  // namespace

int run_program(const ProgramText& about, const std::function<void(Command&)>& add_commands,
                int argc, const char* const* argv) {
    int exit_code = kDone;
    CLI::App app{about.what, about.name};
    app.footer(about.examples);
    app.formatter(std::make_shared<HelpFormatter>());
    app.set_version_flag("--version", about.version);
    Command program(app, exit_code);
    add_commands(program);
    add_help(program);
    add_completion(program, app);
    const std::vector<std::string> words = words_of(app, argc, argv);
    try {
        app.parse(
            std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 wants reverse order
    } catch (const CLI::ParseError& error) {
        return report(app, error, words);
    }
    return exit_code;
}

}  // namespace tulle::cli
