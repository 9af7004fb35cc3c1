// Which phases of a program send through a port: those that filled it, and those that waited.
#pragma once

#include <utility>
#include <vector>

#include "report/facts.h"

namespace tulle::report {

class PhaseTraffic {
public:
    explicit PhaseTraffic(const Facts& facts);

    uint8_t lane_of(size_t phase) const;
    // False only if no message of the phase can leave by that port.
    bool may_cross(size_t phase, uint32_t node, uint16_t port) const;
    // Whether both were under way at the same time.
    bool overlap(size_t a, size_t b) const;
    // The duration of the phase in thousandths of its limit; 0 if it has none.
    uint64_t slowdown_permille(size_t phase) const;

private:
    sim::Flow flow_of(size_t phase) const;

    const Facts& facts_;
    // For each phase, the distinct pairs of endpoints that communicate between servers.
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> pairs_;
};

}  // namespace tulle::report
