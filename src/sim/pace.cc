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

base::Duration Pace::moved() const {
    const int64_t moved = mean().ps - mean_before().ps;
    return {std::max(moved, -moved)};
}

base::Duration Pace::lateness() const {
    return {std::max<int64_t>(0, slowest_ - mean().ps)};
}

base::Duration Pace::doubt() const {
    return moved() + lateness();
}

bool PaceGroups::are_alike(const PaceHistory& a, const PaceHistory& b) {
    constexpr int64_t kAlike = 100;  // within one percent; chosen
    const int64_t difference = a.pace().ps - b.pace().ps;
    return std::max(difference, -difference) * kAlike <= b.pace().ps;
}

uint32_t PaceGroups::leader(uint32_t stream) {
    while (leader_[stream] != stream) stream = leader_[stream] = leader_[leader_[stream]];
    return stream;
}

void PaceGroups::join(uint32_t a, uint32_t b) {
    const uint32_t first = leader(a);
    const uint32_t second = leader(b);
    leader_[std::max(first, second)] = std::min(first, second);
}

void PaceGroups::add_up() {
    group_.resize(leader_.size());
    for (uint32_t stream = 0; stream < leader_.size(); ++stream) {
        const uint32_t its = leader(stream);
        if (its == stream) {
            group_[stream] = static_cast<uint32_t>(paces_.size());
            paces_.emplace_back();
        }
        group_[stream] = group_[its];
        paces_[group_[stream]].add(*histories_[stream]);
    }
}

}  // namespace tulle::sim
