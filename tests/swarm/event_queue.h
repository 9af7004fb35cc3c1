// What will happen in a run, by time; at one instant in the order in which it was planned.
#pragma once

#include <queue>
#include <tuple>
#include <vector>

#include "base/time.h"

namespace tulle::swarm {

struct Event {
    base::Instant at;
    uint64_t order = 0;
    uint32_t who = 0;
    uint16_t kind = 0;
    uint16_t arg = 0;
};

class EventQueue {
public:
    bool empty() const { return events_.empty(); }
    base::Instant next_at() const {
        return events_.empty() ? base::Instant::never() : events_.top().at;
    }
    void push(const Event& event) { events_.push(event); }
    Event pop() {
        const Event first = events_.top();
        events_.pop();
        return first;
    }

private:
    struct Later {
        bool operator()(const Event& a, const Event& b) const {
            return std::tie(a.at, a.order) > std::tie(b.at, b.order);
        }
    };
    std::priority_queue<Event, std::vector<Event>, Later> events_;
};

}  // namespace tulle::swarm
