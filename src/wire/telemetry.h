// In-band telemetry: what the switches on its way wrote into a packet, one entry a hop (HPCC,
// SIGCOMM 2019, section 3). A receiver returns it to the sender in the acknowledgement.
//
// In virtual time it lies beside the packet (fabric/telemetry.h), since most runs have none. Its
// bytes on the wire are a setting of the framing.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/rate.h"
#include "base/time.h"

namespace tulle::wire {

// Of the port by which the packet left a switch, when its first bit did.
struct HopTelemetry {
    base::Instant at{};
    uint64_t sent_bytes = 0;   // by this port before the packet; a count that does not wrap
    uint32_t queue_bytes = 0;  // that waited at this port, without the packet
    uint32_t port = 0;         // which one it is, in the whole network
    base::Rate rate = base::Rate::bits_per_second(1);
};

class Telemetry {
public:
    // HPCC's header has room for five. Chosen: a detour across a dragonfly has six switches. What
    // comes behind is not written down.
    static constexpr uint32_t kMaxHops = 8;

    void clear() { count_ = 0; }
    void add(const HopTelemetry& hop) {
        if (count_ < kMaxHops) hops_[count_++] = hop;
    }
    std::span<const HopTelemetry> hops() const { return {hops_.data(), count_}; }
    // Whether both tell of one path.
    bool is_of_path(const Telemetry& other) const {
        if (count_ != other.count_) return false;
        for (uint32_t i = 0; i < count_; ++i)
            if (hops_[i].port != other.hops_[i].port) return false;
        return true;
    }

private:
    uint32_t count_ = 0;
    std::array<HopTelemetry, kMaxHops> hops_{};
};

}  // namespace tulle::wire
