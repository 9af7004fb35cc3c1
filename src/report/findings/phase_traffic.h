// Which phases of a program send through a port: who filled it, and who stood behind that.
#pragma once

#include <utility>
#include <vector>

#include "report/facts.h"

namespace tulle::report {

class PhaseTraffic {
public:
    explicit PhaseTraffic(const Facts& facts);

    uint8_t lane_of(size_t phase) const;
    // False only if it is sure that no message of the phase leaves by that port.
    bool may_cross(size_t phase, uint32_t node, uint16_t port) const;
    // Both were under way for some time.
    bool overlap(size_t a, size_t b) const;
    // What the phase took, in thousandths of its limit; 0 where it has none.
    uint64_t slowdown_permille(size_t phase) const;

private:
    sim::Flow flow_of(size_t phase) const;

    const Facts& facts_;
    // Of each phase, who sends to whom between servers: endpoints, each pair once.
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> pairs_;
};

}  // namespace tulle::report
