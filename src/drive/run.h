// Runs a simulation on the machine's clock and threads.
#pragma once

#include <atomic>
#include <functional>

#include "base/result.h"
#include "sim/result.h"
#include "sim/setup.h"

namespace tulle::drive {

struct Progress {
    base::Instant time{};  // simulated
    uint64_t hops = 0;
    size_t flows_done = 0;
    size_t flows = 0;
    uint64_t tasks_done = 0;  // of the program
    uint64_t tasks = 0;
    uint32_t pass = 1;  // of `passes`
    uint32_t passes = 1;
};

struct Options {
    uint32_t threads = 1;                          // and no more than there are cores, nor hosts
    const std::atomic<bool>* interrupt = nullptr;  // set: what is known so far is returned
    std::function<void()> on_begin{};              // it is set up, and time begins
    std::function<void(const Progress&)> on_progress{};  // at most ten times a second
    // Given: takes what is written down (Setup::trace, taps) while time passes, by one thread at a
    // time, and the result has none of it. Otherwise it is kept until the end.
    std::function<void(const sim::Records&)> on_records{};
    // Runs it a second time to find out where the time went (sim::TimeAccount).
    bool explains = false;
};

// A setup that cannot work is refused with a sentence before anything happens.
base::Result<sim::Result> run(const sim::Setup& setup, const Options& options);

}  // namespace tulle::drive
