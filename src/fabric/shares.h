// Where time went: a stretch of time split into shares. Each share has a kind and, if there is one,
// the place where the time was spent. The shares of a stretch add up to it exactly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace tulle::fabric {

using base::Duration;

enum class ShareKind : uint8_t {
    start,          // before it was due to begin
    compute,        // a rank computed
    software,       // the ends: reaction, launch, adapter latency, copies
    serialization,  // its own bits on a line
    propagation,    // cables and FEC
    switching,      // pipelines of switches
    queue,          // behind packets of others
    held,           // by a pause or for lack of credits; the place is the port at the root
    congestion,     // congestion control held the sender back; the place marked its packets
    rate_limit,     // the sender's own limit
    window,         // the window was full, and nothing else held it up
    bus,            // between memory and adapter; the place is the host's port
    loss,           // until a loss was noticed and repaired, and what was sent again
    not_ready,      // the receiver had no buffer posted
    unexplained,
};

// Time that would not have passed without other traffic and without faults.
constexpr bool is_wait(ShareKind kind) {
    return kind >= ShareKind::queue;
}

// A port as the end of a cable: twice the cable's number, plus one for its second end.
using Place = uint32_t;
inline constexpr Place kNowhere = UINT32_MAX;

constexpr Place place_of(uint32_t cable, bool is_a) {
    return 2 * cable + (is_a ? 0 : 1);
}

struct Share {
    ShareKind kind = ShareKind::unexplained;
    Place place = kNowhere;
    Duration time{};

    bool is_of(ShareKind other, Place where) const { return kind == other && place == where; }
};

class Shares {
public:
    void add(ShareKind kind, Place place, Duration time) {
        if (time.ps == 0) return;
        for (Share& share : all_)
            if (share.is_of(kind, place)) {
                share.time += time;
                return;
            }
        all_.push_back({kind, place, time});
    }
    void add(const Share& share) { add(share.kind, share.place, share.time); }
    void add(const Shares& others) {
        for (const Share& share : others.all_) add(share);
    }
    void subtract(const Shares& others) {
        for (const Share& share : others.all_)
            add(share.kind, share.place, Duration{-share.time.ps});
    }
    Duration total() const {
        Duration sum{};
        for (const Share& share : all_) sum += share.time;
        return sum;
    }
    void clear() { all_.clear(); }
    const std::vector<Share>& all() const { return all_; }

private:
    std::vector<Share> all_;
};

}  // namespace tulle::fabric
