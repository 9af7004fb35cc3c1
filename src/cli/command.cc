#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <sstream>

#include "base/words.h"
#include "cli/completion.h"
#include "cli/exit_code.h"
#include "cli/output.h"

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
    const std::vector<std::string_view> known(written.choices.begin(), written.choices.end());
    return std::ranges::find(known, text) != known.end() ? "" : base::unknown_word(text, known);
}

// The whole text if there is no separator.
std::vector<std::string> parts_of(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (true) {
        const size_t end = separator == 0 ? std::string_view::npos : text.find(separator);
        parts.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

void describe(CLI::Option& option, const Value& written) {
    option.option_text(*written.shown == 0 ? " " : written.shown);
    option.required(written.is_required);
    option.check([](const std::string& text) { return text.empty() ? "its value is empty" : ""; });
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

// The command that the command line names, as far as it names one, and its words.
struct Chosen {
    const CLI::App* app;
    std::string words;
};

Chosen chosen_command(const CLI::App& program) {
    Chosen chosen{&program, program.get_name()};
    while (!chosen.app->get_subcommands().empty()) {
        chosen.app = chosen.app->get_subcommands().front();
        chosen.words += " " + chosen.app->get_name();
    }
    return chosen;
}

std::string unknown_option(const CLI::App& app, const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string hint = base::did_you_mean(name, known, "");
    return fmt::format("there is no option '{}'{}{}", name, hint.empty() ? "" : "; ", hint);
}

std::string no_command(const CLI::App& app, const std::vector<std::string>& unknown) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(command->get_name());
    const std::vector<std::string_view> known(names.begin(), names.end());
    for (const std::string& word : unknown)
        if (!word.starts_with('-'))
            return fmt::format(
                "there is no command '{}'; {}", word,
                base::did_you_mean(word, known, "the commands are: " + base::joined(known)));
    if (!unknown.empty()) return unknown_option(app, unknown.front());
    return "name a command: " + base::joined(known);
}

// CLI11 says "--seed: At Most 1 required but received 2", and "--json: 1 required TEXT missing".
std::string wrong_count(const CLI::App& app, const std::string& message) {
    const auto options = app.get_options(
        [&](const CLI::Option* option) { return message.starts_with(option->get_name() + ":"); });
    if (options.empty()) return message;
    const CLI::Option& option = *options.front();
    const int words = option.get_items_expected_max();
    if (words > 1) return fmt::format("{} takes {} words", option.get_name(), words);
    if (message.find("At Most") != std::string::npos)
        return option.get_name() + " is given more than once";
    return fmt::format("{} needs a value: {} {}", option.get_name(), option.get_name(),
                       option.get_option_text());
}

std::string sentence_of(const CLI::ParseError& error, const CLI::App& program,
                        const CLI::App& command) {
    const bool has_commands =
        !command.get_subcommands([](const CLI::App*) { return true; }).empty();
    if (has_commands && command.get_subcommands().empty())
        return no_command(command, command.remaining());
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
        std::vector<std::string> unknown = program.remaining(true);
        const auto option = std::ranges::find_if(
            unknown, [](const std::string& word) { return word.starts_with('-'); });
        if (option != unknown.end()) return unknown_option(command, *option);
        return fmt::format("'{}' is one word too many", unknown.front());
    }
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
        return wrong_count(command, error.what());
    return error.what();
}

// CLI11 reports --help and --version as errors with exit code 0.
int report(const CLI::App& app, const CLI::ParseError& error) {
    const Chosen chosen = chosen_command(app);
    if (error.get_exit_code() == 0) {
        std::ostringstream text;
        app.exit(error, text, text);
        return print_all(chosen.words, text.str());
    }
    const std::string what = printable(sentence_of(error, app, *chosen.app));
    tell("{}: {}{} `{} --help` explains the command line\n", chosen.words, what,
         what.ends_with('?') ? "" : ";", chosen.words);
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
    const auto take = [&values, separator = written.separator](const std::string& word) {
        for (std::string& part : parts_of(word, separator)) values.push_back(std::move(part));
    };
    // CLI11 splits words too, but drops empty parts.
    CLI::Option* option = app_->add_option_function<std::vector<std::string>>(
        names,
        [take](const std::vector<std::string>& words) { std::ranges::for_each(words, take); },
        what);
    describe(*option, written);
    option->check([written](const std::string& word) -> std::string {
        const std::vector<std::string> parts = parts_of(word, written.separator);
        if (std::ranges::find(parts, "") == parts.end()) return "";
        return fmt::format("'{}' has an empty part", word);
    });
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

void Command::need(const char* option, const char* other) {
    app_->get_option(option)->needs(app_->get_option(other));
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

// `tulle help sim` is `tulle sim --help`; no other words may follow.
std::vector<std::string> words_of(const CLI::App& app, int argc, const char* const* argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words.empty() || words.front() != "help") return words;
    if (words.size() > 1 && words[1].starts_with('-')) return words;  // of `help` itself
    const CLI::App* command = &app;
    for (size_t i = 1; i < words.size(); ++i) {
        const auto named = command->get_subcommands(
            [&](const CLI::App* below) { return below->get_name() == words[i]; });
        if (named.empty()) return i == 1 ? std::vector{words[1]} : std::vector{words[0], words[i]};
        command = named.front();
    }
    words.erase(words.begin());
    words.emplace_back("--help");
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
            return print_all("tulle completion", script(completed(app)));
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
        return report(app, error);
    }
    return exit_code;
}

}  // namespace tulle::cli
