// Timers of a node that are too rare for a place of their own.
#pragma once

#include <algorithm>
#include <compare>
#include <vector>

#include "base/time.h"

namespace tulle::fabric {

struct NodeTimer {
    enum class Kind : uint8_t {
        pause_ends,     // the quanta of a pause have run out
        pause_again,    // the peer must be told again that it is paused
        head_of_queue,  // the lifetime of a lane's first packet
        watchdog,
        pause_storm,  // a fault: the adapter pauses for no reason
    };
    base::Instant at{};
    Kind kind = Kind::pause_ends;
    uint8_t lane = 0;
    uint16_t port = 0;  // of the node

    auto operator<=>(const NodeTimer&) const = default;
};

class NodeTimers {
public:
    base::Instant next_at() const {
        return heap_.empty() ? base::Instant::never() : heap_.front().at;
    }
    void push(const NodeTimer& timer) {
        heap_.push_back(timer);
        std::push_heap(heap_.begin(), heap_.end(), std::greater{});
    }
    NodeTimer pop() {
        std::pop_heap(heap_.begin(), heap_.end(), std::greater{});
        const NodeTimer timer = heap_.back();
        heap_.pop_back();
        return timer;
    }

private:
    std::vector<NodeTimer> heap_;
};

}  // namespace tulle::fabric
