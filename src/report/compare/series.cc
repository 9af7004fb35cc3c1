#include "report/compare/series.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tulle::report {
namespace {

using base::Duration;
using base::Instant;
using sim::TraceSample;

// More than a chart shows: a run may last ten times as long as others in the same chart.
constexpr int64_t kBins = 2400;

class Binner {
public:
    explicit Binner(const sim::Result& result) : end_(result.time) {
        series_.bin = {std::max<int64_t>(1, (result.time.ps + kBins) / kBins)};
        series_.queue_bytes.resize(kBins);
        paused_ps_.resize(kBins);
    }

    void add(const TraceSample& event) {
        const Key key{event.node, event.port, event.lane};
        switch (event.kind) {
            case TraceSample::Kind::queue_bytes: {
                pass_to(bin_of(event.at));
                queued_[key] = event.value;
                uint64_t& most = series_.queue_bytes[bin_];
                most = std::max(most, event.value);
                return;
            }
            case TraceSample::Kind::pause_begin: paused_since_.try_emplace(key, event.at); return;
            case TraceSample::Kind::pause_end: end_pause(key, event.at); return;
            case TraceSample::Kind::drop:
            case TraceSample::Kind::mark:
            case TraceSample::Kind::rate: return;
        }
    }

    TimeSeries finish() && {
        pass_to(bin_of(end_));
        while (!paused_since_.empty()) end_pause(paused_since_.begin()->first, end_);
        for (const int64_t ps : paused_ps_)
            series_.paused_ports.push_back(static_cast<uint64_t>(ps * 1000 / series_.bin.ps));
        return std::move(series_);
    }

private:
    using Key = std::tuple<uint32_t, uint16_t, uint8_t>;

    size_t bin_of(Instant at) const {
        return static_cast<size_t>(std::clamp<int64_t>(at.ps / series_.bin.ps, 0, kBins - 1));
    }

    // Without an event a queue keeps its depth; the trace reports when it becomes empty.
    void pass_to(size_t bin) {
        if (bin <= bin_) return;
        uint64_t most = 0;
        for (const auto& [key, bytes] : queued_) most = std::max(most, bytes);
        while (bin_ < bin) {
            ++bin_;
            series_.queue_bytes[bin_] = std::max(series_.queue_bytes[bin_], most);
        }
    }

    void end_pause(const Key& key, Instant to) {
        const auto since = paused_since_.find(key);
        if (since == paused_since_.end()) return;
        int64_t from = since->second.ps;
        while (from < to.ps) {
            const size_t bin = bin_of({from});
            const bool is_last = bin + 1 == static_cast<size_t>(kBins);
            const int64_t next = static_cast<int64_t>(bin + 1) * series_.bin.ps;
            const int64_t until = is_last ? to.ps : std::min(to.ps, next);
            paused_ps_[bin] += until - from;
            from = until;
        }
        paused_since_.erase(since);
    }

    Instant end_;
    TimeSeries series_;
    std::vector<int64_t> paused_ps_;
    std::map<Key, Instant> paused_since_;
    std::map<Key, uint64_t> queued_;
    size_t bin_ = 0;
};

}  // namespace

TimeSeries series_of(const sim::Result& result) {
    if (result.trace.empty()) return {};
    Binner binner(result);
    for (const TraceSample& event : result.trace) binner.add(event);
    return std::move(binner).finish();
}

}  // namespace tulle::report
