// How far a run is and how long it will still take, on one line of a terminal that is written anew.
// Runs of less than two seconds show nothing.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "drive/run.h"

namespace tulle::cli {

// Parts of a million that are done, by flows and tasks or by simulated time, whichever is further.
uint64_t done_millionths(const drive::Progress& progress, base::Instant stop);

// "41 %, 410 of 1000 tasks, 123 us simulated, 2.1 million hops, 12 s left".
std::string progress_text(const drive::Progress& progress, base::Instant stop,
                          std::chrono::milliseconds elapsed);

// "12 s left": if what is done took so long.
std::string time_left(uint64_t done_millionths, std::chrono::milliseconds elapsed);

// A line that is written anew, once two seconds have passed. Where there is no terminal, a log gets
// lines: after 15 seconds, and each time that twice as many have passed.
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
