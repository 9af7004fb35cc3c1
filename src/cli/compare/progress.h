// The common progress of several runs, on one line of a terminal.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/sim/progress.h"
#include "sim/setup.h"

namespace tulle::cli {

// "2 of 5 runs done, 41 %, 12 s left".
std::string together_text(size_t done, const std::vector<uint64_t>& millionths,
                          std::chrono::milliseconds elapsed);

class TogetherLine {
public:
    explicit TogetherLine(std::span<const sim::Setup> setups)
        : setups_(setups), millionths_(setups.size()) {}

    void show(size_t run, const drive::Progress& progress);
    void end(size_t run);

private:
    std::span<const sim::Setup> setups_;
    std::vector<uint64_t> millionths_;
    size_t done_ = 0;
    TerminalLine line_;
};

}  // namespace tulle::cli
