#include "report/causes/lost_packets.h"

#include <algorithm>

#include "report/time_shares.h"

namespace tulle::report::causes {
namespace {

using fabric::Drop;

// A cable of this node whose ends disagree. A pause that its other end ignores lets the node's
// buffer overflow; disagreements elsewhere do not.
std::optional<uint32_t> disagreement_at(const Facts& facts, uint32_t node) {
    for (const sim::Disagreement& found : facts.result.disagreements) {
        const topology::Cable& cable = facts.setup.graph.cables[found.cable];
        if (cable.a.node == node || cable.b.node == node) return found.cable;
    }
    return std::nullopt;
}

}  // namespace

CauseKind LostPackets::kind_of(const sim::TimeAccount::Loss& loss) const {
    const uint32_t node = end_at(facts_.setup, loss.place).node;
    switch (loss.cause) {
        case Drop::buffer_full:
            return disagreement_at(facts_, node) ? CauseKind::settings_disagree
                                                 : CauseKind::buffer_overflow;
        case Drop::headroom_full:
            if (facts_.result.totals.watchdog_fired != 0) return CauseKind::watchdog;
            return disagreement_at(facts_, node) ? CauseKind::settings_disagree
                                                 : CauseKind::headroom_overflow;
        case Drop::corrupted: return CauseKind::lossy_cable;
        case Drop::link_down: return CauseKind::link_down;
        case Drop::no_route:
        case Drop::hop_limit:
            return cables_.first_down(node) ? CauseKind::link_down : CauseKind::no_route;
        case Drop::head_of_queue: return CauseKind::head_of_queue;
        case Drop::watchdog: return CauseKind::watchdog;
        case Drop::other_tenant: return CauseKind::no_route;
    }
    return CauseKind::unexplained;
}

std::string LostPackets::place_of(const sim::TimeAccount::Loss& loss) const {
    const topology::CableEnd end = end_at(facts_.setup, loss.place);
    switch (kind_of(loss)) {
        case CauseKind::lossy_cable: return facts_.names.cable(loss.place / 2);
        case CauseKind::link_down:
            if (loss.cause != Drop::link_down) return *cables_.first_down(end.node);
            return cables_.what_was_down(loss.place / 2)
                .value_or(facts_.names.cable(loss.place / 2));
        case CauseKind::watchdog: return name_of(watchdog_at(end));
        case CauseKind::settings_disagree:
            return facts_.names.cable(*disagreement_at(facts_, end.node));
        default: return name_of(end);
    }
}

topology::CableEnd LostPackets::watchdog_at(topology::CableEnd end) const {
    uint64_t most = 0;
    for (const sim::LinkResult& link : facts_.result.links)
        if (const uint64_t lost = link.dropped[static_cast<size_t>(Drop::watchdog)]; lost > most) {
            most = lost;
            end = {link.node, link.port};
        }
    return end;
}

// Whether packets of a queue pair may overtake each other, and its receiver minds.
bool LostPackets::minds_order() const {
    const bool spreads = !fabric::keeps_flows_together(facts_.setup.fabric.route.choice) ||
                         facts_.setup.host.paths.policy != transport::PathPolicy::one;
    return spreads && facts_.setup.host.delivery == transport::Delivery::ordered;
}

// Selective repeat sends what was lost once more. Beyond that, it was not lost.
int64_t LostPackets::needless_permille() const {
    const sim::Totals& totals = facts_.result.totals;
    const uint64_t lost = facts_.drops() + totals.trimmed;
    if (facts_.setup.host.loss != transport::LossPolicy::selective_repeat ||
        totals.retransmitted <= lost)
        return 0;
    return static_cast<int64_t>((totals.retransmitted - lost) * 1000 / totals.retransmitted);
}

// A packet is new once. All further transmissions that were not lost either were for nothing.
int64_t LostPackets::useful_permille() const {
    const sim::Totals& totals = facts_.result.totals;
    const uint64_t lost = facts_.drops() + totals.trimmed;
    const uint64_t carried = totals.data_packets - std::min(totals.data_packets, lost);
    const uint64_t first = totals.data_packets - totals.retransmitted;
    return static_cast<int64_t>(std::min(first, carried) * 1000 / std::max<uint64_t>(1, carried));
}

}  // namespace tulle::report::causes
