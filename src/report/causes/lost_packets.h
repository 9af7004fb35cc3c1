// What losses mean: why packets were lost, where, and whether any were.
#pragma once

#include <string>

#include "report/causes/cables.h"

namespace tulle::report::causes {

class LostPackets {
public:
    // Both must outlive it.
    LostPackets(const Facts& facts, const Cables& cables) : facts_(facts), cables_(cables) {}

    CauseKind kind_of(const sim::TimeAccount::Loss& loss) const;
    // Damage is detected at the end of a cable and attributed to it. Pauses that one end ignores
    // are attributed to their cable, too.
    std::string place_of(const sim::TimeAccount::Loss& loss) const;
    // Of what was sent again: the part that nobody had lost.
    int64_t needless_permille() const;
    // Of what was carried to its end: the part that was new there.
    int64_t useful_permille() const;
    // Whether packets of a queue pair may overtake each other, and its receiver minds.
    bool minds_order() const;

private:
    // The port whose watchdog discarded most. After its watchdog fires, a port ignores pauses, so
    // overruns of headroom are attributed to it.
    topology::CableEnd watchdog_at(topology::CableEnd end) const;
    std::string name_of(topology::CableEnd end) const {
        return facts_.names.link(end.node, end.port);
    }

    const Facts& facts_;
    const Cables& cables_;
};

}  // namespace tulle::report::causes
