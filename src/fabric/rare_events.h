// What a switch acts on seldom: flow-control packets of its ports, its timers, changes from
// outside, and the end of the window through which it acts. Packets and lines have trees of their
// own.
#pragma once

#include "fabric/time_tree.h"
#include "fabric/timers.h"

namespace tulle::fabric {

class RareEvents {
public:
    enum class Kind : uint8_t { control, timer, change };

    explicit RareEvents(uint16_t ports) : tree_(ports + 2u), ports_(ports) {}

    // When the next flow-control packet of a port arrives, and when the next change is due.
    void set_control(uint16_t port, base::Instant at) { set(port, at); }
    void set_change(base::Instant at) { set(ports_ + 1u, at); }
    void set_end(base::Instant until) {
        end_ = TimeTree::key_of(until, 0);
        first_ = std::min(tree_.first_key(), end_);
    }

    void add(const NodeTimer& timer) {
        timers.push(timer);
        arm();
    }
    // Call after a change of `timers`.
    void arm() { set(ports_, timers.next_at()); }

    // Of the first event, or of the end of the window if that comes first.
    uint64_t first_key() const { return first_; }
    bool ends_first() const { return first_ == end_; }
    // Of the first event, in this window or behind it.
    base::Instant first_at() const { return tree_.first_at(); }
    Kind first_kind() const {
        const uint32_t source = tree_.first_source();
        if (source < ports_) return Kind::control;
        return source == ports_ ? Kind::timer : Kind::change;
    }
    // Of a flow-control packet.
    uint16_t first_port() const { return static_cast<uint16_t>(tree_.first_source()); }
    void prefetch() const { tree_.prefetch(); }

    NodeTimers timers;

private:
    void set(uint32_t source, base::Instant at) {
        tree_.set(source, at);
        first_ = std::min(tree_.first_key(), end_);
    }

    uint64_t first_ = TimeTree::kNever;
    uint64_t end_ = TimeTree::kNever;
    TimeTree tree_;  // by port: its flow-control packets; then the timers; then the changes
    uint32_t ports_;
};

}  // namespace tulle::fabric
