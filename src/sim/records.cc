// Takes the records of nodes out of their partitions, in the order of time. Ties are broken by
// place, and a place is in one partition, so the order depends neither on the number of partitions
// nor on how often records are taken.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/network.h"

namespace tulle::sim {
namespace {

// Calls `take` with each record from before that instant, and keeps the others.
template <class Record, class Take>
void take_before(Instant before, std::vector<Record>& records, Take&& take) {
    size_t kept = 0;
    for (Record& record : records) {
        if (record.at < before || before == Instant::never())
            take(record);
        else
            records[kept++] = record;
    }
    records.resize(kept);
}

}  // namespace

size_t Network::records_kept() const {
    size_t count = 0;
    for (const auto& partition : partitions_) count += partition->cabling().captured.size();
    for (const auto& samples : traces_) count += samples.size();
    return count;
}

Records Network::take_records(Instant before) {
    Records taken;
    for (const auto& partition : partitions_)
        take_before(before, partition->cabling().captured,
                    [&](const CapturedPacket& c) { taken.captured.push_back(c); });
    std::ranges::stable_sort(taken.captured, {}, [](const CapturedPacket& c) {
        return std::tuple(c.at, c.cable, c.from_a);
    });
    for (auto& samples : traces_)
        take_before(before, samples, [&](const TraceSample& s) {
            if (s.kind == TraceSample::Kind::rate &&
                std::exchange(rates_[{s.node, s.queue_pair}], s.value) == s.value)
                return;
            taken.trace.push_back(s);
        });
    std::ranges::stable_sort(taken.trace, {}, [](const TraceSample& e) {
        return std::tuple(e.at, e.node, e.port, e.lane, e.queue_pair);
    });
    return taken;
}

}  // namespace tulle::sim
