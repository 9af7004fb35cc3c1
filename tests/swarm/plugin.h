// A congestion control as a plug-in, for swarms: it uses everything that the interface has.
#pragma once

#include <algorithm>
#include <memory>

#include "transport/congestion/plugin.h"

namespace tulle::swarm {

struct PluggedState {
    double rate;
    uint32_t events;
};

// READs at less would seem lost to short timers.
inline constexpr double kPluggedLeast = 2e9;
inline constexpr double kPluggedMost = 100e9;

inline void start_plugged(const void*, void* flow, uint64_t number, tulle_cc_decision* decision) {
    auto& state = *static_cast<PluggedState*>(flow);
    state.rate = 10e9 + static_cast<double>(number % 8) * 10e9;
    decision->rate_bps = state.rate;
}

inline void tell_plugged(const void*, void* flow, const tulle_cc_event* event,
                         tulle_cc_decision* decision) {
    auto& state = *static_cast<PluggedState*>(flow);
    ++state.events;
    switch (event->kind) {
        case TULLE_CC_SENT:
            if (state.events % 5 == 0) decision->next_at_ps = event->now_ps + 1'000 * event->bytes;
            break;
        case TULLE_CC_ACK: state.rate *= event->marked != 0 ? 0.7 : 1.05; break;
        case TULLE_CC_TIMER: state.rate *= 1.1; break;
        default: state.rate *= 0.5; break;
    }
    state.rate = std::clamp(state.rate, kPluggedLeast, kPluggedMost);
    decision->rate_bps = state.rate;
    decision->window_packets = state.events % 7 == 0 ? 1 + state.events % 64 : 64;
    decision->probe = state.events % 3 == 0 ? 1 : 0;
    if (decision->timer_at_ps == 0) decision->timer_at_ps = event->now_ps + 50'000'000;
}

inline const transport::PluginSettings& plugged_settings() {
    static const transport::PluginSettings settings = [] {
        transport::PluginCode code;
        code.functions.version = TULLE_CONGESTION_VERSION;
        code.functions.name = "swarm";
        code.functions.flow_bytes = sizeof(PluggedState);
        code.functions.configure = [](void*, const tulle_cc_host*) -> const char* {
            return nullptr;
        };
        code.functions.start = start_plugged;
        code.functions.on_event = tell_plugged;
        transport::PluginSettings made;
        made.loaded = *transport::LoadedPlugin::configure(std::move(code), "", 100'000'000'000);
        return made;
    }();
    return settings;
}

}  // namespace tulle::swarm
