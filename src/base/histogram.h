// The distribution of a quantity, in fixed memory (30 KB) for any number of values.
//
// The buckets are linear within each power of two and logarithmic across them: each value below 64
// has its own bucket, and every later range [2^e, 2^(e+1)) is divided into 64 equal ones. Only the
// bucket of a value is kept, so its relative error is below 1/64 (1.6 %). Count, minimum, maximum
// and mean are exact.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/int128.h"

namespace tulle::base {

class Histogram {
public:
    void record(uint64_t value, uint64_t count = 1);
    void merge(const Histogram& other);

    uint64_t count() const { return count_; }
    bool empty() const { return count_ == 0; }

    // All of these are 0 for an empty histogram.
    uint64_t min() const { return empty() ? 0 : min_; }
    uint64_t max() const { return max_; }
    uint64_t mean() const;  // rounded down

    // The value of rank ceil(count * parts / out_of) in sorted order, counted from 1; rank 0 counts
    // as 1. Returns the upper end of that value's bucket, at most max(): never less than the true
    // value, and more by less than 1/64 of it. The median is percentile(1, 2), the 99.9th
    // percentile percentile(999, 1000).
    uint64_t percentile(uint64_t parts, uint64_t out_of) const;

private:
    static constexpr int kDigitBits = 6;
    static constexpr size_t kBucketsPerPower = size_t{1} << kDigitBits;
    static constexpr size_t kBuckets = (64 - kDigitBits + 1) * kBucketsPerPower;

    // The row of a bucket is the number of dropped low bits plus one; row 0 is exact.
    static constexpr size_t bucket_of(uint64_t value) {
        if (value < kBucketsPerPower) return value;
        const int dropped_bits = std::bit_width(value) - 1 - kDigitBits;
        return dropped_bits * kBucketsPerPower + (value >> dropped_bits);
    }
    static uint64_t last_value_of(size_t bucket);

    std::array<uint64_t, kBuckets> counts_{};
    uint64_t count_ = 0;
    uint64_t min_ = std::numeric_limits<uint64_t>::max();
    uint64_t max_ = 0;
    uint128_t sum_ = 0;
};

}  // namespace tulle::base
