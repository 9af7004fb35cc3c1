// Several runs in parallel, one thread each, up to the number of workers at a time.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "drive/run.h"

namespace tulle::drive {

struct TogetherOptions {
    uint32_t workers = 1;
    bool explains = false;                         // see Options
    const std::atomic<bool>* interrupt = nullptr;  // once true, all runs stop
    // Called by one thread at a time, though not always the same.
    std::function<void(size_t run)> on_begin{};  // the set-up is done
    std::function<void(size_t run, const Progress&)> on_progress{};
    // May take parts of a result that is not needed as a whole; no result if the run was refused.
    std::function<void(size_t run, sim::Result* result)> on_end{};
};

// Results in the order of the setups; nothing for a run that never began.
std::vector<std::optional<base::Result<sim::Result>>> run_together(
    std::span<const sim::Setup> setups, const TogetherOptions& options);

}  // namespace tulle::drive
