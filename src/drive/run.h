// Runs a simulation on the threads and the clock of the machine.
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
    uint32_t threads = 1;                          // limited to the number of cores and hosts
    const std::atomic<bool>* interrupt = nullptr;  // once true, the run stops
    std::function<void()> on_begin{};              // called when the set-up is done and time begins
    std::function<void(const Progress&)> on_progress{};  // at most ten times a second
    // If given, takes the records (Setup::trace, taps) while the run goes on, called by one thread
    // at a time; the result then has none. Otherwise they are kept until the end.
    std::function<void(const sim::Records&)> on_records{};
    // Runs a second pass to find out where the time went (sim::TimeAccount).
    bool explains = false;
};

// A setup that cannot work is refused with a sentence before the run begins.
base::Result<sim::Result> run(const sim::Setup& setup, const Options& options);

}  // namespace tulle::drive
