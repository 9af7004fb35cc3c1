#include "cli/sim/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/int128.h"
#include "base/units.h"
#include "cli/output.h"

namespace tulle::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kQuietFor{2000};
constexpr uint64_t kMillion = 1'000'000;
constexpr const char* kEraseLine = "\r\033[K";

// Setting up and running are one wait: it begins with the first line of the program.
milliseconds waited() {
    static const auto since = std::chrono::steady_clock::now();
    return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - since);
}

uint64_t millionths(uint64_t part, uint64_t whole) {
    if (whole == 0) return 0;
    return static_cast<uint64_t>(base::uint128_t{std::min(part, whole)} * kMillion / whole);
}

}  // namespace

uint64_t done_millionths(const drive::Progress& progress, base::Instant stop) {
    uint64_t done =
        millionths(progress.flows_done + progress.tasks_done, progress.flows + progress.tasks);
    if (stop != base::Instant::never())
        done = std::max(done, millionths(static_cast<uint64_t>(progress.time.ps),
                                         static_cast<uint64_t>(stop.ps)));
    return ((progress.pass - 1) * kMillion + done) / progress.passes;
}

std::string progress_text(const drive::Progress& progress, base::Instant stop,
                          milliseconds elapsed) {
    const uint64_t done = done_millionths(progress, stop);
    std::string counts = progress.pass > 1 ? " second pass," : "";
    if (progress.tasks != 0)
        counts += fmt::format(" {} of {} tasks,", progress.tasks_done, progress.tasks);
    if (progress.flows != 0)
        counts += fmt::format(" {} of {} flows,", progress.flows_done, progress.flows);
    return fmt::format("{} %,{} {} simulated, {:.1f} million hops, {}", done / (kMillion / 100),
                       counts, base::to_string(progress.time - base::Instant{}),
                       static_cast<double>(progress.hops) / 1e6, time_left(done, elapsed));
}

std::string time_left(uint64_t done, milliseconds elapsed) {
    if (done < kMillion / 1000) return "time left unknown";
    const auto ms = static_cast<uint64_t>(elapsed.count());
    const uint64_t seconds = ms * (kMillion - done) / done / 1000;
    if (seconds < 100) return fmt::format("{} s left", seconds + 1);
    return fmt::format("{} min left", seconds / 60 + 1);
}

TerminalLine::TerminalLine()
    : began_(std::chrono::steady_clock::now()), is_terminal_(::isatty(STDERR_FILENO) != 0) {
    waited();
}

void TerminalLine::show(const std::function<std::string(milliseconds elapsed)>& text) {
    if (waited() < (is_terminal_ ? kQuietFor : next_line_)) return;
    const auto elapsed =
        std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began_);
    if (!is_terminal_) {
        tell("{}\n", text(elapsed));
        next_line_ = 2 * waited();
        return;
    }
    tell("{}{}", kEraseLine, text(elapsed));
    is_shown_ = true;
}

void TerminalLine::clear() {
    if (!is_shown_) return;
    tell("{}", kEraseLine);
    is_shown_ = false;
}

void ProgressLine::show(const drive::Progress& progress) {
    line_.show([&](milliseconds elapsed) { return progress_text(progress, stop_, elapsed); });
}

}  // namespace tulle::cli
