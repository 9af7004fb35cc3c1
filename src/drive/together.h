// Several runs side by side, one thread each: as many at a time as there are workers.
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
    bool explains = false;                         // as Options has it
    const std::atomic<bool>* interrupt = nullptr;  // set: those that run stop, no other begins
    // All are called by one thread at a time, but not always the same.
    std::function<void(size_t run)> on_begin{};  // it is set up
    std::function<void(size_t run, const Progress&)> on_progress{};
    // May take what it wants of a result that nobody needs as a whole; none if the run was refused.
    std::function<void(size_t run, sim::Result* result)> on_end{};
};

// Results in the order of the setups, whichever ended first; nothing for one that never began.
std::vector<std::optional<base::Result<sim::Result>>> run_together(
    std::span<const sim::Setup> setups, const TogetherOptions& options);

}  // namespace tulle::drive
