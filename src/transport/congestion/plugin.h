// Congestion control that is not part of Tulle: functions of a shared object, which speak the C of
// include/tulle/congestion.h. This room opens no file; whoever may (live/plugin_file.h) hands over
// a table of functions.
//
// The state of a flow belongs to its queue pair, beside the 64 bytes that algorithms have there. A
// timer is not one that wakes anybody: ticks that were missed are made up for before the next
// event, each with its own instant, as the built-in algorithms do.
//
// What comes back is believed only as far as it makes sense. A flow whose plug-in asks for a rate
// that is no number, or for so little that nothing would go, notes that once, asks no more, and
// sends unpaced; whoever drives the run looks at faults() and ends it.
#pragma once

#include <tulle/congestion.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/rate.h"
#include "base/result.h"
#include "base/time.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

// What a shared object brought.
struct PluginCode {
    tulle_cc_algorithm functions{};
    std::string file;           // as its user named it
    uint64_t content_hash = 0;  // of the file
};

// One for the queue pairs that share settings. It outlives them.
class LoadedPlugin {
public:
    // Or a sentence: another version, a function that is missing, parameters that it refuses.
    static base::Result<std::shared_ptr<const LoadedPlugin>> configure(PluginCode code,
                                                                       std::string parameters,
                                                                       uint64_t line_rate_bps);

    LoadedPlugin(PluginCode code, std::string parameters);
    const tulle_cc_algorithm& functions() const { return code_.functions; }
    const void* settings() const { return memory_.data(); }
    const std::string& file() const { return code_.file; }
    std::string_view name() const { return name_; }
    const std::string& parameters() const { return parameters_; }
    uint64_t content_hash() const { return code_.content_hash; }

    // Flows that it failed, in all runs so far.
    uint32_t faults() const { return faults_.load(std::memory_order_relaxed); }
    void count_fault() const { faults_.fetch_add(1, std::memory_order_relaxed); }

private:
    PluginCode code_;
    std::string name_;
    std::string parameters_;
    std::vector<uint64_t> memory_;  // as aligned as any type needs
    mutable std::atomic<uint32_t> faults_{0};
};

struct PluginSettings {
    std::string source;  // "./mine.so:target=20", as written; what is loaded says the rest
    uint64_t line_rate_bps = 100'000'000'000;
    std::shared_ptr<const LoadedPlugin> loaded{};

    std::string_view set_line(base::Rate line) {
        line_rate_bps = line.whole_bits_per_second();
        return "";
    }
    std::string_view wrong() const {
        return source.empty() ? "algorithm is plugin, which is in a file; write its path instead, "
                                "such as algorithm: ./mine.so"
                              : "";
    }
};

// Whether the name of an algorithm is that of a file.
bool is_plugin_source(std::string_view text);

// What a plug-in did that it must not do.
struct PluginFault {
    base::Instant at{};
    std::string what;  // "at 12.5 us, told of an ACK, it asked for a rate of -1 bit/s"
};

// A flow of a plug-in, in memory of its own.
class PluginFlow {
public:
    PluginFlow(const LoadedPlugin& plugin, uint64_t flow_number);

    void on_signal(base::Instant now, const Signal& signal);
    base::Instant on_sent(base::Instant now, uint32_t bytes);

    uint32_t window_packets() const { return window_; }
    uint64_t rate_bps() const { return rate_; }  // 0: not paced
    bool probes() const { return decision_.probe != 0; }
    const PluginFault* fault() const { return fault_.get(); }
    const LoadedPlugin& plugin() const { return plugin_; }

private:
    void run_timers(base::Instant now);
    void tell(tulle_cc_event event);
    void take(const tulle_cc_event& event);
    void fail(const tulle_cc_event& event, const char* what, double value, const char* unit);

    const LoadedPlugin& plugin_;
    tulle_cc_decision decision_;
    uint64_t rate_ = 0;
    uint32_t window_ = UINT32_MAX;
    std::vector<uint64_t> memory_;  // as aligned as any type needs
    std::unique_ptr<PluginFault> fault_;
};

// What lies in the queue pair: the way to the flow.
class Plugin {
public:
    using Settings = PluginSettings;
    static constexpr Nature kNature{.heeds_notifications = true, .is_ecn_capable = true};

    Plugin() = default;
    explicit Plugin(const PluginSettings& settings) : plugin_(settings.loaded.get()) {}

    // The flow that this one speaks for from then on. Whoever calls keeps it.
    std::unique_ptr<PluginFlow> begin(uint64_t flow_number);

    void on_signal(base::Instant now, const Signal& signal) {
        if (flow_ != nullptr) flow_->on_signal(now, signal);
    }
    base::Instant on_sent(base::Instant now, uint32_t bytes) {
        return flow_ == nullptr ? now : flow_->on_sent(now, bytes);
    }
    // When the next packet might go, without asking.
    base::Instant would_send(base::Instant now, uint32_t bytes) const;
    uint32_t window_packets() const {
        return flow_ == nullptr ? UINT32_MAX : flow_->window_packets();
    }
    bool probes() const { return flow_ != nullptr && flow_->probes(); }

    template <class Table>
    static void describe(Table&) {}

private:
    const LoadedPlugin* plugin_ = nullptr;
    PluginFlow* flow_ = nullptr;
};

}  // namespace tulle::transport
