#include "base/histogram.h"

#include <algorithm>

#include "base/check.h"

namespace tulle::base {

void Histogram::record(uint64_t value, uint64_t count) {
    if (count == 0) return;
    counts_[bucket_of(value)] += count;
    count_ += count;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
    sum_ += uint128_t{value} * count;
}

void Histogram::merge(const Histogram& other) {
    for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
    sum_ += other.sum_;
}

uint64_t Histogram::mean() const {
    return empty() ? 0 : static_cast<uint64_t>(sum_ / count_);
}

uint64_t Histogram::percentile(uint64_t parts, uint64_t out_of) const {
    TULLE_CHECK(out_of != 0 && parts <= out_of);
    if (empty()) return 0;
    const uint128_t scaled = uint128_t{count_} * parts;
    const auto rank = static_cast<uint64_t>(scaled / out_of + (scaled % out_of != 0 ? 1 : 0));
    size_t bucket = bucket_of(min_);
    for (uint64_t seen = counts_[bucket]; seen < rank; seen += counts_[bucket]) ++bucket;
    return std::min(last_value_of(bucket), max_);
}

uint64_t Histogram::last_value_of(size_t bucket) {
    if (bucket < 2 * kBucketsPerPower) return bucket;
    const size_t dropped_bits = bucket / kBucketsPerPower - 1;
    const uint64_t digits = bucket % kBucketsPerPower + kBucketsPerPower;
    return ((digits + 1) << dropped_bits) - 1;
}

}  // namespace tulle::base
