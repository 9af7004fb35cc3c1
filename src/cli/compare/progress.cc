#include "cli/compare/progress.h"

#include <fmt/format.h>

#include <numeric>

namespace tulle::cli {
namespace {

constexpr uint64_t kMillion = 1'000'000;

}  // namespace

std::string together_text(size_t done, const std::vector<uint64_t>& millionths,
                          std::chrono::milliseconds elapsed) {
    const uint64_t sum = std::accumulate(millionths.begin(), millionths.end(), uint64_t{0});
    const uint64_t share = millionths.empty() ? 0 : sum / millionths.size();
    return fmt::format("{} of {} runs done, {} %, {}", done, millionths.size(),
                       share / (kMillion / 100), time_left(share, elapsed));
}

void TogetherLine::show(size_t run, const drive::Progress& progress) {
    millionths_[run] = done_millionths(progress, setups_[run].stop);
    line_.show([&](std::chrono::milliseconds elapsed) {
        return together_text(done_, millionths_, elapsed);
    });
}

void TogetherLine::end(size_t run) {
    millionths_[run] = kMillion;
    ++done_;
}

}  // namespace tulle::cli
