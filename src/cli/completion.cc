#include "cli/completion.h"

#include <fmt/format.h>

namespace tulle::cli {
namespace {

// Quoted in single quotes, for any of the shells.
std::string plain(std::string text) {
    for (char& c : text)
        if (c == '\'' || c == '[' || c == ']' || c == ':' || c == '`') c = ' ';
    return text;
}

bool takes_profile(const CompletedOption& option) {
    return option.names.front() == "--profile" || option.names.front() == "--fabrics";
}

std::string option_words(const CompletedCommand& command) {
    std::string words;
    for (const CompletedOption& option : command.options)
        for (const std::string& name : option.names)
            words.append(words.empty() ? "" : " ").append(name);
    return words;
}

std::string command_words(const CompletedCommand& command) {
    std::string words;
    for (const CompletedCommand& below : command.commands)
        words.append(words.empty() ? "" : " ").append(below.name);
    return words;
}

}  // namespace

std::string bash_completion(const CompletedCommand& program) {
    std::string cases;
    for (const CompletedCommand& command : program.commands)
        cases += fmt::format("        {}) options='{}' words='{}' ;;\n", command.name,
                             option_words(command), command_words(command));
    return fmt::format(R"script(# bash completion of tulle; written by `tulle completion bash`.
_tulle_names() {{
    tulle list "$1" 2>/dev/null | cut -d ' ' -f 1
}}
_tulle() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local options='{}' words='{}'
    COMPREPLY=()
    if ((COMP_CWORD > 1)); then
        options='' words=''
        case ${{COMP_WORDS[1]}} in
        help) words='{}' ;;
        show) words="$(_tulle_names profiles) $(_tulle_names examples)" ;;
{}        esac
        if ((COMP_CWORD > 2)); then words=''; fi
    fi
    case $before in
    --profile | --fabrics) words="$(_tulle_names profiles)" ;;
    esac
    if [[ $word == -* ]]; then words=$options; fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    if ((${{#COMPREPLY[@]}} == 0)); then
        compopt -o default
    fi
}}
complete -F _tulle tulle
)script",
                       option_words(program), command_words(program), command_words(program),
                       cases);
}

std::string zsh_completion(const CompletedCommand& program) {
    std::string commands;
    std::string cases;
    for (const CompletedCommand& command : program.commands) {
        commands += fmt::format("    '{}:{}'\n", command.name, plain(command.what));
        cases += fmt::format("  {})\n    _arguments", command.name);
        for (const CompletedOption& option : command.options)
            for (const std::string& name : option.names) {
                const char* action = takes_profile(option) ? "->profile" : "_files";
                cases += fmt::format(
                    " \\\n      '{}[{}]{}'", name, plain(option.what),
                    option.value.empty() ? "" : fmt::format(":{}:{}", plain(option.value), action));
            }
        if (!command.commands.empty())
            cases += fmt::format(" \\\n      '2:what:({})'", command_words(command));
        cases += " \\\n      '*:file:_files'\n    ;;\n";
    }
    return fmt::format(R"script(#compdef tulle
# zsh completion of tulle; written by `tulle completion zsh`.
local -a commands profiles
commands=(
{})
if ((CURRENT == 2)); then
  _describe command commands
  return
fi
case $words[2] in
{}esac
if [[ $state == profile ]]; then
  profiles=(${{(f)"$(tulle list profiles 2>/dev/null | cut -d ' ' -f 1)"}})
  _describe profile profiles
fi
)script",
                       commands, cases);
}

std::string fish_completion(const CompletedCommand& program) {
    std::string text = "# fish completion of tulle; written by `tulle completion fish`.\n";
    for (const CompletedCommand& command : program.commands) {
        text += fmt::format("complete -c tulle -n __fish_use_subcommand -a {} -d '{}'\n",
                            command.name, plain(command.what));
        const std::string here = fmt::format("'__fish_seen_subcommand_from {}'", command.name);
        for (const CompletedCommand& below : command.commands)
            text += fmt::format("complete -c tulle -n {} -f -a {} -d '{}'\n", here, below.name,
                                plain(below.what));
        for (const CompletedOption& option : command.options) {
            text += fmt::format("complete -c tulle -n {}", here);
            for (const std::string& name : option.names)
                text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            if (takes_profile(option))
                text += " -x -a '(tulle list profiles 2>/dev/null | cut -d \" \" -f 1)'";
            else if (!option.value.empty())
                text += " -r";
            text += fmt::format(" -d '{}'\n", plain(option.what));
        }
    }
    return text;
}

}  // namespace tulle::cli
