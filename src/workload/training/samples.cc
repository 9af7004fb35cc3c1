#include "workload/training/samples.h"

#include <algorithm>

#include "base/int128.h"

namespace tulle::workload {

using base::Duration;

Duration on_line(Duration small_time, uint64_t small, Duration large_time, uint64_t large,
                 uint64_t bytes) {
    const auto more = static_cast<uint64_t>((large_time - small_time).ps);
    return large_time + Duration{static_cast<int64_t>(base::uint128_t{more} * (bytes - large) /
                                                      (large - small))};
}

namespace {

bool is_same(const CollectiveOptions& a, const CollectiveOptions& b) {
    return a.collective == b.collective && a.bytes == b.bytes && a.algorithm == b.algorithm &&
           a.protocol == b.protocol && a.channels == b.channels && a.chunking == b.chunking;
}

}  // namespace

const Rehearsed& Samples::of(const Teams::Order& order, uint64_t bytes) {
    const std::vector<Placement> groups = teams_.samples(order.kind);
    const uint32_t members = groups.front().size();
    const CollectiveOptions tuned = bytes == order.bytes
                                        ? teams_.tuned(order, groups.front())
                                        : teams_.tuned_part(order, groups.front(), bytes);
    for (const Sample& known : samples_)
        if (known.kind == order.kind && options_.reuses &&
            (is_same(known.options, tuned) || sends_alike(known.options, tuned, members)))
            return known.found;
    samples_.push_back({order.kind, tuned, rehearse_(groups, tuned)});
    return samples_.back().found;
}

Rehearsed Samples::of_any_size(const Teams::Order& order) {
    uint64_t ranks = 0;
    for (const Placement& group : teams_.samples(order.kind)) ranks += group.size();
    const uint64_t most = std::max(kLeast, kMostOfAll / ranks);
    if (order.bytes <= most) return of(order);
    const uint64_t few = most / 4;
    const Rehearsed large = of(order, most);
    const Rehearsed small = of(order, few);
    if (options_.checks && order.bytes > checked_bytes_) {
        checked_bytes_ = order.bytes;
        const uint64_t third = std::min(order.bytes, 2 * most);
        expected_ = on_line(small.time, few, large.time, most, third);
        taken_ = of(order, third).time;
    }
    const auto beyond = static_cast<int64_t>((order.bytes - most) / (most - few) + 1);
    return {on_line(small.time, few, large.time, most, order.bytes),
            large.doubt + (large.doubt + small.doubt) * beyond};
}

}  // namespace tulle::workload
