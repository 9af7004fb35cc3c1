#include "base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/random.h"

namespace tulle::base {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

// From 0 to 2^64 - 1, with as many small values as large ones.
std::vector<uint64_t> values_of_all_magnitudes(size_t count) {
    RandomStream random({.seed = 1});
    std::vector<uint64_t> values;
    for (size_t i = 0; i < count; ++i) values.push_back(random.next() >> random.below(64));
    return values;
}

Histogram histogram_of(const std::vector<uint64_t>& values) {
    Histogram histogram;
    for (const uint64_t value : values) histogram.record(value);
    return histogram;
}

void expect_close_above(uint64_t estimate, uint64_t truth) {
    EXPECT_GE(estimate, truth);
    EXPECT_LE(estimate - truth, truth / 64);
}

TEST(Histogram, percentiles_are_within_a_64th_of_those_of_a_sorted_vector) {
    for (const size_t count : {1, 2, 3, 100, 9'999}) {
        std::vector<uint64_t> values = values_of_all_magnitudes(count);
        const Histogram histogram = histogram_of(values);
        std::sort(values.begin(), values.end());
        for (uint64_t parts = 1; parts <= 1'000; ++parts) {
            const uint64_t rank = (count * parts + 999) / 1'000;
            expect_close_above(histogram.percentile(parts, 1'000), values[rank - 1]);
        }
    }
}

TEST(Histogram, values_below_128_are_exact) {
    Histogram histogram;
    for (uint64_t value = 0; value < 128; ++value) histogram.record(value);
    for (uint64_t rank = 1; rank <= 128; ++rank)
        EXPECT_EQ(histogram.percentile(rank, 128), rank - 1);
}

TEST(Histogram, the_lowest_percentile_is_close_to_the_minimum_and_the_highest_is_the_maximum) {
    const Histogram histogram = histogram_of({100'000, 200'000, 300'001});
    expect_close_above(histogram.percentile(0, 1), 100'000);
    EXPECT_EQ(histogram.percentile(1, 1), 300'001u);
}

TEST(Histogram, the_edges_of_every_bucket_are_within_the_error) {
    for (int power = 0; power < 64; ++power) {
        for (const uint64_t value : {(uint64_t{1} << power) - 1, uint64_t{1} << power}) {
            Histogram histogram;
            histogram.record(value);
            histogram.record(kMost);
            expect_close_above(histogram.percentile(1, 2), value);
        }
    }
}

TEST(Histogram, minimum_maximum_and_mean_are_exact) {
    const Histogram histogram = histogram_of({1'000'003, 5, 70'007});
    EXPECT_EQ(histogram.min(), 5u);
    EXPECT_EQ(histogram.max(), 1'000'003u);
    EXPECT_EQ(histogram.mean(), (1'000'003u + 5 + 70'007) / 3);
}

TEST(Histogram, the_mean_of_the_largest_values_does_not_overflow) {
    Histogram histogram;
    histogram.record(kMost, 1'000'000);
    EXPECT_EQ(histogram.mean(), kMost);
    EXPECT_EQ(histogram.percentile(1, 2), kMost);
}

TEST(Histogram, recording_a_count_is_recording_the_value_that_often) {
    Histogram histogram;
    histogram.record(10, 99);
    histogram.record(1'000, 1);
    histogram.record(5, 0);
    EXPECT_EQ(histogram.count(), 100u);
    EXPECT_EQ(histogram.min(), 10u);
    EXPECT_EQ(histogram.percentile(99, 100), 10u);
    EXPECT_EQ(histogram.percentile(991, 1'000), 1'000u);
}

TEST(Histogram, merging_is_recording_both) {
    const std::vector<uint64_t> values = values_of_all_magnitudes(1'000);
    Histogram halves = histogram_of({values.begin(), values.begin() + 500});
    halves.merge(histogram_of({values.begin() + 500, values.end()}));
    halves.merge(Histogram());
    const Histogram whole = histogram_of(values);
    EXPECT_EQ(halves.count(), whole.count());
    EXPECT_EQ(halves.min(), whole.min());
    EXPECT_EQ(halves.max(), whole.max());
    EXPECT_EQ(halves.mean(), whole.mean());
    for (uint64_t parts = 0; parts <= 100; ++parts)
        EXPECT_EQ(halves.percentile(parts, 100), whole.percentile(parts, 100));
}

TEST(Histogram, an_empty_one_is_all_zero) {
    const Histogram histogram;
    EXPECT_EQ(histogram.min(), 0u);
    EXPECT_EQ(histogram.max(), 0u);
    EXPECT_EQ(histogram.mean(), 0u);
    EXPECT_EQ(histogram.percentile(1, 2), 0u);
}

}  // namespace
}  // namespace tulle::base
