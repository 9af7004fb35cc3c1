// Congestion marks: which packet gets one, and what it looks like at the end point.
#pragma once

#include "base/random.h"
#include "fabric/port.h"
#include "fabric/settings.h"

namespace tulle::fabric {

// ECN: marks no packets up to Kmin, all above Kmax, and in between a share that rises to Pmax.
inline bool ecn_marks(const EcnSettings& ecn, uint64_t queue_bytes, base::RandomStream& random) {
    if (queue_bytes <= ecn.kmin_bytes) return false;
    if (queue_bytes > ecn.kmax_bytes) return true;
    return random.chance((queue_bytes - ecn.kmin_bytes) * ecn.pmax_millionths,
                         (ecn.kmax_bytes - ecn.kmin_bytes) * 1'000'000);
}

// FECN (IBTA vol 1, annex A10): a port is the root of congestion if its queue is long although it
// may send. A port that itself waits for credits is a victim, and marks only if told to.
inline bool fecn_marks(const FecnSettings& fecn, uint32_t queue_bytes, LaneWait& lane,
                       bool is_victim, uint32_t bytes) {
    if (queue_bytes <= fecn.threshold_bytes || bytes < fecn.minimum_bytes) return false;
    if (is_victim && !fecn.victims) return false;
    if (lane.unmarked++ < fecn.marking_rate) return false;
    lane.unmarked = 0;
    return true;
}

// Writes what switches did to a packet into its headers. Called where somebody reads them.
inline void apply_marks(const Transit& transit, Marking marking, wire::Packet& packet) {
    packet.virtual_lane = transit.lane & 0xf;
    if ((transit.flags & Transit::kMarked) != 0) {
        if (marking == Marking::fecn)
            packet.fecn = true;
        else
            packet.traffic_class |= 3;
    }
    if ((transit.flags & Transit::kTrimmed) != 0) {
        packet.trimmed = true;
        packet.payload_length = 0;
    }
}

}  // namespace tulle::fabric
