#include "cli/set_up.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/machine.h"
#include "cli/output.h"
#include "cli/sim/progress.h"

namespace tulle::cli {
namespace {

constexpr std::chrono::milliseconds kLook{20};
constexpr int kLooksBetweenLines = 25;
// A set-up that is nearly done may finish after an interrupt; the run then stops and reports.
constexpr int kLooksOfPatience = 10;

}  // namespace

SetUp::SetUp(std::string command) : command_(std::move(command)) {
    try {
        watcher_ = std::thread([this] { watch(); });
    } catch (const std::system_error&) {
        // Without a thread there is no progress line; the set-up goes on.
    }
}

void SetUp::say(std::string step) {
    const std::scoped_lock lock(mutex_);
    step_ = std::move(step);
}

std::string SetUp::step() {
    const std::scoped_lock lock(mutex_);
    return step_;
}

void SetUp::end() {
    const std::scoped_lock lock(ending_);
    is_over_.store(true);
    if (watcher_.joinable()) watcher_.join();
}

// The thread that sets up cannot be stopped, so an interrupt ends the whole program, after removing
// its unfinished files.
void SetUp::watch() {
    TerminalLine line;
    int patience = kLooksOfPatience;
    for (int look = 0; !is_over_.load(); ++look) {
        std::this_thread::sleep_for(kLook);
        if (is_interrupted() && --patience == 0 && !is_over_.load()) {
            line.clear();
            remove_unfinished_files();
            tell("{}: interrupted while it was set up; nothing was run\n", command_);
            ::_exit(kRunFailed);
        }
        if (look % kLooksBetweenLines == 0)
            line.show([&](std::chrono::milliseconds elapsed) {
                return set_up_text(step(), static_cast<uint64_t>(elapsed.count()) / 1000,
                                   memory_in_use());
            });
    }
}

std::string set_up_text(const std::string& step, uint64_t seconds, uint64_t memory_bytes) {
    return fmt::format("setting up: {}, {} s, {}", step, seconds,
                       base::bytes_to_string(memory_bytes));
}

}  // namespace tulle::cli
