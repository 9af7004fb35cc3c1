// Warnings between switches about full queues: adaptive routing notifications (ARN), as in NVIDIA's
// switches. A switch chooses by its own queues, but a leaf's are empty while a spine's port to
// another leaf is full. The spine warns all neighbours, and they avoid the ways on which it would
// have to use that port.
//
// A warning names a port of the switch that sends it. Neighbours know what is behind that port,
// because all have the same tables. A warning ends when the queue is half as long as when it began.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "fabric/routes.h"

namespace tulle::fabric {

struct Warning {
    uint16_t port = 0;  // of the switch that warns
    bool begins = false;
};

class Warnings {
public:
    Warnings(uint64_t above_bytes, uint16_t ports) : above_bytes_(above_bytes) {
        if (is_used()) is_full_.resize(ports);
    }

    bool is_used() const { return above_bytes_ != 0; }

    // The warning to send now that the queue of an own port has this length.
    std::optional<Warning> look(uint16_t port, uint32_t queued_bytes) {
        const bool was_full = is_full_[port];
        const bool is_full =
            queued_bytes > above_bytes_ || (was_full && 2 * uint64_t{queued_bytes} > above_bytes_);
        if (is_full == was_full) return std::nullopt;
        is_full_[port] = is_full;
        return Warning{port, is_full};
    }
    // For a link that has come up: its neighbour has heard no warning yet.
    template <class Tell>
    void for_each_full(Tell&& tell) const {
        for (size_t port = 0; port < is_full_.size(); ++port)
            if (is_full_[port]) tell(Warning{static_cast<uint16_t>(port), true});
    }

    bool has_heard() const { return !heard_.empty(); }
    void hear(uint16_t from, Warning warning) {
        const Heard heard{from, warning.port};
        const auto found = std::ranges::find(heard_, heard);
        if (warning.begins && found == heard_.end()) heard_.push_back(heard);
        if (!warning.begins && found != heard_.end()) heard_.erase(found);
    }
    // The link to that neighbour is down, so its warnings are stale.
    void forget(uint16_t from) {
        std::erase_if(heard_, [from](const Heard& heard) { return heard.from == from; });
    }

    // Whether the neighbour behind this port has only full ports for the destination.
    bool is_warned(const Routes& routes, uint16_t port, uint32_t neighbour,
                   uint32_t destination) const {
        if (heard_.empty()) return false;
        const PortList next = routes.ports(neighbour, destination);
        return !next.empty() && std::ranges::all_of(next, [&](uint16_t to) {
            return std::ranges::find(heard_, Heard{port, to}) != heard_.end();
        });
    }

private:
    struct Heard {
        uint16_t from = 0;  // the own port to the neighbour ...
        uint16_t port = 0;  // ... and its port that is full
        bool operator==(const Heard&) const = default;
    };

    uint64_t above_bytes_;
    std::vector<bool> is_full_;  // own ports that neighbours were warned of
    std::vector<Heard> heard_;
};

}  // namespace tulle::fabric
