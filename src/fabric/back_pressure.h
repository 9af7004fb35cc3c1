// Back-pressure only for the sources that fill the port of a host, as in Slingshot's switches: they
// tell traffic that causes congestion from its victims, and hold up its sources. How they do that
// is not public. Here the switch that a host is attached to counts the sources that share the
// host's port. Once the queue is long, it sends each of them a message with that count. A source
// that heeds it takes only its share (transport/congestion/back_pressure.h). Other flows, also
// those of the same source, are not told. IEEE P802.1Qdw, source flow control, sends such messages
// too.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "fabric/settings.h"

namespace tulle::fabric {

class BackPressure {
public:
    BackPressure(const BackPressureSettings& settings, uint16_t ports) : settings_(settings) {
        if (is_used()) ports_.resize(ports);
    }

    bool is_used() const { return settings_.above_bytes != 0; }
    const BackPressureSettings& settings() const { return settings_; }

    // A packet of this source has to wait at the port of a host, behind `queued_bytes`. Returns how
    // many sources share the port, if this source must be told now.
    std::optional<uint32_t> note(Instant now, uint16_t port, uint32_t source,
                                 uint32_t queued_bytes) {
        At& at = ports_[port];
        if (now - at.swept_at > settings_.forget_after) {
            std::erase_if(at.sources, [&](const auto& entry) {
                return now - entry.second.seen_at > settings_.forget_after;
            });
            at.swept_at = now;
        }
        const auto [entry, is_new] = at.sources.try_emplace(source);
        Source& who = entry->second;
        who.seen_at = now;
        const bool was_told = !is_new && who.was_told && now - who.told_at < settings_.interval;
        if (queued_bytes <= settings_.above_bytes || was_told) return std::nullopt;
        who.was_told = true;
        who.told_at = now;
        return static_cast<uint32_t>(at.sources.size());
    }

private:
    struct Source {
        Instant seen_at{};
        Instant told_at{};
        bool was_told = false;
    };
    struct At {
        std::map<uint32_t, Source> sources;
        Instant swept_at{};
    };

    const BackPressureSettings& settings_;
    std::vector<At> ports_;  // by port; only ports of hosts use theirs
};

}  // namespace tulle::fabric
