#include "report/page/link_series.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tulle::report {
namespace {

using base::Duration;
using base::Instant;
using sim::TraceSample;

constexpr int64_t kBins = 300;
constexpr size_t kMostPoints = 400;  // of a sender

class Filler {
public:
    Filler(const sim::Result& result, std::vector<LinkSeries>& links)
        : end_(result.time), bin_{std::max<int64_t>(1, (result.time.ps + kBins - 1) / kBins)} {
        for (LinkSeries& link : links) {
            link.queue_bytes.assign(kBins, 0);
            link.held_permille.assign(kBins, 0);
            link.marks.assign(kBins, 0);
            by_port_[{link.node, link.port}] = &link;
        }
    }

    void add(const TraceSample& event) {
        const auto found = by_port_.find({event.node, event.port});
        if (found == by_port_.end()) return;
        LinkSeries& link = *found->second;
        const size_t bin = bin_of(event.at);
        const Lane lane{event.node, event.port, event.lane};
        switch (event.kind) {
            case TraceSample::Kind::queue_bytes: return add_queue(link, lane, event);
            case TraceSample::Kind::mark: ++link.marks[bin]; return;
            case TraceSample::Kind::pause_begin: since_.try_emplace(lane, event.at); return;
            case TraceSample::Kind::pause_end: end_pause(lane, event.at); return;
            case TraceSample::Kind::drop:
            case TraceSample::Kind::rate: return;
        }
    }

    Duration finish() {
        while (!since_.empty()) end_pause(since_.begin()->first, end_);
        for (const auto& [port, link] : by_port_)
            for (uint64_t& held : link->held_permille)
                held = std::min<uint64_t>(1000, held * 1000 / static_cast<uint64_t>(bin_.ps));
        return bin_;
    }

private:
    using Lane = std::tuple<uint32_t, uint16_t, uint8_t>;

    size_t bin_of(Instant at) const {
        return static_cast<size_t>(std::clamp<int64_t>(at.ps / bin_.ps, 0, kBins - 1));
    }

    // The trace reports a queue when a packet joins it and when it is empty; it shrinks in between.
    void add_queue(LinkSeries& link, const Lane& lane, const TraceSample& event) {
        const size_t bin = bin_of(event.at);
        const auto [place, is_first] = queued_.try_emplace(lane, event.at, event.value);
        if (!is_first) {
            const auto& [from, bytes] = place->second;
            const size_t first = bin_of(from);
            for (size_t i = first + 1; i < bin; ++i) {
                const auto left = static_cast<int64_t>(bin - i);
                const auto steps = static_cast<int64_t>(bin - first);
                const auto between =
                    static_cast<uint64_t>((static_cast<int64_t>(bytes) * left +
                                           static_cast<int64_t>(event.value) * (steps - left)) /
                                          steps);
                link.queue_bytes[i] = std::max(link.queue_bytes[i], between);
            }
            place->second = {event.at, event.value};
        }
        link.queue_bytes[bin] = std::max(link.queue_bytes[bin], event.value);
    }

    // Picoseconds until all are known.
    void end_pause(const Lane& lane, Instant to) {
        const auto since = since_.find(lane);
        if (since == since_.end()) return;
        LinkSeries& link = *by_port_.at({std::get<0>(lane), std::get<1>(lane)});
        for (int64_t from = since->second.ps; from < to.ps;) {
            const size_t bin = bin_of({from});
            const bool is_last = bin + 1 == static_cast<size_t>(kBins);
            const int64_t until =
                is_last ? to.ps : std::min(to.ps, static_cast<int64_t>(bin + 1) * bin_.ps);
            link.held_permille[bin] += static_cast<uint64_t>(until - from);
            from = until;
        }
        since_.erase(since);
    }

    const Instant end_;
    const Duration bin_;
    std::map<std::pair<uint32_t, uint16_t>, LinkSeries*> by_port_;
    std::map<Lane, Instant> since_;
    std::map<Lane, std::pair<Instant, uint64_t>> queued_;
};

uint64_t least_of(const SenderRate& rate) {
    return std::ranges::min_element(rate.points, {}, [](const auto& one) { return one.second; })
        ->second;
}

void thin_out(SenderRate& rate) {
    if (rate.points.size() <= kMostPoints) return;
    const size_t step = (rate.points.size() + kMostPoints - 1) / kMostPoints;
    std::vector<std::pair<Instant, uint64_t>> some;
    for (size_t i = 0; i < rate.points.size(); i += step) some.push_back(rate.points[i]);
    some.push_back(rate.points.back());
    rate.points = std::move(some);
}

}  // namespace

Duration fill(const sim::Result& result, std::vector<LinkSeries>& links) {
    Filler filler(result, links);
    for (const TraceSample& event : result.trace) filler.add(event);
    return filler.finish();
}

std::vector<SenderRate> sender_rates(const sim::Result& result) {
    std::map<std::pair<uint32_t, uint32_t>, SenderRate> by_sender;
    for (const TraceSample& event : result.trace) {
        if (event.kind != TraceSample::Kind::rate) continue;
        SenderRate& rate = by_sender[{event.node, event.queue_pair}];
        rate.node = event.node;
        rate.queue_pair = event.queue_pair;
        rate.peer = event.peer;
        rate.points.emplace_back(event.at, event.value);
    }
    std::vector<SenderRate> rates;
    for (auto& [key, rate] : by_sender) rates.push_back(std::move(rate));
    std::ranges::stable_sort(rates, {}, least_of);
    for (SenderRate& rate : rates) thin_out(rate);
    return rates;
}

}  // namespace tulle::report
