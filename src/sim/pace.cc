#include "sim/pace.h"

namespace tulle::sim {

void PaceHistory::add(base::Instant at) {
    ++seen_;
    if (count_ == kMost) {
        for (uint32_t i = 0; i < kMost / 2; ++i) at_[i] = at_[2 * i + 1];
        count_ = kMost / 2;
        stride_ *= 2;
    }
    if (seen_ % stride_ == 0) at_[count_++] = at;
}

PaceHistory::Stretch PaceHistory::stretch(uint32_t back) const {
    const uint32_t last = count_ - 1 - back;
    return {at_[last] - at_[last - span()], span() * stride_};
}

void Pace::add(const PaceHistory& history) {
    const PaceHistory::Stretch recent = history.recent();
    const PaceHistory::Stretch before = history.before();
    ++streams_;
    recent_ += recent.time.ps;
    recent_periods_ += static_cast<int64_t>(recent.periods);
    before_ += before.time.ps;
    before_periods_ += static_cast<int64_t>(before.periods);
    const auto period = [](const PaceHistory::Stretch& stretch) {
        return stretch.time.ps / static_cast<int64_t>(stretch.periods);
    };
    slowest_ = std::max(slowest_, std::min(period(recent), period(before)));
}

base::Duration Pace::doubt() const {
    const int64_t moved = mean().ps - mean_before().ps;
    return {std::max(moved, -moved) + std::max<int64_t>(0, slowest_ - mean().ps)};
}

}  // namespace tulle::sim
