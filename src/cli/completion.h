// Completion scripts for shells.
#pragma once

#include <string>
#include <vector>

namespace tulle::cli {

struct CompletedOption {
    std::vector<std::string> names;  // with dashes
    std::string what;
    std::string value;  // placeholder of its value, for example FILE; empty: takes none
};

struct CompletedCommand {
    std::string name;
    std::string what;
    std::vector<CompletedOption> options;
    std::vector<CompletedCommand> commands;  // subcommands
};

// Each returns the script for one shell. It completes profiles by calling `tulle list profiles`.
std::string bash_completion(const CompletedCommand& program);
std::string zsh_completion(const CompletedCommand& program);
std::string fish_completion(const CompletedCommand& program);

}  // namespace tulle::cli
