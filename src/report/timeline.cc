#include "report/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/units.h"

namespace tulle::report {
namespace {

using sim::TraceSample;

// The format's processes and threads serve as groups of tracks and tracks.
constexpr uint32_t kFlowTracks = 1;
constexpr uint32_t kLinkTracks = 2;
constexpr uint32_t kRankTracks = 3;

std::string string_json(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// Microseconds, the unit of the format, exact to the picosecond.
std::string micro(int64_t picoseconds) {
    return fmt::format("{}.{:06}", picoseconds / 1'000'000, picoseconds % 1'000'000);
}

class Writer {
public:
    explicit Writer(Timeline::Sink sink) : sink_(std::move(sink)) {}

    void group(uint32_t process, const char* name) {
        event(fmt::format(R"("ph":"M","pid":{},"name":"process_name","args":{{"name":"{}"}})",
                          process, name));
    }
    void track(uint32_t process, uint32_t thread, const std::string& name) {
        event(fmt::format(R"("ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}})",
                          process, thread, string_json(name)));
    }
    void slice(uint32_t process, uint32_t thread, Instant from, Instant to,
               const std::string& name) {
        event(fmt::format(R"("ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{})", process,
                          thread, micro(from.ps), micro((to - from).ps), string_json(name)));
    }
    void counter(Instant at, const std::string& name, const char* unit, uint64_t value) {
        event(fmt::format(R"("ph":"C","pid":{},"ts":{},"name":{},"args":{{"{}":{}}})", kLinkTracks,
                          micro(at.ps), string_json(name), unit, value));
    }
    void instant(uint32_t thread, Instant at, const std::string& name) {
        event(fmt::format(R"("ph":"i","s":"t","pid":{},"tid":{},"ts":{},"name":{})", kLinkTracks,
                          thread, micro(at.ps), string_json(name)));
    }
    void finish() {
        text_ += "\n]}\n";
        sink_(text_);
    }

private:
    void event(const std::string& fields) {
        text_ += is_first_ ? "\n{" : ",\n{";
        text_ += fields + "}";
        is_first_ = false;
        if (text_.size() < kTextAtATime) return;
        sink_(text_);
        text_.clear();
    }

    static constexpr size_t kTextAtATime = 1 << 16;
    Timeline::Sink sink_;
    std::string text_ = R"({"displayTimeUnit":"ns","traceEvents":[)";
    bool is_first_ = true;
};

void add_flows(const Facts& facts, Writer& writer) {
    writer.group(kFlowTracks, "flows");
    for (size_t i = 0; i < facts.flows(); ++i) {
        const auto thread = static_cast<uint32_t>(i + 1);
        const sim::Flow& flow = facts.setup.flows[i];
        const bool ended = facts.result.flows[i].has_ended();
        const Instant end = ended ? facts.end_of(i) : std::max(flow.start, facts.result.time);
        const std::string group = facts.names.group(flow);
        writer.track(kFlowTracks, thread,
                     group.empty() ? facts.names.flow(i)
                                   : fmt::format("{}: {}", group, facts.names.flow(i)));
        writer.slice(kFlowTracks, thread, flow.start, end,
                     fmt::format("{}, {}", base::bytes_to_string(flow.bytes),
                                 outcome_name(facts.result.flows[i])));
    }
}

// The stream of each rank in a training step: its computation and its waits.
void add_ranks(const Facts& facts, Writer& writer) {
    if (facts.trainings.empty() || facts.result.tasks.empty()) return;
    writer.group(kRankTracks, "ranks");
    for (const TrainingFacts& training : facts.trainings)
        for (size_t place = 0; place < training.job->streams.size(); ++place) {
            if (training.job->stands_for[place] == 0) continue;
            const uint32_t thread = training.job->ranks[place] + 1;
            writer.track(kRankTracks, thread,
                         fmt::format("{}: GPU {}", training.name, training.job->ranks[place]));
            for (const Stretch& one : stretches_of(facts.setup, facts.result, *training.job, place))
                if (one.end > one.begin)
                    writer.slice(kRankTracks, thread, one.begin, one.end,
                                 (one.is_waiting ? "waits: " : "") + purpose_text(one.purpose));
        }
}

// The tracks of links: one per port and lane with events.
class LinkTracks {
public:
    LinkTracks(const Names& names, Writer& writer) : names_(names), writer_(writer) {}

    void add(const TraceSample& event) {
        const std::string link = names_.link(event.node, event.port);
        const Key key{event.node, event.port, event.lane};
        switch (event.kind) {
            case TraceSample::Kind::queue_bytes:
                writer_.counter(event.at, lane_name(link, event.lane) + " queue", "bytes",
                                event.value);
                return;
            case TraceSample::Kind::rate:
                writer_.counter(event.at,
                                fmt::format("{} QP {} to {} rate", names_.node(event.node),
                                            event.queue_pair, names_.endpoint(event.peer)),
                                "bps", event.value);
                return;
            case TraceSample::Kind::pause_begin: paused_since_.try_emplace(key, event.at); return;
            case TraceSample::Kind::pause_end: end_pause(key, event.at); return;
            case TraceSample::Kind::drop: writer_.instant(track(key), event.at, "drop"); return;
            case TraceSample::Kind::mark: writer_.instant(track(key), event.at, "mark"); return;
        }
    }

    // A pause without an end lasts until the end of the run.
    void finish(Instant end) {
        while (!paused_since_.empty()) end_pause(paused_since_.begin()->first, end);
    }

private:
    using Key = std::tuple<uint32_t, uint16_t, uint8_t>;

    std::string lane_name(const std::string& link, uint8_t lane) const {
        return fmt::format("{} {}", link, names_.lane(lane));
    }

    uint32_t track(const Key& key) {
        const auto [place, is_new] =
            threads_.try_emplace(key, static_cast<uint32_t>(threads_.size() + 1));
        if (is_new)
            writer_.track(
                kLinkTracks, place->second,
                lane_name(names_.link(std::get<0>(key), std::get<1>(key)), std::get<2>(key)));
        return place->second;
    }

    void end_pause(const Key& key, Instant at) {
        const auto since = paused_since_.find(key);
        if (since == paused_since_.end()) return;
        writer_.slice(kLinkTracks, track(key), since->second, at, "paused");
        paused_since_.erase(since);
    }

    const Names& names_;
    Writer& writer_;
    std::map<Key, uint32_t> threads_;
    std::map<Key, Instant> paused_since_;
};

}  // namespace

struct Timeline::Parts {
    Parts(const sim::Setup& setup, Sink sink)
        : names(setup), writer(std::move(sink)), tracks(names, writer) {}

    const Names names;
    Writer writer;
    LinkTracks tracks;
};

Timeline::Timeline(const sim::Setup& setup, Sink sink)
    : parts_(std::make_unique<Parts>(setup, std::move(sink))) {
    parts_->writer.group(kLinkTracks, "links");
}

Timeline::~Timeline() = default;

void Timeline::add(std::span<const TraceSample> events) {
    for (const TraceSample& event : events) parts_->tracks.add(event);
}

void Timeline::finish(const Facts& facts) {
    parts_->tracks.finish(facts.result.time);
    add_flows(facts, parts_->writer);
    add_ranks(facts, parts_->writer);
    parts_->writer.finish();
}

std::string timeline(const Facts& facts) {
    std::string text;
    Timeline writer(facts.setup, [&](std::string_view part) { text += part; });
    writer.add(facts.result.trace);
    writer.finish(facts);
    return text;
}

}  // namespace tulle::report
