// Which port is to blame when another is held up. A full buffer stops the port that feeds it. The
// packet that filled it waits for one output port, and the time until the buffer is free again is
// that port's fault.
#pragma once

#include <vector>

#include "fabric/port.h"

namespace tulle::fabric {

struct BlameEntry {
    uint16_t in_port = 0;  // of the node; the other end of its cable was held up
    uint16_t culprit_port = 0;
    uint8_t lane = 0;
    uint64_t ps = 0;
};

class BlameBook {
public:
    // `held_ps`: how long the culprit itself has been held so far.
    void begin(LaneIn& lane, uint32_t first_port, uint16_t culprit_port, uint64_t held_ps,
               Instant now) {
        lane.is_full = true;
        lane.culprit_port = culprit_port;
        lane.blocker = first_port + culprit_port;
        lane.blocker_held_ps = held_ps;
        lane.full_since = now;
    }
    void end(LaneIn& lane, uint16_t in_port, uint8_t number, Instant now) {
        lane.is_full = false;
        const auto ps = static_cast<uint64_t>((now - lane.full_since).ps);
        for (BlameEntry& entry : entries_) {
            if (entry.in_port != in_port || entry.culprit_port != lane.culprit_port ||
                entry.lane != number)
                continue;
            entry.ps += ps;
            return;
        }
        entries_.push_back({in_port, lane.culprit_port, number, ps});
    }
    const std::vector<BlameEntry>& entries() const { return entries_; }

private:
    std::vector<BlameEntry> entries_;
};

}  // namespace tulle::fabric
