// Congestion control outside Tulle: functions of a shared object, with the C interface of
// include/tulle/congestion.h. This room opens no file; live/plugin_file.h does, and passes a table
// of functions.
//
// The state of a flow belongs to its queue pair, beside the 64 bytes that algorithms have there. A
// timer does not wake anything: missed ticks are run before the next event, each with its own
// instant, as the built-in algorithms do.
//
// Results are validated. If a plug-in asks for a rate that is not a number, or too low to send
// anything, its flow records the fault once, stops calling the plug-in, and sends unpaced. The
// driver of the run checks faults() and ends the run.
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

// The contents of a shared object.
struct PluginCode {
    tulle_cc_algorithm functions{};
    std::string file;           // as the user named it
    uint64_t content_hash = 0;  // of the file
};

// One plug-in with its settings, shared by queue pairs. It must outlive them.
class LoadedPlugin {
public:
    // Or an error: another version, a missing function, rejected parameters.
    static base::Result<std::shared_ptr<const LoadedPlugin>> configure(PluginCode code,
                                                                       std::string parameters,
                                                                       uint64_t line_rate_bps);

    LoadedPlugin(PluginCode code, std::string parameters);
    const tulle_cc_algorithm& functions() const { return code_.functions; }
    const void* settings() const { return memory_.data(); }
    bool wants_telemetry() const {
        return code_.functions.version > 1 && (code_.functions.wants & TULLE_CC_TELEMETRY) != 0;
    }
    const std::string& file() const { return code_.file; }
    std::string_view name() const { return name_; }
    const std::string& parameters() const { return parameters_; }
    uint64_t content_hash() const { return code_.content_hash; }

    // Flows with a fault, in all runs so far.
    uint32_t faults() const { return faults_.load(std::memory_order_relaxed); }
    void count_fault() const { faults_.fetch_add(1, std::memory_order_relaxed); }

private:
    PluginCode code_;
    std::string name_;
    std::string parameters_;
    std::vector<uint64_t> memory_;  // aligned for any type
    mutable std::atomic<uint32_t> faults_{0};
};

struct PluginSettings {
    std::string source;  // "./mine.so:target=20", as written; `loaded` has the rest
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

// Whether an algorithm name is a file name.
bool is_plugin_source(std::string_view text);

// A rule that a plug-in broke.
struct PluginFault {
    base::Instant at{};
    std::string what;  // "at 12.5 us, told of an ACK, it asked for a rate of -1 bit/s"
};

// The fields of a queue pair that a change of path modifies.
struct PluginPath {
    uint16_t* entropy = nullptr;       // hashed by ECMP; of the prototype packet
    uint32_t* middles_left = nullptr;  // packets to copy from one with the old path
};

// A plug-in's flow, with memory of its own.
class PluginFlow {
public:
    PluginFlow(const LoadedPlugin& plugin, uint64_t flow_number, PluginPath path = {});

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
    void take_path();
    void fail(const tulle_cc_event& event, const char* what, double value, const char* unit);

    const LoadedPlugin& plugin_;
    tulle_cc_decision decision_;
    uint64_t rate_ = 0;
    uint32_t window_ = UINT32_MAX;
    PluginPath path_;
    uint32_t chosen_path_ = 0;
    std::vector<uint64_t> memory_;  // aligned for any type
    std::unique_ptr<PluginFault> fault_;
};

// The part in the queue pair: a pointer to the flow.
class Plugin {
public:
    using Settings = PluginSettings;
    static constexpr Nature kNature{.heeds_notifications = true, .is_ecn_capable = true};

    Plugin() = default;
    explicit Plugin(const PluginSettings& settings) : plugin_(settings.loaded.get()) {}

    // Creates the flow that this object then uses. The caller owns it.
    std::unique_ptr<PluginFlow> begin(uint64_t flow_number, PluginPath path = {});

    void on_signal(base::Instant now, const Signal& signal) {
        if (flow_ != nullptr) flow_->on_signal(now, signal);
    }
    base::Instant on_sent(base::Instant now, uint32_t bytes) {
        return flow_ == nullptr ? now : flow_->on_sent(now, bytes);
    }
    // When the next packet could be sent, without asking the plug-in.
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
