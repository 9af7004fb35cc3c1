// The cost of cables that differ from similar ones, or that repair errors.
#include <fmt/format.h>

#include "report/causes/investigation.h"
#include "sim/cables.h"

namespace tulle::report::causes {

std::optional<uint32_t> Investigation::far_cable() const {
    for (const auto& [place, trouble] : troubles_)
        if (cables_.is_far(place / 2) && trouble.propagation.ps != 0) return place / 2;
    return std::nullopt;
}

void Investigation::explain_far(Place place, Duration time) {
    const uint32_t cable = place / 2;
    const Duration delay = sim::cable_delay(facts_.setup, cable);
    const Duration excess{time.ps - time.ps / delay.ps * cables_.usual(cable).delay.ps};
    latency_ += time - excess;
    add(CauseKind::long_cable, facts_.names.cable(cable), excess, cables_.far_text(cable), place);
}

// If the usual cable would be full as well, only a part of the waiting is the cable's fault.
Trouble Investigation::explain_slow(Place place, const Trouble& trouble) {
    const uint32_t cable = place / 2;
    const uint64_t busy = links_.busy_permille(end_at(facts_.setup, place));
    const bool is_full_anyway = cables_.usual_permille(cable, busy) >= kOverloadPermille;
    Trouble rest;
    rest.serialization = trouble.serialization - cables_.excess_of(cable, trouble.serialization);
    if (is_full_anyway) {
        rest.held = trouble.held - cables_.excess_of(cable, trouble.held);
        rest.queue = trouble.queue - cables_.excess_of(cable, trouble.queue);
        rest.congestion = trouble.congestion - cables_.excess_of(cable, trouble.congestion);
    }
    add(CauseKind::slow_cable, facts_.names.cable(cable),
        trouble.contention() - rest.contention() + trouble.serialization - rest.serialization,
        cables_.slow_text(cable), place);
    return rest;
}

std::string Investigation::retries_text(topology::CableEnd end) const {
    return fmt::format("bit errors on {}: the link sent packets again", links_.name(end));
}

}  // namespace tulle::report::causes
