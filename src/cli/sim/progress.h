// The progress of a run and its remaining time, on one line of a terminal that is rewritten. Runs
// of less than two seconds show nothing.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "drive/run.h"

namespace tulle::cli {

// The part that is done, in millionths: by flows and tasks or by simulated time, whichever is
// larger.
uint64_t done_millionths(const drive::Progress& progress, base::Instant stop);

// "41 %, 410 of 1000 tasks, 123 us simulated, 2.1 million hops, 12 s left".
std::string progress_text(const drive::Progress& progress, base::Instant stop,
                          std::chrono::milliseconds elapsed);

// "12 s left", extrapolated from the time so far.
std::string time_left(uint64_t done_millionths, std::chrono::milliseconds elapsed);

// A line that is rewritten, from two seconds on. Without a terminal it prints separate lines: the
// first after 15 seconds, each next one after twice the time. The seconds count from the first line
// of the program, so that a long set-up and a long run are not silent one after the other.
class TerminalLine {
public:
    TerminalLine();
    ~TerminalLine() { clear(); }
    TerminalLine(const TerminalLine&) = delete;
    TerminalLine& operator=(const TerminalLine&) = delete;

    void show(const std::function<std::string(std::chrono::milliseconds elapsed)>& text);
    void clear();

private:
    std::chrono::steady_clock::time_point began_;
    bool is_terminal_;
    std::chrono::milliseconds next_line_{15'000};  // of a log
    bool is_shown_ = false;
};

class ProgressLine {
public:
    explicit ProgressLine(base::Instant stop) : stop_(stop) {}
    void show(const drive::Progress& progress);

private:
    base::Instant stop_;
    TerminalLine line_;
};

}  // namespace tulle::cli
