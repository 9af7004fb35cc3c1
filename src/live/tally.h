// Publishes what the adapter counts, in the counters of its ports (counter_slot.h): now and then,
// and once more when it has become quiet.
#pragma once

#include <array>

#include "live/counter_slot.h"
#include "live/identity.h"
#include "transport/adapter.h"

namespace tulle::live {

class Carrier;

class Tally {
public:
    Tally(const transport::Adapter& adapter, const Carrier& carrier)
        : adapter_(adapter), carrier_(carrier) {}

    void open(const Identity& who, uint32_t slot);
    // In the child of a fork.
    void abandon() { slots_ = {}; }
    CounterSlot* slots() { return slots_.data(); }  // of each port
    bool is_open() const { return static_cast<bool>(slots_[0]); }

    void look(base::Instant now);
    void show();
    base::Instant next_deadline() const { return look_at_; }

private:
    const transport::Adapter& adapter_;
    const Carrier& carrier_;
    std::array<CounterSlot, kMaxPorts> slots_;
    uint32_t port_count_ = 1;
    uint64_t shown_ = 0;  // the count that was published last
    base::Instant look_at_ = base::Instant::never();
};

}  // namespace tulle::live
