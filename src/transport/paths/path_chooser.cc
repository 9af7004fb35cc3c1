#include "transport/paths/path_chooser.h"

#include <algorithm>

namespace tulle::transport {

PathChooser::PathChooser(const PathSettings& settings, uint16_t base, base::StreamOwner owner)
    : policy_(settings.policy),
      base_(base),
      count_(static_cast<uint16_t>(settings.are_several() ? settings.count : 1)),
      random_(owner) {
    if (policy_ == PathPolicy::bitmap) penalties_.resize(count_);
    if (policy_ == PathPolicy::round_trip) round_trips_.resize(count_);
    order_ = any();
}

uint16_t PathChooser::next(base::Instant now) {
    uint16_t place = 0;
    switch (policy_) {
        case PathPolicy::one: break;
        case PathPolicy::oblivious: place = next_in_turn(); break;
        case PathPolicy::bitmap: place = next_without_penalty(); break;
        case PathPolicy::reps: place = next_recycled(now); break;
        case PathPolicy::round_trip: place = next_by_round_trip(); break;
    }
    return static_cast<uint16_t>(base_ + place);
}

uint16_t PathChooser::next_in_turn() {
    const auto place = static_cast<uint16_t>((turn_ ^ order_) & (count_ - 1));
    turn_ = static_cast<uint16_t>((turn_ + 1) & (count_ - 1));
    if (turn_ == 0) order_ = any();
    return place;
}

// Skips values with a penalty, and lowers it by one each time. If all have one, uses the last.
uint16_t PathChooser::next_without_penalty() {
    uint16_t place = next_in_turn();
    for (uint32_t tries = 1; tries < count_ && penalties_[place] != 0; ++tries) {
        --penalties_[place];
        place = next_in_turn();
    }
    return place;
}

// Frozen after a timeout: only values that came back are used, repeatedly.
uint16_t PathChooser::next_recycled(base::Instant now) {
    if (recycled_ != 0) {
        const uint16_t place = ring_[oldest_];
        oldest_ = (oldest_ + 1) % kRecycled;
        --recycled_;
        return place;
    }
    if (now < frozen_until_ && filled_ != 0) {
        oldest_ = (oldest_ + 1) % filled_;
        return ring_[oldest_];
    }
    return any();
}

uint16_t PathChooser::next_by_round_trip() {
    if (left_ == 0) {
        const uint16_t a = any();
        const uint16_t b = any();
        place_ = round_trips_[b] < round_trips_[a] ? b : a;
        left_ = kFlowletPackets;
    }
    --left_;
    return place_;
}

void PathChooser::recycle(uint16_t place) {
    if (recycled_ == kRecycled) return;
    ring_[(oldest_ + recycled_) % kRecycled] = place;
    ++recycled_;
    filled_ = std::max(filled_, std::min(oldest_ + recycled_, kRecycled));
}

void PathChooser::on_arrived(uint16_t entropy, bool is_marked, base::Duration round_trip) {
    const uint16_t place = place_of(entropy);
    if (policy_ == PathPolicy::reps && !is_marked) recycle(place);
    if (is_marked) punish(entropy, kMarkPenalty);
    if (policy_ != PathPolicy::round_trip || round_trip.ps <= 0) return;
    const auto sample =
        static_cast<uint32_t>(std::min<int64_t>(round_trip.ps / 1000, UINT32_MAX / kAverageOver));
    uint32_t& average = round_trips_[place];
    average = average == 0 ? sample : average - average / kAverageOver + sample / kAverageOver;
}

void PathChooser::on_lost(base::Instant now, uint16_t entropy) {
    punish(entropy, kMostPenalty);
    if (policy_ == PathPolicy::reps) frozen_until_ = now + kFrozen;
    // A lost packet counts as slower than any that arrived.
    if (policy_ == PathPolicy::round_trip) round_trips_[place_of(entropy)] = UINT32_MAX / 2;
}

void PathChooser::punish(uint16_t entropy, uint8_t penalty) {
    if (policy_ != PathPolicy::bitmap) return;
    uint8_t& sum = penalties_[place_of(entropy)];
    sum = std::min<uint8_t>(kMostPenalty, static_cast<uint8_t>(sum + penalty));
}

uint32_t PathChooser::penalty_of(uint16_t entropy) const {
    return penalties_.empty() ? 0 : penalties_[place_of(entropy)];
}

}  // namespace tulle::transport
