#include "transport/congestion/plugin.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "wire/telemetry.h"

namespace tulle::transport {
namespace {

using base::Duration;
using base::Instant;

constexpr uint64_t kBitPicoseconds = 8'000'000'000'000;
// A run without any event for this long has ended (sim/course.cc).
constexpr Duration kLongestWait{100'000'000'000};
// Chosen: a rest of one second with a tick each 100 ns. Nobody needs more ticks.
constexpr uint32_t kMostTicks = 10'000'000;
// Chosen: with shorter ticks a run would do nothing else.
constexpr Duration kShortestTick{1'000};
constexpr size_t kLongestSentence = 200;
constexpr size_t kMostBytes = 1 << 20;  // chosen
constexpr double kMostRate = 1e18;

size_t words_of(size_t bytes) {
    return bytes / sizeof(uint64_t) + 1;
}

std::string printed_value(double value) {
    if (std::isnan(value)) return "not a number";
    char room[40];
    std::snprintf(room, sizeof room, "%.6g", value);
    return room;
}

// A plug-in's text, as part of a sentence on one line.
std::string one_line(std::string_view text) {
    std::string line;
    for (const char c : text.substr(0, kLongestSentence))
        line.push_back(c >= ' ' && c != '\x7f' ? c : ' ');
    if (text.size() > kLongestSentence) line += "...";
    return line.empty() ? "it does not say why" : line;
}

const char* event_name(uint32_t kind) {
    switch (kind) {
        case TULLE_CC_SENT: return "told of a packet that it sent";
        case TULLE_CC_ACK: return "told of an ACK";
        case TULLE_CC_CNP: return "told of a CNP";
        case TULLE_CC_BECN: return "told of a BECN";
        case TULLE_CC_NACK: return "told of a NACK";
        case TULLE_CC_TIMEOUT: return "told of a timeout";
        case TULLE_CC_TIMER: return "told of its timer";
        default: return "asked how to begin";
    }
}

uint32_t kind_of(Signal::Kind kind) {
    switch (kind) {
        case Signal::Kind::cnp: return TULLE_CC_CNP;
        case Signal::Kind::becn: return TULLE_CC_BECN;
        case Signal::Kind::ack: return TULLE_CC_ACK;
        case Signal::Kind::loss: return TULLE_CC_NACK;
        case Signal::Kind::timeout: return TULLE_CC_TIMEOUT;
        case Signal::Kind::back_pressure: break;  // not reported to plug-ins
    }
    return TULLE_CC_ACK;
}

// What is wrong with the function table; empty if it can be called.
std::string wrong_with(const PluginCode& code) {
    const tulle_cc_algorithm& f = code.functions;
    if (f.version == 0 || f.version > TULLE_CONGESTION_VERSION)
        return "is made for version " + std::to_string(f.version) +
               " of tulle/congestion.h, and this is version " +
               std::to_string(TULLE_CONGESTION_VERSION) + "; compile it again";
    if (f.name == nullptr || *f.name == '\0') return "has no name; set tulle_congestion.name";
    const char* const lacks = f.configure == nullptr  ? "configure"
                              : f.start == nullptr    ? "start"
                              : f.on_event == nullptr ? "on_event"
                                                      : nullptr;
    if (lacks != nullptr)
        return std::string("has no function ") + lacks + "; set tulle_congestion." + lacks;
    if (f.flow_bytes > kMostBytes || f.settings_bytes > kMostBytes)
        return "asks for more than 1 MiB of memory for its settings or for a flow";
    return "";
}

}  // namespace

bool is_plugin_source(std::string_view text) {
    return text.find('/') != std::string_view::npos || text.ends_with(".so") ||
           text.find(".so:") != std::string_view::npos;
}

LoadedPlugin::LoadedPlugin(PluginCode code, std::string parameters)
    : code_(std::move(code)),
      name_(one_line(code_.functions.name)),
      parameters_(std::move(parameters)),
      memory_(words_of(code_.functions.settings_bytes)) {}

base::Result<std::shared_ptr<const LoadedPlugin>> LoadedPlugin::configure(PluginCode code,
                                                                          std::string parameters,
                                                                          uint64_t line_rate_bps) {
    const std::string file = code.file;
    if (const std::string wrong = wrong_with(code); !wrong.empty())
        return base::Error{file + " " + wrong};
    auto made = std::make_shared<LoadedPlugin>(std::move(code), std::move(parameters));
    const tulle_cc_host host{line_rate_bps, made->parameters_.c_str()};
    if (const char* wrong = made->functions().configure(made->memory_.data(), &host))
        return base::Error{file + " refuses '" + made->parameters_ + "': " + one_line(wrong)};
    return std::shared_ptr<const LoadedPlugin>(std::move(made));
}

PluginFlow::PluginFlow(const LoadedPlugin& plugin, uint64_t flow_number, PluginPath path)
    : plugin_(plugin), decision_{}, path_(path), memory_(words_of(plugin.functions().flow_bytes)) {
    decision_.rate_bps = decision_.window_packets = std::numeric_limits<double>::infinity();
    plugin.functions().start(plugin.settings(), memory_.data(), flow_number, &decision_);
    take({});
}

void PluginFlow::on_signal(Instant now, const Signal& signal) {
    run_timers(now);
    tulle_cc_event event{};
    event.kind = kind_of(signal.kind);
    event.acknowledged_packets = signal.acknowledged_packets;
    event.trimmed_packets = signal.trimmed_packets;
    event.packets_in_flight = signal.packets_in_flight;
    event.marked = signal.marked ? 1 : 0;
    event.now_ps = now.ps;
    event.round_trip_ps = signal.round_trip.ps;
    std::array<tulle_cc_hop, wire::Telemetry::kMaxHops> hops;
    if (signal.telemetry != nullptr) {
        for (const wire::HopTelemetry& hop : signal.telemetry->hops())
            hops[event.hop_count++] = {hop.at.ps, hop.sent_bytes, hop.rate.whole_bits_per_second(),
                                       hop.queue_bytes, hop.port};
        event.hops = hops.data();
    }
    tell(event);
}

Instant PluginFlow::on_sent(Instant now, uint32_t bytes) {
    run_timers(now);
    decision_.next_at_ps = 0;
    decision_.probe = 0;
    tulle_cc_event event{};
    event.kind = TULLE_CC_SENT;
    event.bytes = bytes;
    event.now_ps = now.ps;
    tell(event);
    if (fault_) return now;
    Instant next = now;
    if (decision_.next_at_ps != 0)
        next = std::max(now, Instant{decision_.next_at_ps});
    else if (rate_ != 0)
        next = now + Duration{static_cast<int64_t>(bytes * kBitPicoseconds / rate_)};
    if (next - now <= kLongestWait) return next;
    fail(event, "let the next packet wait for", static_cast<double>((next - now).ps) * 1e-12,
         "s, which is never; 100 ms is the most");
    return now;
}

// Each tick at its own instant, before later events.
void PluginFlow::run_timers(Instant now) {
    uint32_t ticks = 0;
    while (!fault_ && decision_.timer_at_ps != 0 && decision_.timer_at_ps <= now.ps) {
        tulle_cc_event event{};
        event.kind = TULLE_CC_TIMER;
        event.now_ps = decision_.timer_at_ps;
        decision_.timer_at_ps = 0;
        if (++ticks > kMostTicks)
            return fail(event, "let its timer tick more than", kMostTicks,
                        "times while nothing else happened");
        tell(event);
    }
}

void PluginFlow::tell(tulle_cc_event event) {
    if (fault_) return;
    plugin_.functions().on_event(plugin_.settings(), memory_.data(), &event, &decision_);
    take(event);
}

// The comparisons reject NaN.
void PluginFlow::take(const tulle_cc_event& event) {
    const double rate = decision_.rate_bps;
    const double window = decision_.window_packets;
    if (!(rate >= 1)) return fail(event, "asked for a rate of", rate, "bit/s");
    if (!(window >= 1)) return fail(event, "asked for a window of", window, "packets");
    if (decision_.timer_at_ps != 0 && decision_.timer_at_ps <= event.now_ps)
        return fail(event, "set its timer to", static_cast<double>(decision_.timer_at_ps) * 1e-6,
                    "us, which is not later");
    if (decision_.timer_at_ps != 0 && decision_.timer_at_ps - event.now_ps < kShortestTick.ps)
        return fail(event, "set its timer to",
                    static_cast<double>(decision_.timer_at_ps - event.now_ps) * 1e-3,
                    "ns from then on; 1 ns is the least");
    rate_ = rate < kMostRate ? static_cast<uint64_t>(rate) : 0;
    window_ = window < UINT32_MAX ? static_cast<uint32_t>(window) : UINT32_MAX;
    take_path();
}

void PluginFlow::take_path() {
    const uint32_t chosen = plugin_.functions().version > 1 ? decision_.path : 0;
    if (chosen == chosen_path_ || path_.entropy == nullptr) return;
    *path_.entropy = static_cast<uint16_t>(*path_.entropy + chosen - chosen_path_);
    *path_.middles_left = 0;
    chosen_path_ = chosen;
}

void PluginFlow::fail(const tulle_cc_event& event, const char* what, double value,
                      const char* unit) {
    char at[60];
    std::snprintf(at, sizeof at, "at %.6g us, ", static_cast<double>(event.now_ps) * 1e-6);
    fault_ = std::make_unique<PluginFault>();
    fault_->at = Instant{event.now_ps};
    fault_->what = std::string(at) + event_name(event.kind) + ", it " + what + " " +
                   printed_value(value) + " " + unit;
    rate_ = 0;
    window_ = UINT32_MAX;
    decision_.probe = 0;
    plugin_.count_fault();
}

std::unique_ptr<PluginFlow> Plugin::begin(uint64_t flow_number, PluginPath path) {
    auto flow = std::make_unique<PluginFlow>(*plugin_, flow_number, path);
    flow_ = flow.get();
    return flow;
}

Instant Plugin::would_send(Instant now, uint32_t bytes) const {
    const uint64_t rate = flow_ == nullptr ? 0 : flow_->rate_bps();
    return rate == 0 ? now : now + Duration{static_cast<int64_t>(bytes * kBitPicoseconds / rate)};
}

}  // namespace tulle::transport
