// What happens later in a world of virtual time. Events of one instant happen in the order in which
// they were added.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "base/time.h"

namespace tulle::control {

// An event says when it happens: `base::Instant at`.
template <class Event>
class Agenda {
public:
    void add(Event event) { entries_.push({++order_, std::move(event)}); }
    // Never, if nothing is left.
    base::Instant next() const {
        return entries_.empty() ? base::Instant::never() : entries_.top().event.at;
    }
    // Takes the next event; nothing if there is none up to `limit`.
    std::optional<Event> take_until(base::Instant limit) {
        if (entries_.empty() || entries_.top().event.at > limit) return std::nullopt;
        Event event = entries_.top().event;
        entries_.pop();
        return event;
    }

private:
    struct Entry {
        uint64_t order;
        Event event;
        bool operator>(const Entry& other) const {
            return event.at != other.event.at ? event.at > other.event.at : order > other.order;
        }
    };

    uint64_t order_ = 0;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_;
};

}  // namespace tulle::control
