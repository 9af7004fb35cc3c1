// How far a run is and how long it will still take, on one line of a terminal that is written anew.
// Runs of less than two seconds show nothing, and nothing is shown where nobody watches.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "drive/run.h"

namespace tulle::cli {

// Parts of a million that are done, by bytes, flows or simulated time, whichever is furthest.
uint64_t done_millionths(const drive::Progress& progress, base::Instant stop);

// "41 %, 123 us simulated, 2.1 million hops, 12 s left".
std::string progress_text(const drive::Progress& progress, base::Instant stop,
                          std::chrono::milliseconds elapsed);

class ProgressLine {
public:
    explicit ProgressLine(base::Instant stop);
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(const drive::Progress& progress);
    void clear();

private:
    base::Instant stop_;
    std::chrono::steady_clock::time_point began_;
    bool is_terminal_;
    bool is_shown_ = false;
};

}  // namespace tulle::cli
