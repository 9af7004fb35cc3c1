// What shells are told about the program, so that they complete its words.
#pragma once

#include <string>
#include <vector>

namespace tulle::cli {

struct CompletedOption {
    std::vector<std::string> names;  // with dashes
    std::string what;
    std::string value;  // what stands behind it, such as FILE; empty: nothing does
};

struct CompletedCommand {
    std::string name;
    std::string what;
    std::vector<CompletedOption> options;
    std::vector<CompletedCommand> commands;  // below it
};

// Each is a script for the shell. Where a profile is asked for, it asks `tulle list profiles`.
std::string bash_completion(const CompletedCommand& program);
std::string zsh_completion(const CompletedCommand& program);
std::string fish_completion(const CompletedCommand& program);

}  // namespace tulle::cli
