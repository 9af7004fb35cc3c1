// Lanes that may not send now: their neighbour has paused them (PFC), or they lack credits. Timers
// bound the wait: the quanta of a pause, the lifetime of a queue's head, and the watchdog.
#pragma once

#include "fabric/rare_events.h"
#include "fabric/switch_ports.h"

namespace tulle::fabric {

class Holds {
public:
    // What a timer asks for.
    enum class Due : uint8_t {
        nothing,
        line,   // the lane may send again
        head,   // its first packet has waited for too long; without it the lane may send again
        queue,  // all of its packets have
    };

    Holds(SwitchPorts& ports, RareEvents& rare) : ports_(ports), rare_(rare) {}

    void on_paused(Instant now, uint16_t port, uint32_t lane, Instant until);
    // The pause is taken back, or credits have come.
    void on_opened(Instant now, uint16_t port, uint32_t lane);
    void on_credits_lacking(Instant now, uint16_t port, uint32_t lane);
    Due on_timer(Instant now, const NodeTimer& timer);
    void let_go(Instant now, uint16_t port, uint32_t lane) {
        ports_.cabling.let_go(ports_.global(port), lane, now);
    }
    // Counts the time of lanes that are still held, for the report.
    void finish(Instant now);

private:
    bool is_held(uint16_t port, uint32_t lane) const {
        return (ports_[port].held & bit_of(lane)) != 0;
    }
    void hold(Instant now, uint16_t port, uint32_t lane) {
        ports_.cabling.hold(ports_.global(port), lane, now);
    }
    Due on_pause_ends(Instant now, uint16_t port, uint32_t lane);
    Due on_head_of_queue(Instant now, uint16_t port, uint32_t lane);
    Due on_watchdog(Instant now, uint16_t port, uint32_t lane);
    void add_timer(NodeTimer::Kind kind, Instant at, uint16_t port, uint32_t lane);

    SwitchPorts& ports_;
    RareEvents& rare_;
};

}  // namespace tulle::fabric
